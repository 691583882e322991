import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { NOW } from '../../test/kit/storage/bench.ts';
import { anyCounts } from '../../test/kit/storage/limits.ts';
import { capped, merged, refusedUntil } from './window-counts.ts';

test('merging counts is commutative, associative and idempotent', () => {
  fc.assert(
    fc.property(anyCounts, anyCounts, anyCounts, (a, b, c) => {
      assert.deepEqual(merged(a, b), merged(b, a));
      assert.deepEqual(merged(merged(a, b), c), merged(a, merged(b, c)));
      assert.deepEqual(merged(a, a), a);
      assert.deepEqual(merged(merged(a, b), b), merged(a, b));
    }),
    { numRuns: 2_000 },
  );
});

test('merging takes of each window the later one, and of one window the greater count', () => {
  const counts = (minuteEnds: number, minuteUsed: number, day: number, dayUsed: number) => {
    return { minuteEnds, minuteUsed, day, dayUsed };
  };
  assert.deepEqual(merged(counts(60, 5, 3, 5), counts(60, 4, 3, 7)), counts(60, 5, 3, 7));
  assert.deepEqual(merged(counts(60, 5, 3, 7), counts(61, 1, 3, 6)), counts(61, 1, 3, 7));
  assert.deepEqual(merged(counts(61, 1, 4, 1), counts(60, 9, 3, 99)), counts(61, 1, 4, 1));
});

test('stored counts end a minute from now at the latest, and are of today at the latest', () => {
  const today = Math.floor(NOW / 86_400);
  const counts = { minuteEnds: NOW + 60, minuteUsed: 4, day: today, dayUsed: 9 };
  assert.equal(capped(counts, NOW), counts);
  assert.deepEqual(capped({ ...counts, minuteEnds: NOW + 61 }, NOW), counts);
  assert.deepEqual(capped({ ...counts, day: today + 1 }, NOW), counts, 'its count stays');
  const before = { ...counts, minuteEnds: NOW - 5, day: today - 1 };
  assert.equal(capped(before, NOW), before);
});

test('stored counts refuse a key until every window that is spent is over', () => {
  const today = Math.floor(NOW / 86_400);
  const limits = { minute: 5, day: 9 };
  const midnight = (today + 1) * 86_400;
  for (const [counts, until] of [
    [undefined, undefined],
    [{ minuteEnds: NOW + 30, minuteUsed: 4, day: today, dayUsed: 8 }, undefined],
    [{ minuteEnds: NOW + 30, minuteUsed: 5, day: today, dayUsed: 8 }, NOW + 30],
    [{ minuteEnds: NOW, minuteUsed: 5, day: today - 1, dayUsed: 9 }, undefined],
    [{ minuteEnds: NOW + 7_200, minuteUsed: 5, day: today, dayUsed: 8 }, NOW + 60],
    [{ minuteEnds: NOW + 30, minuteUsed: 5, day: today, dayUsed: 9 }, midnight],
  ] as const) {
    assert.equal(refusedUntil(counts, limits, NOW), until);
  }
});
