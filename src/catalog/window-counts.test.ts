import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NOW } from '../../test/kit/storage/bench.ts';
import { merged, NO_COUNTS, refusedUntil, withResets } from './window-counts.ts';

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
    assert.equal(refusedUntil(counts && { ...NO_COUNTS, ...counts }, limits, NOW), until);
  }
});

test('a reset makes what a window has counted 0 and keeps its end, and counts that know of a later one stay', () => {
  const counts = { ...NO_COUNTS, minuteEnds: NOW + 30, minuteUsed: 4, day: 3, dayUsed: 8 };
  assert.deepEqual(withResets(counts, { minute: 1, day: 0 }), { ...counts, minuteUsed: 0, minuteReset: 1 });
  const after = { ...counts, dayUsed: 0, dayReset: 2 };
  assert.deepEqual(withResets(counts, { minute: 0, day: 2 }), after);
  const counted = { ...after, dayUsed: 1 };
  assert.equal(withResets(counted, { minute: 0, day: 1 }), counted, 'a request in flight counts afterwards');
  for (const older of [counts, { ...counts, day: 4 }]) assert.deepEqual(merged(older, counted), counted);
});
