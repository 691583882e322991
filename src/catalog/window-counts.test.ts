import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NOW } from '../../test/kit/storage/bench.ts';
import { NO_COUNTS, refusedUntil } from './window-counts.ts';

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
