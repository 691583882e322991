import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RuleName } from '../src/client/rules.ts';
import {
  CAREFUL,
  exponential,
  type Habits,
  mayRetry,
  retryAfterMs,
  retrying,
  type SmallClient,
  smallClient,
} from './kit/habits.ts';
import { brokenIn, judged, type StageOptions } from './kit/stage.ts';

/** Clients that are right in ways of their own, and clients that break one rule each, by the plan of the command. */

type Program = (client: SmallClient) => Promise<unknown>;

interface Client extends StageOptions {
  readonly habits?: Partial<Habits>;
  readonly program?: Program;
}

const shop: Program = async (client) => {
  await client.call('GET', '/things');
  await client.call('POST', '/things', 'ant');
  await client.call('GET', '/things/1');
};
const writes: Program = async (client) => {
  await client.call('POST', '/things', 'ant');
  await client.call('PUT', '/things/1', 'bee');
  await client.call('PATCH', '/things/1', 'cat');
  await client.call('DELETE', '/things/1');
};
const PER_CALL = { pause: () => 0 };
const GRAPHQL: Partial<Habits> = {
  headers: ({ name }, key): Record<string, string> => (name?.startsWith('mutation') ? { 'idempotency-key': key } : {}),
  body: ({ name }) => JSON.stringify({ query: name }),
};
const queries: Program = async (client) => {
  await client.call('POST', '/graphql', 'query Things { things { id } }');
  await client.call('POST', '/graphql', 'mutation Add { add(name: "{query}") { id } }');
  await client.call('POST', '/graphql', 'mutation Remove { remove(id: 1) { id } }');
  await client.call('POST', '/graphql', '{ things { id } }');
};
const procedures: Program = async (client) => {
  await client.call('POST', '/rpc', 'things.add');
  await client.call('POST', '/rpc', 'things.remove');
};
const NO_RETRIES = { wait: () => undefined };
const inPool =
  (workers: number, work: (client: SmallClient, worker: number) => Promise<unknown>): Program =>
  async (client) => {
    const results = await Promise.allSettled(Array.from({ length: workers }, (_, worker) => work(client, worker)));
    if (results.some(({ status }) => status === 'rejected')) throw new Error('a worker failed');
  };

const run = ({ habits = {}, program = shop, ...options }: Client) =>
  judged(async (url) => {
    const client = smallClient(url, { ...CAREFUL, ...habits });
    try {
      await program(client);
    } finally {
      client.close();
    }
  }, options);

const RIGHT: Readonly<Record<string, Client>> = {
  'exponential backoff': {},
  'full jitter': {
    habits: { wait: retrying(({ attempt }) => Math.random() * Math.min(1_000, 200 * 2 ** attempt), 8) },
  },
  'Retry-After only': { habits: { wait: (failure) => (mayRetry(failure) && retryAfterMs(failure)) || undefined } },
  'no retries at all': { habits: NO_RETRIES },
  'a connection for each request': { habits: { keepAlive: false } },
  'the pool of fetch, one call after the other': { habits: { usesFetch: true }, program: writes },
  'a backoff that begins anew': {
    habits: { wait: retrying(({ attempt }) => [100, 200, 400, 800, 100, 200, 400, 800][attempt - 1] ?? 800, 9) },
  },
  'equal creates without keys, not retried': {
    habits: { wait: () => undefined, headers: () => ({}) },
    program: async (client) => {
      for (let time = 0; time < 3; time += 1) await client.call('POST', '/things', 'ant');
    },
  },
  'a suite that goes on after a failure': {
    habits: { wait: () => undefined },
    program: async (client) => {
      const calls = ['/things', '/other/1', '/more'].map((path) => () => client.call('GET', path));
      let failed = 0;
      for (const call of calls) await call().catch(() => (failed += 1));
      if (failed > 0) throw new Error('a test failed');
    },
  },
  'writes of every method': { program: writes },
  'a PATCH with If-Match': {
    habits: { headers: ({ method }, key) => (method === 'PATCH' ? { 'if-match': '"1"' } : { 'idempotency-key': key }) },
    program: writes,
  },
  'a key in another header': {
    habits: {
      headers: ({ method }, key): Record<string, string> => (method === 'POST' ? { 'x-request-key': key } : {}),
    },
    proxy: { idempotency: ['X-Request-Key'] },
  },
  'a search by POST': {
    habits: { headers: () => ({}) },
    program: (client) => client.call('POST', '/search', 'ant'),
    asked: { customs: { safe: ['POST /search'], scope: undefined, triesMax: 10, toleranceMs: 100 } },
  },
  'queries of GraphQL without keys, and mutations with one': { habits: GRAPHQL, program: queries },
  'calls of JSON-RPC, whose id is another with each try': {
    habits: {
      headers: (_, key) => ({ 'idempotency-key': key }),
      body: ({ name }) => JSON.stringify({ jsonrpc: '2.0', id: Math.random(), method: name }),
    },
    program: procedures,
  },
  'a pool of eight workers with equal calls': {
    habits: PER_CALL,
    program: inPool(8, async (client) => {
      await client.call('GET', '/things');
      await client.call('POST', '/things', 'ant');
    }),
  },
  'a pool of eight with a connection for each request': {
    habits: { ...PER_CALL, keepAlive: false },
    program: inPool(8, async (client, worker) => {
      await client.call('GET', '/things');
      await client.call('GET', `/things/${worker}`);
    }),
  },
  'a program that meets refusals when all is well': {
    program: async (client) => {
      await client.call('GET', '/refused').catch(() => {});
      await client.call('POST', '/refused', 'ant').catch(() => {});
      await client.call('GET', '/things');
    },
    api: () => (request, response) => {
      request.resume();
      const status = request.url === '/refused' ? 422 : 200;
      response.writeHead(status, { 'content-type': 'application/json' }).end('{"id":1}');
    },
  },
};

describe('a right client keeps every rule:', { concurrency: 6 }, () => {
  for (const [name, client] of Object.entries(RIGHT)) {
    test(name, async () => assert.deepEqual(brokenIn(await run(client)), []));
  }
});

test('the retries of a test runner are named, and what they send is not held against the client', async () => {
  const twice: Program = (client) => shop(client).catch(() => shop(client));
  const report = await run({ habits: NO_RETRIES, program: twice, playsMax: 12 });
  assert.deepEqual(brokenIn(report), []);
  assert.match(`${report.remarks}`, /came again after request 2 \(POST \/things\) failed, .* switch its retries off/);
  const repeated = report.rules.filter(({ reason }) => reason === 'a test runner repeated its requests');
  const cells = repeated.map(({ rule, kind }) => `${rule} ${kind}`);
  assert.ok(cells.includes('once POST /things') && cells.includes('waits GET /things'), `${cells}`);
});

interface Wrong extends Client {
  /** The rule that catches it, alone. */
  readonly rule: RuleName;
  /** Every kind for which it is broken. */
  readonly kinds: readonly string[];
}

/** It goes on after a call that failed, and reports it at the end. */
const goesOn: Program = async (client) => {
  const calls: Parameters<SmallClient['call']>[] = [
    ['GET', '/things'],
    ['POST', '/things', 'ant'],
    ['PUT', '/things/1', 'bee'],
    ['GET', '/things/1'],
  ];
  const failures: unknown[] = [];
  for (const call of calls) await client.call(...call).catch((error) => failures.push(error));
  if (failures.length > 0) throw failures[0];
};

const CREATES = ['POST /things'];
const ALL = ['GET /things', 'POST /things', 'GET /things/{}'];

const WRONG: Readonly<Record<string, Wrong>> = {
  'goes by its own backoff instead of Retry-After': {
    rule: 'waits',
    kinds: ALL,
    habits: { ...PER_CALL, wait: (failure) => (mayRetry(failure) ? exponential(failure) : undefined) },
  },
  'goes on with other calls, by fetch': {
    rule: 'waits',
    kinds: ['GET /things', 'POST /things', 'PUT /things/{}'],
    habits: { ...NO_RETRIES, ...PER_CALL, usesFetch: true },
    program: goesOn,
  },
  'does not read a date': {
    rule: 'waits',
    kinds: ['GET /things', 'GET /things/{}'],
    habits: {
      ...PER_CALL,
      wait: (failure) => (mayRetry(failure) ? Number(failure.retryAfter) * 1_000 || exponential(failure) : undefined),
    },
  },
  'retries at once': { rule: 'backs-off', kinds: CREATES, habits: { wait: retrying(() => 0, 10) }, playsMax: 4 },
  'repeats what is refused for good': {
    rule: 'stops',
    kinds: CREATES,
    habits: {
      wait: (failure) => (failure.status === 401 && failure.attempt < 3 ? 100 : retrying(exponential)(failure)),
    },
  },
  'sends no Idempotency-Key': { rule: 'once', kinds: CREATES, habits: { headers: () => ({}) } },
  'asks AWS by POST, and puts without a key': {
    rule: 'once',
    kinds: ['POST / Things_2012.PutThing', 'POST / Things_2012.DeleteThing'],
    habits: { headers: ({ name = '' }) => ({ 'x-amz-target': name }) },
    program: async (client) => {
      for (const name of ['Get', 'Put', 'Delete']) await client.call('POST', '/', `Things_2012.${name}Thing`);
    },
  },
  'sends no key with its second create': {
    rule: 'once',
    kinds: CREATES,
    habits: { headers: ({ name }, key): Record<string, string> => (name === 'bee' ? {} : { 'idempotency-key': key }) },
    program: async (client) => {
      for (const name of ['ant', 'bee']) await client.call('POST', '/things', name);
    },
  },
  'repeats what cannot be processed': {
    rule: 'stops',
    kinds: CREATES,
    habits: {
      wait: (failure) => (failure.status === 422 && failure.attempt < 3 ? 100 : retrying(exponential)(failure)),
    },
  },
  'sends another body with the same key': {
    rule: 'retries-safely',
    kinds: CREATES,
    habits: { body: ({ method, name }, attempt) => (method === 'POST' ? `{"name":"${name} ${attempt}"}` : undefined) },
  },
  'never gives up': { rule: 'gives-up', kinds: CREATES, habits: { wait: retrying(() => 150, 13) }, playsMax: 6 },
  'repeats what it cannot decode': {
    rule: 'tolerates',
    kinds: ['GET /things', 'GET /things/{}'],
    habits: { isTolerant: false },
  },
  'reports a write as done that failed': {
    rule: 'tells',
    kinds: ['POST /things', 'PUT /things/{}', 'PATCH /things/{}', 'DELETE /things/{}'],
    habits: { ...NO_RETRIES, tells: false },
    program: writes,
    playsMax: 40,
  },
};

// A client that retries at once is seen by milliseconds, which a neighbour takes.
for (const concurrency of [1, 6]) {
  describe(`a wrong client breaks its rule for each kind, and nothing else (${concurrency} at a time):`, {
    concurrency,
  }, () => {
    for (const [name, { rule, kinds, ...client }] of Object.entries(WRONG)) {
      if ((rule === 'backs-off') !== (concurrency === 1)) continue;
      test(`one that ${name}`, async () => {
        const { rules } = await run(client);
        const broken = rules.filter(({ verdict }) => verdict === 'broken');
        const others = broken.filter((cell) => cell.rule !== rule);
        const told = others.map((cell) => `${cell.rule} for ${cell.kind}: ${cell.evidence[0]}`);
        assert.deepEqual(told, []);
        const found = broken.filter((cell) => cell.rule === rule).map(({ kind }) => kind);
        assert.deepEqual(found.sort(), [...kinds].sort());
      });
    }
  });
}
