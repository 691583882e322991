import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CatalogError } from '../../catalog/error.ts';
import { systemTime } from '../../stdx/time.ts';
import { WriteQueue } from './write-queue.ts';

const BATCH_ENOUGH = 64;
const BATCH_MAX = 256;
const WAITING_MAX = 10_000;
const time = systemTime();

test('items share batches in their order, and each gets its own outcome', async () => {
  const batches: number[][] = [];
  const stored: number[][] = [];
  const queue = new WriteQueue<number, string>(
    async (items) => {
      batches.push(items);
      return items.map((item) => (item === 3 ? new CatalogError('catalog_full', 'three') : `stored ${item}`));
    },
    { time, onStored: ({ size, waiting }) => stored.push([size, waiting]) },
  );
  const count = BATCH_ENOUGH + BATCH_MAX + 44;
  const results = await Promise.allSettled(Array.from({ length: count }, (_, item) => queue.push(item)));
  assert.deepEqual(batches.flat(), [...Array(count).keys()]);
  assert.deepEqual(stored, [
    [BATCH_ENOUGH, BATCH_MAX + 44],
    [BATCH_MAX, 44],
    [44, 0],
  ]);
  for (const [item, result] of results.entries()) {
    if (item === 3) assert.equal(result.status === 'rejected' && result.reason.message, 'three');
    else assert.equal(result.status === 'fulfilled' && result.value, `stored ${item}`);
  }
});

test('callers who come back in turns that follow each other share a batch', async () => {
  const sizes: number[] = [];
  const queue = new WriteQueue<number, number>(
    async (items) => {
      sizes.push(items.length);
      return items;
    },
    { time: { steadyMs: () => 0 } },
  );
  await Promise.all([queue.push(1), queue.push(2)]);
  const back: Promise<number>[] = [];
  for (let turn = 0; turn < 3; turn += 1) {
    back.push(queue.push(turn));
    await nextTurn();
  }
  await Promise.all(back);
  assert.deepEqual(sizes, [2, 3]);
});

test('when the storage is down, all that wait are refused at once and never stored', async () => {
  const committed: number[] = [];
  let isDown = true;
  const queue = new WriteQueue<number, number>(
    async (items) => {
      committed.push(...items);
      if (isDown) throw new CatalogError('outcome_unknown', 'no answer');
      return items;
    },
    { time },
  );
  const results = await Promise.allSettled(Array.from({ length: 3 * BATCH_MAX }, (_, item) => queue.push(item)));
  for (const [item, result] of results.entries()) {
    assert.ok(result.status === 'rejected');
    assert.equal(result.reason.code, item < BATCH_ENOUGH ? 'outcome_unknown' : 'unavailable');
    assert.match(result.reason.message, item < BATCH_ENOUGH ? /^no answer$/ : /^The storage cannot do this now/);
  }
  isDown = false;
  assert.equal(await queue.push(-1), -1);
  assert.deepEqual(committed, [...Array(BATCH_ENOUGH).keys(), -1]);
});

test('an error that does not come from the storage fails one batch only', async () => {
  let commits = 0;
  const queue = new WriteQueue<number, number>(
    async (items) => {
      commits += 1;
      if (commits === 1) throw new TypeError('a mistake');
      return items;
    },
    { time },
  );
  const results = await Promise.allSettled(Array.from({ length: 2 * BATCH_MAX }, (_, item) => queue.push(item)));
  for (const [item, { status }] of results.entries())
    assert.equal(status, item < BATCH_ENOUGH ? 'rejected' : 'fulfilled');
});

test('beyond ten thousand waiting items new ones are refused', async () => {
  const queue = new WriteQueue<number, number>(async (items) => items, { time });
  // The first batch is under way.
  const waiting = Array.from({ length: BATCH_ENOUGH + WAITING_MAX }, (_, item) => queue.push(item));
  await assert.rejects(queue.push(-1), { code: 'unavailable', message: /^Too many writes are waiting/ });
  assert.equal((await Promise.all(waiting)).length, BATCH_ENOUGH + WAITING_MAX);
  assert.equal(await queue.push(-1), -1);
});
