import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { exponential, mayRetry, retryAfterMs, retrying, type SmallClient } from '../kit/rehearsal/clients.ts';
import { brokenBy, type Client, NO_RETRIES, RIGHT, scripts } from '../kit/rehearsal/right-clients.ts';
import { type RehearsedService, rehearsedService } from '../kit/rehearsal/service.ts';

/**
 * Fifteen clients that are right in ways of their own, each kept under a third of the scripts of the page (under all
 * with the slow tests); and clients with one fault each, caught by its rule and by no other.
 */

let rehearsed: RehearsedService;
before(async () => {
  rehearsed = await rehearsedService();
});
after(() => rehearsed[Symbol.asyncDispose]());

async function creatingAnew(client: SmallClient): Promise<void> {
  await client.create('Dog');
  await client.list();
  await client.create('Dog');
}

test('there are fifteen right clients, and the scripts of the page', () => {
  assert.ok(Object.keys(RIGHT).length >= 15 && scripts.length >= 14, `${scripts}`);
});

for (const [index, [name, client]] of Object.entries(RIGHT).entries()) {
  test(`a right client keeps every rule: ${name}`, async () => {
    const some = scripts.filter((_, at) => at % 3 === index % 3);
    for (const script of some) assert.equal(await brokenBy(rehearsed, script, client), '', script);
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
    const broken = await brokenBy(rehearsed, script, client);
    assert.equal(broken.replaceAll(/: .*$/gm, '').replaceAll('\n', ', '), rule, broken);
  });
}

test('the same scripts and programs are kept by a client without a fault', async () => {
  for (const { script, program } of Object.values(FAULTS)) {
    // A program that means two creates with one body differs in nothing from one that forgot the first.
    if (program !== creatingAnew)
      assert.equal(await brokenBy(rehearsed, script, { ...(program && { program }) }), '', script);
  }
});
