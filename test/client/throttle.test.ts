import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench, good, limits, refusal, settled } from '../kit/client/bench.ts';

/** How many calls a client has under way, and when the next one goes, by what the service says of the limit. */

const MINUTE_MS = 60_000;
/** Longer than any test: no call ends at its deadline. */
const timeoutMs = 100 * MINUTE_MS;

type Bench = ReturnType<typeof bench>;

/** What the headers say of the minute: so many are left of it, and it ends in so many seconds. */
const minute = (remaining: number, seconds: number, limit = 60) => ({
  ...limits(remaining),
  'ratelimit-policy': `"minute";q=${limit};w=60`,
  ratelimit: `"minute";r=${remaining};t=${seconds}`,
});

const refused = (seconds: number) => refusal(429, 'rate_limit_exceeded', { 'retry-after': `${seconds}`, ...limits(0) });

/** Begins calls, and notes of each how it ends. */
async function begin({ catalog }: Bench, count: number, options: { timeoutMs?: number; signal?: AbortSignal } = {}) {
  const ends: ({ code?: string; message: string; retryAfter?: number; retryAt?: Date } | 'done')[] = [];
  for (let id = 1; id <= count; id += 1) {
    void catalog.categories.get(id, { timeoutMs, ...options }).then(
      () => ends.push('done'),
      (error) => ends.push(error),
    );
  }
  await settled();
  return ends;
}

test('six calls are under way at first, one more for every two answers, and a hundred at most', async () => {
  const at = bench();
  await begin(at, 400);
  assert.equal(at.sent.length, 6);
  for (let answered = 1; answered <= 200; answered += 1) {
    await at.sent[answered - 1]?.answer(good(limits(1_000)));
    assert.equal(at.sent.length - answered, Math.min(100, 6 + Math.floor(answered / 2)));
  }
});

test('no more calls are under way than the limit has left, and one at least', async () => {
  const at = bench();
  await begin(at, 20);
  for (const [answered, left, underWay] of [
    [1, 9, 6],
    [2, 3, 5],
    [3, 3, 4],
    [4, 3, 3],
    [5, 3, 3],
    [6, 1, 2],
    [7, 1, 1],
    [8, 0, 1],
    [9, 9, 9],
  ] as const) {
    await at.sent[answered - 1]?.answer(good(limits(left)));
    assert.equal(at.sent.length - answered, underWay, `${answered} are answered`);
  }
});

test('after a refusal one call is under way, then one more for every two answers', async () => {
  const at = bench();
  await begin(at, 30);
  for (let index = 0; index < 6; index += 1) await at.sent[index]?.answer(refused(20));
  assert.equal(at.sent.length, 6);
  await at.pass(20_000);
  for (const [answered, underWay] of [
    [6, 1],
    [7, 1],
    [8, 2],
    [9, 2],
    [10, 3],
  ] as const) {
    if (answered > 6) await at.sent[answered - 1]?.answer(good(limits(50)));
    assert.equal(at.sent.length - answered, underWay, `${answered} are answered`);
  }
});

test('room that is found by a request sent after a refusal ends that refusal', async () => {
  const at = bench();
  await begin(at, 1);
  await at.sent[0]?.answer(refused(20));
  const free = at.catalog.rateLimit();
  await begin(at, 1);
  assert.equal(at.sent.length, 2, 'the calls wait, asking for the limits does not');
  await at.sent[1]?.answer(good(limits(0)));
  await free;
  assert.equal(at.sent.length, 2, 'without room');
  const again = at.catalog.rateLimit();
  await settled();
  await at.sent[2]?.answer(good(limits(1)));
  await again;
  assert.equal(at.sent.length, 4, 'one of them');
});

test('with pacing each call waits its share of the rest of the minute after the last', async () => {
  const at = bench({ pace: true });
  await begin(at, 4);
  assert.equal(at.sent.length, 1);
  await at.sent[0]?.answer(good(minute(30, 60)));
  await at.pass(1_999);
  assert.equal(at.sent.length, 1);
  await at.pass(1);
  assert.equal(at.sent.length, 2);
  await at.sent[1]?.answer(good(minute(7, 50)));
  await at.pass(7_142);
  assert.equal(at.sent.length, 2);
  await at.pass(1);
  assert.equal(at.sent.length, 3);
});

test('with pacing and none left the next call waits for the whole rest of the minute', async () => {
  const at = bench({ pace: true });
  await begin(at, 2);
  await at.pass(5_000);
  await at.sent[0]?.answer(good(minute(0, 10)));
  await at.pass(9_999);
  assert.equal(at.sent.length, 1);
  await at.pass(1);
  assert.equal(at.sent.length, 2);
});

for (const [title, left, place, turnMs] of [
  ['the next', 2, 0, 30_000],
  ['the last one of this minute', 2, 1, 60_000],
  ['the first one of the next minute', 2, 2, 60_000],
  ['the second one of the next minute', 2, 3, 61_000],
] as const) {
  test(`with pacing ${title} is sent if its deadline is later than its turn, and else says when that is`, async () => {
    const at = bench({ pace: true });
    await at.pass(5_000);
    await begin(at, 1);
    await at.sent[0]?.answer(good(minute(left, 60)));
    await begin(at, place);
    const early = await begin(at, 1, { timeoutMs: turnMs });
    const inTime = await begin(at, 1, { timeoutMs: turnMs + 1 });
    assert.deepEqual(inTime, []);
    const [error] = early;
    assert.ok(error && error !== 'done');
    assert.match(error.message, /^getCategory: not sent; pacing would send it in \d+ s, after its deadline$/);
    assert.deepEqual([error.retryAfter, error.retryAt?.getTime()], [turnMs / 1_000, 5_000 + turnMs]);
    assert.equal(at.sent.length, 1);
  });
}

test('with pacing the turns are counted from the end of a minute that is over', async () => {
  const at = bench({ pace: true });
  await begin(at, 1);
  await at.sent[0]?.answer(good(minute(10, 60, 120)));
  await at.pass(MINUTE_MS);
  // One is sent at once; the others half a second apart, as 120 are admitted in a minute.
  await begin(at, 1);
  assert.equal(at.sent.length, 2);
  await begin(at, 2);
  assert.equal((await begin(at, 1, { timeoutMs: 7_000 })).length, 1, '6 s after the last, then 1 s');
  assert.equal((await begin(at, 1, { timeoutMs: 7_001 })).length, 0);
});

test('with pacing an answer that shows less room ends the calls whose turn comes too late', async () => {
  const at = bench({ pace: true });
  await begin(at, 1);
  const waiting = [
    await begin(at, 1, { timeoutMs: 30_001 }),
    await begin(at, 1, { timeoutMs: MINUTE_MS }),
    await begin(at, 1, { timeoutMs: 60_001 }),
  ];
  await at.sent[0]?.answer(good(minute(2, 60)));
  assert.deepEqual(
    waiting.map(([error]) => error && error !== 'done' && error.retryAt?.getTime()),
    [undefined, MINUTE_MS, undefined],
  );
  await at.pass(30_000);
  assert.deepEqual(
    at.sent.map(({ path }) => path),
    ['/categories/1', '/categories/1'],
  );
});

test('any number of calls wait with one timer for their turn, and none is left behind', async () => {
  const at = bench({ pace: true });
  await begin(at, 1);
  await at.sent[0]?.answer(good(minute(60, 60)));
  assert.equal(at.waits(), 0);
  const controller = new AbortController();
  const calls = await begin(at, 20, { signal: controller.signal });
  assert.equal(at.waits(), 20 + 1, 'each has its deadline');
  controller.abort();
  await settled();
  assert.equal(calls.length, 20);
  assert.equal(at.waits(), 0);
});
