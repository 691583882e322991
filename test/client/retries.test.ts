import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench, good, limits, refusal, settled } from '../kit/client/bench.ts';

/** What a client sends again, and in which order, to a service that the test plays. */

/** Longer than any backoff. */
const BACKOFF_MS_MAX = 10_000;

test('a retry is sent before calls that were never sent, and those in order', async () => {
  const { catalog, sent, pass } = bench();
  const calls = Array.from({ length: 9 }, (_, index) => catalog.categories.get(index + 1));
  await settled();
  assert.equal(sent.length, 6);
  await sent[0]?.answer(refusal(503, 'unavailable'));
  assert.equal(sent.length, 7);
  await pass(BACKOFF_MS_MAX);
  for (let index = 1; index < 10; index += 1) await sent[index]?.answer(good());
  await Promise.all(calls);
  assert.deepEqual(
    sent.map(({ path }) => path),
    [1, 2, 3, 4, 5, 6, 7, 1, 8, 9].map((id) => `/categories/${id}`),
  );
});

test('after a 429 nothing is sent before its time, though requests that were sent before it find room', async () => {
  const { catalog, sent, pass } = bench();
  const calls = [1, 2, 3].map((id) => catalog.categories.get(id));
  await settled();
  await sent[0]?.answer(refusal(429, 'rate_limit_exceeded', { 'retry-after': '20', ...limits(0) }));
  calls.push(catalog.categories.get(4));
  await sent[1]?.answer(good(limits(5)));
  await sent[2]?.answer(good(limits(4)));
  assert.equal(sent.length, 3);
  const free = catalog.rateLimit();
  await settled();
  await sent[3]?.answer(good(limits(0)));
  await free;
  await pass(19_999);
  assert.deepEqual(
    sent.map(({ path }) => path),
    ['/categories/1', '/categories/2', '/categories/3', '/rate_limit'],
  );
  await pass(1);
  assert.deepEqual(
    sent.slice(4).map(({ path }) => path),
    ['/categories/1'],
    'the refused call goes first, and alone',
  );
  await sent[4]?.answer(good(limits(59)));
  await sent[5]?.answer(good(limits(58)));
  await Promise.all(calls);
});

test('calls that are aborted while they wait for their turn leave it to others', async () => {
  const { catalog, sent } = bench();
  const calls = Array.from({ length: 6 }, (_, index) => catalog.categories.get(index + 1));
  const [controller, reason] = [new AbortController(), new Error('the user left')];
  const aborted = Array.from({ length: 6 }, () => catalog.categories.get(99, { signal: controller.signal }));
  calls.push(catalog.categories.get(7));
  await settled();
  controller.abort(reason);
  for (const each of await Promise.allSettled(aborted)) assert.deepEqual(each, { status: 'rejected', reason });
  for (let index = 0; index < 7; index += 1) await sent[index]?.answer(good());
  await Promise.all(calls);
  assert.deepEqual(
    sent.map(({ path }) => path),
    [1, 2, 3, 4, 5, 6, 7].map((id) => `/categories/${id}`),
  );
});
