import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import {
  CAREFUL,
  exponential,
  type Habits,
  mayRetry,
  retryAfterMs,
  retrying,
  type SmallClient,
  smallClient,
} from '../kit/rehearsal/clients.ts';
import { type RehearsedService, rehearsedService } from '../kit/rehearsal/service.ts';

/**
 * Fifteen clients that are right in ways of their own, each kept under every script of the page; and clients with one
 * fault each, caught by its rule and by no other.
 */

const page = readFileSync(new URL('../../src/http/docs/pages/rehearse.md', import.meta.url), 'utf8');
const scripts = [...page.matchAll(/^\| [^|]+\? +\| `([^`]+)`/gm)].map(([, script = '']) => script);

let rehearsed: RehearsedService;
before(async () => {
  rehearsed = await rehearsedService();
});
after(() => rehearsed[Symbol.asyncDispose]());

type Program = (client: SmallClient) => Promise<unknown>;

interface Client {
  readonly habits?: Partial<Habits>;
  /** The program that uses the client. */
  readonly program?: Program;
}

async function shop(client: SmallClient): Promise<void> {
  for (let round = 1; round <= 4; round += 1) {
    await client.create(`Category ${round}`);
    await client.list();
    await client.list(`/pets?categoryId=${round}`);
  }
}

async function poll(client: SmallClient, waits: readonly number[]): Promise<void> {
  for (const ms of waits) {
    await client.list();
    await client.sleep(ms);
  }
}

async function untilDone(call: () => Promise<boolean>, pause: () => Promise<void>): Promise<void> {
  for (let round = 0; round < 6 && !(await call()); round += 1) await pause();
}

async function creatingAnew(client: SmallClient): Promise<void> {
  await client.create('Dog');
  await client.list();
  await client.create('Dog');
}

const NO_RETRIES = { wait: () => undefined };

const RIGHT: Readonly<Record<string, Client>> = {
  'exponential backoff': {},
  'full jitter': {
    habits: { wait: retrying(({ attempt, random }) => random() * Math.min(1_000, 100 * 2 ** attempt), 8) },
  },
  'decorrelated jitter': {
    habits: { wait: retrying(({ waitedMs, random }) => 100 + random() * Math.max(200, waitedMs * 3 - 100)) },
  },
  'linear backoff': { habits: { wait: retrying(({ attempt }) => attempt * 100, 10) } },
  'a second between tries, ten of them': { habits: { wait: retrying(() => 1_000, 10) } },
  'Retry-After only': { habits: { wait: (failure) => (mayRetry(failure) && retryAfterMs(failure)) || undefined } },
  'no retries at all': { habits: NO_RETRIES },
  'one call without retries': { habits: NO_RETRIES, program: (client) => client.list() },
  'a poller': { habits: NO_RETRIES, program: (client) => poll(client, Array(30).fill(5_000)) },
  'a poller with a jitter': {
    habits: NO_RETRIES,
    program: (client) =>
      poll(
        client,
        Array.from({ length: 30 }, (_, index) => 2_000 + (index % 3) * 150),
      ),
  },
  'rounds with a pause': {
    program: async (client) => {
      for (let round = 0; round < 2; round += 1)
        await untilDone(
          () => client.list(),
          () => client.sleep(60_000),
        );
      await client.create('Horse');
    },
  },
  'other calls between two rounds': {
    program: async (client) => {
      for (let round = 0; round < 4; round += 1)
        for (const path of ['/pets', '/orders', '/inventory']) await client.list(path);
    },
  },
  'four calls at once': {
    program: async (client) => {
      await Promise.all([client.create('Ant'), client.create('Bee'), client.list(), client.list('/pets')]);
      await client.list('/orders');
    },
  },
  'a short time-out': { habits: { timeoutMs: 3_000 } },
  'the backoff of curl --retry': { habits: { wait: retrying(({ attempt }) => 1_000 * 2 ** (attempt - 1), 4) } },
  'an empty list, then creates': {
    program: async (client) => {
      await client.list('/pets?categoryId=999');
      await shop(client);
    },
  },
};

async function verdictsOn(script: string, { habits = {}, program = shop }: Client): Promise<string> {
  const { service, time } = rehearsed;
  const key = await rehearsed.follow(script);
  const client = smallClient({ url: service.url, secret: key.secret, time }, { ...CAREFUL, ...habits });
  await time.run(program(client));
  const { rules } = await key.report();
  return rules
    .filter(({ verdict }) => verdict === 'broken')
    .map(({ rule, evidence }) => `${rule}: ${evidence[0]}`)
    .join('\n');
}

test('there are fifteen right clients, and the scripts of the page', () => {
  assert.ok(Object.keys(RIGHT).length >= 15 && scripts.length >= 14, `${scripts}`);
});

for (const [name, client] of Object.entries(RIGHT)) {
  test(`a right client keeps every rule under every script: ${name}`, async () => {
    for (const script of scripts) assert.equal(await verdictsOn(script, client), '', script);
  });
}

interface Fault extends Client {
  readonly script: string;
  /** The rule that catches it, alone. */
  readonly rule: string;
}

const never = (backoffMs: Parameters<typeof retrying>[0]) => retrying(backoffMs, 99);

const FAULTS: Readonly<Record<string, Fault>> = {
  'retries at once': { script: 'error*4,ok', rule: 'backs-off', habits: { wait: retrying(() => 0) } },
  'retries every 5 ms': { script: 'lost*4,ok', rule: 'backs-off', habits: { wait: retrying(() => 5) } },
  'retries every 20 ms, eight times': {
    script: 'error*8,ok',
    rule: 'backs-off',
    habits: { wait: retrying(() => 20, 9) },
  },
  'goes by its own backoff instead of Retry-After': {
    script: 'limit:2,ok',
    rule: 'waits',
    habits: { wait: (failure) => (mayRetry(failure) ? exponential(failure) : undefined), pause: () => 0 },
  },
  'takes the seconds of Retry-After for milliseconds': {
    script: 'unavailable:2,ok',
    rule: 'waits',
    habits: {
      wait: (failure) => (mayRetry(failure) ? retryAfterMs(failure) / 1_000 + 300 : undefined),
      pause: () => 0,
    },
  },
  'waits for a second at most': {
    script: 'limit:3,ok',
    rule: 'waits',
    habits: {
      wait: (failure) => (mayRetry(failure) ? Math.min(1_000, retryAfterMs(failure)) : undefined),
      pause: () => 0,
    },
  },
  'does not read a date': {
    script: 'limit-date:3,ok',
    rule: 'waits',
    habits: {
      wait: (failure) => (mayRetry(failure) ? Number(failure.retryAfter) * 1_000 || exponential(failure) : undefined),
      pause: () => 0,
    },
  },
  'forgets a Retry-After at the next call': {
    script: 'limit:5,ok',
    rule: 'waits',
    habits: { ...NO_RETRIES, pause: () => 50 },
  },
  'sends no Idempotency-Key': { script: 'error,ok', rule: 'retries-safely', habits: { key: () => undefined } },
  'sends another Idempotency-Key with each try': {
    script: 'reset,ok',
    rule: 'retries-safely',
    habits: { key: (call, attempt) => `${call}-${attempt}` },
  },
  'sends another body with the same key': {
    script: 'unavailable:1,ok',
    rule: 'retries-safely',
    habits: { body: ({ name }, attempt) => JSON.stringify({ name: `${name} ${attempt}` }) },
  },
  'creates anew what was lost': {
    script: 'lost,ok',
    rule: 'retries-safely, once',
    habits: { key: (call, attempt) => `${call}-${attempt}` },
  },
  'creates anew what was cut, without a key': {
    script: 'cut,ok',
    rule: 'retries-safely, once',
    habits: { key: () => undefined },
  },
  'creates anew when asked again': {
    script: 'unknown,ok',
    rule: 'retries-safely, once',
    habits: NO_RETRIES,
    program: creatingAnew,
  },
  'repeats a 400': {
    script: 'ok',
    rule: 'stops',
    habits: { wait: ({ attempt, status }) => (attempt < 4 && status ? 250 : undefined) },
    program: (client) => client.create(''),
  },
  'repeats a 401': {
    script: 'ok,revoked',
    rule: 'stops',
    habits: { wait: ({ attempt }) => (attempt < 3 ? 100 * attempt : undefined) },
  },
  'never gives up, with a growing wait': {
    script: 'lost*14,ok',
    rule: 'gives-up',
    habits: { wait: never(({ attempt }) => Math.min(30_000, 100 * 2 ** attempt)) },
  },
  'gives up after the eleventh try': {
    script: 'error*14,ok',
    rule: 'gives-up',
    habits: { wait: retrying(({ attempt }) => attempt * 50, 11) },
    program: (client) => client.list(),
  },
  'retries at once what it cannot decode': {
    script: 'grease,ok',
    rule: 'tolerates',
    habits: { isTolerant: false },
  },
};

test('there are fifteen faults or more, and each rule catches one', () => {
  const rules = new Set(Object.values(FAULTS).flatMap(({ rule }) => rule.split(', ')));
  assert.ok(Object.keys(FAULTS).length >= 15);
  assert.deepEqual([...rules].sort(), [
    'backs-off',
    'gives-up',
    'once',
    'retries-safely',
    'stops',
    'tolerates',
    'waits',
  ]);
});

for (const [name, { script, rule, ...client }] of Object.entries(FAULTS)) {
  test(`a client that ${name} breaks ${rule}, and nothing else`, async () => {
    const broken = await verdictsOn(script, client);
    assert.equal(broken.replaceAll(/: .*$/gm, '').replaceAll('\n', ', '), rule, broken);
  });
}

test('the same scripts and programs are kept by a client without a fault', async () => {
  for (const { script, program } of Object.values(FAULTS)) {
    // A program that means two creates with one body differs in nothing from one that forgot the first.
    if (program !== creatingAnew) assert.equal(await verdictsOn(script, { ...(program && { program }) }), '', script);
  }
});
