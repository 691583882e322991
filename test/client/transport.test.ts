import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectionError, PetCatalog, type ResponseEvent, TimeoutError } from '../../client/src/pet-catalog.ts';
import { bench, good, limits, refusal, settled } from '../kit/client/bench.ts';

/** What a client sends, how it reads the answer, and how long it waits, with a service that the test plays. */

const lost = () => new TypeError('fetch failed');

/** What a call fails with. */
function failureOf(call: Promise<unknown>): Promise<ConnectionError> {
  return call.then(
    () => assert.fail('the call succeeded'),
    (error) => error,
  );
}

/** What a call that is not retried fails with, when this is the answer. */
async function failureBy(answer: unknown): Promise<ConnectionError> {
  const { catalog, sent } = bench({ maxRetries: 0 });
  const failure = failureOf(catalog.categories.get(1));
  await settled();
  await sent[0]?.answer(answer);
  return failure;
}

test('where there is no environment, as in browsers, the key is missing', () => {
  const { process } = globalThis;
  try {
    for (const none of [undefined, {}]) {
      globalThis.process = none as typeof process;
      assert.throws(() => new PetCatalog({ baseUrl: 'http://x/v1' }), /^TypeError: apiKey is missing/);
    }
  } finally {
    globalThis.process = process;
  }
});

test('pages begin at the cursor that is given, go on with those that they get, and none is requested before its turn', async () => {
  const queries: (string | undefined)[] = [];
  const send: typeof fetch = async (input) => {
    queries.push(`${input}`.split('?')[1]);
    // A call that never ended would be seen by its third page.
    assert.ok(queries.length <= 2, 'one page too many');
    const headers = queries.length === 1 ? { link: '</x?cursor=after_2>; rel="next"' } : {};
    return Response.json([{ id: queries.length }], { headers });
  };
  const { catalog } = bench({ fetch: send, maxRetries: 0 });
  for (const name of ['categories', 'pets', 'orders', 'inventory'] as const) {
    const pages = await Array.fromAsync<unknown>(catalog[name].pages({ limit: 5, cursor: 'after_1' }));
    assert.deepEqual(pages, [[{ id: 1 }], [{ id: 2 }]]);
    assert.deepEqual(queries.splice(0), ['limit=5&cursor=after_1', 'limit=5&cursor=after_2'], name);
    assert.deepEqual(await Array.fromAsync<unknown>(catalog[name].all()), [{ id: 1 }, { id: 2 }]);
    assert.equal(queries.splice(0).length, 2);
    for await (const first of catalog[name].all()) {
      assert.deepEqual(first, { id: 1 });
      break;
    }
    assert.equal(queries.splice(0).length, 1, 'the second page was not needed');
  }
});

test('a query is sent with texts, numbers, truths and lists of them, without what is undefined', async () => {
  const { catalog, sent } = bench();
  void catalog.request('GET', '/pets', { query: { a: 'x y', b: 0, c: false, d: [1, 'z', true], e: undefined, f: '' } });
  await settled();
  assert.equal(sent[0]?.url, 'http://service.example/v1/pets?a=x+y&b=0&c=false&d=1%2Cz%2Ctrue&f=');
});

test('asking for the limits takes no place of another call', async () => {
  const { catalog, sent } = bench();
  for (let index = 0; index < 3; index += 1) {
    const asked = catalog.rateLimit();
    await settled();
    await sent[index]?.answer(good());
    await asked;
  }
  for (let id = 1; id <= 20; id += 1) void catalog.categories.get(id);
  await settled();
  assert.equal(sent.length, 3 + 6);
});

test('the hook is told how long the answer took', async () => {
  const events: ResponseEvent[] = [];
  const { catalog, sent, pass } = bench({ onResponse: (event) => events.push(event) });
  await pass(1_000);
  const call = catalog.categories.get(1);
  await settled();
  await pass(70);
  await sent[0]?.answer(good(limits(5)));
  await call;
  assert.deepEqual(events, [
    {
      operation: 'getCategory',
      status: 200,
      attempt: 1,
      durationMs: 70,
      limits: { limit: 60, remaining: 5, reset: 60 },
      requestId: undefined,
    },
  ]);
  const calls = Array.from({ length: 6 }, () => catalog.categories.get(1));
  await settled();
  await pass(40);
  await sent[1]?.answer(good(limits(5)));
  await settled();
  await pass(30);
  for (const request of sent.slice(2)) await request.answer(good(limits(5)));
  await Promise.all(calls);
  assert.deepEqual(
    events.slice(1).map(({ durationMs }) => durationMs),
    [40, 70, 70, 70, 70, 30],
    'without the wait for a turn',
  );
});

test('a call ends at its deadline, with its last failure as the cause', async (t) => {
  t.mock.method(Math, 'random', () => 0);
  const { catalog, sent, pass } = bench();
  const failures: Error[] = [];
  void catalog.categories.get(1).catch((error) => failures.push(error));
  await settled();
  await sent[0]?.answer(refusal(503, 'unavailable', { 'retry-after': '100' }));
  await pass(100_250);
  assert.equal(sent.length, 2);
  await pass(19_749);
  assert.equal(failures.length, 0);
  await pass(1);
  const [failure] = failures;
  assert.ok(failure instanceof TimeoutError);
  assert.equal(failure.message, 'getCategory: not done within 120000 ms');
  assert.match(`${failure.cause}`, /ApiError: getCategory: No \(unavailable\)/);
});

test('an attempt without an answer ends at its timeout, and is repeated', async (t) => {
  t.mock.method(Math, 'random', () => 0);
  const { catalog, sent, pass } = bench({ attemptTimeoutMs: 2_000, maxRetries: 1 });
  const failure = failureOf(catalog.categories.create({ name: 'Dog' }));
  await settled();
  await pass(1_999);
  await pass(250);
  assert.equal(sent.length, 1);
  await pass(250);
  assert.equal(sent.length, 2);
  await pass(2_000);
  assert.equal((await failure).message, 'createCategory: no answer within 2000 ms');
  assert.equal((await failure).name, 'TimeoutError');
});

test('an end that is announced is told, though no one says since when, or until when', async () => {
  for (const headers of [{ sunset: 'Wed, 05 Dec 2030 00:00:00 GMT' }, { deprecation: '@1767225600' }]) {
    const events: unknown[] = [];
    const { catalog, sent } = bench({ onDeprecation: ({ sunset, deprecation }) => events.push(sunset ?? deprecation) });
    const call = catalog.categories.get(1);
    await settled();
    await sent[0]?.answer(good(headers));
    await call;
    assert.deepEqual(events, [new Date('sunset' in headers ? '2030-12-05' : '2026-01-01')]);
  }
});

test('the failure of a proxy says when to try again', async () => {
  const failure = await failureBy(new Response('', { status: 502, headers: { 'retry-after': '20' } }));
  assert.deepEqual([failure.retryAfter, failure.retryAt], [20, new Date(20_000)]);
});

test('a failed fetch is told by its message and that of its cause, or else by its code', async () => {
  const refused = Object.assign(new Error(''), { code: 'ECONNREFUSED' });
  for (const [thrown, message] of [
    [new TypeError('fetch failed', { cause: refused }), 'fetch failed: ECONNREFUSED'],
    [new TypeError('fetch failed', { cause: 'no error' }), 'fetch failed: undefined'],
    [lost(), 'fetch failed'],
    [refused, 'ECONNREFUSED'],
  ] as const) {
    assert.equal((await failureBy(thrown)).message, `getCategory: ${message}`);
  }
  for (const thrown of [undefined, null, 'text', { name: 'Odd' }]) {
    const failure = await failureBy(thrown);
    assert.ok(failure instanceof ConnectionError);
    assert.equal((failure.cause as Error).name, Object(thrown).name ?? 'Error');
  }
  const { cause } = await failureBy(new TypeError('fetch failed', { cause: refused }));
  assert.ok(cause instanceof Error && cause.cause instanceof Error);
  assert.deepEqual(
    [cause.name, 'code' in cause, cause.cause.name, Object.getOwnPropertyDescriptor(cause.cause, 'code')?.value],
    ['TypeError', false, 'Error', 'ECONNREFUSED'],
  );
});

test('a timeout longer than any timer is no timeout at once', async (t) => {
  const timers = t.mock.method(globalThis, 'setTimeout');
  const send = async () => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    return good();
  };
  const durations: number[] = [];
  const onResponse = ({ durationMs }: ResponseEvent) => durations.push(durationMs);
  const options = { baseUrl: 'http://x/v1', apiKey: 'k', fetch: send, timeoutMs: 2 ** 31, onResponse };
  assert.equal((await new PetCatalog(options).categories.get(1)).name, 'Dog');
  assert.ok(Number(durations[0]) > 0, 'by a clock that goes on');
  const delays = timers.mock.calls.map(({ arguments: [, ms] }) => ms);
  assert.deepEqual(delays, [2 ** 31 - 1, 30_000, 5], 'the longest timer there is');
});

test('the fake timers of Jest 29 and of node:test end each wait when it was to end', async (t) => {
  const real = globalThis.performance;
  t.after(() => {
    globalThis.performance = real;
  });
  t.mock.method(Math, 'random', () => 0);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const waits: (number | undefined)[] = [];
  const { setTimeout } = globalThis;
  t.mock.method(globalThis, 'setTimeout', (run: () => void, ms?: number) => {
    waits.push(ms);
    return setTimeout(run, ms);
  });
  // Jest begins at 0, and makes `timeOrigin` a function; node:test leaves the clock of the machine. Here that one
  // stands still: what a busy machine takes before a wait shortens it. A sum of fractions lengthens it by 1 ms at most.
  for (const [now, timeOrigin] of [[0, () => 0] as const, [real.now(), real.timeOrigin] as const]) {
    const answers = [refusal(429, 'rate_limit_exceeded', { 'retry-after': '7' }), refusal(503, 'unavailable'), good()];
    const fetch = async () => answers.shift() ?? assert.fail('one request too many');
    const catalog = new PetCatalog({ baseUrl: 'http://x/v1', apiKey: 'k', fetch });
    globalThis.performance = { now: () => now, timeOrigin } as unknown as Performance;
    let isDone = false;
    waits.length = 0;
    const call = catalog.categories.get(1).then(() => {
      isDone = true;
    });
    for (const [ms, left] of [
      [7_000, 2],
      [500, 1],
    ] as const) {
      while (!waits.some((wait = 0) => wait >= ms && wait <= ms + 1) && !t.signal.aborted) await settled();
      t.mock.timers.tick(ms - 1);
      await settled();
      assert.deepEqual([answers.length, isDone], [left, false]);
      t.mock.timers.tick(2);
    }
    await call;
  }
});

test('a failure says when to try again by the date of the machine, also once that was corrected', async (t) => {
  const send = async () => refusal(503, 'unavailable', { 'retry-after': '9999999999999999' });
  const catalog = new PetCatalog({ baseUrl: 'http://x/v1', apiKey: 'k', fetch: send, maxRetries: 0 });
  const later = Date.now() + 5 * 3_600_000;
  t.mock.method(Date, 'now', () => later);
  const { retryAt } = await failureOf(catalog.categories.get(1));
  assert.equal(Number(retryAt), later + 2 ** 31 * 1_000);
});

test('a call that is done leaves no timer, which would keep the process alive', async (t) => {
  t.mock.method(Math, 'random', () => 0);
  const answers = [lost(), good()];
  const send = async () => {
    const answer = answers.shift();
    if (answer instanceof Response) return answer;
    throw answer;
  };
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  await new PetCatalog({ baseUrl: 'http://x/v1', apiKey: 'k', fetch: send }).categories.get(1);
  await settled();
  assert.equal(timers(), before);
});
