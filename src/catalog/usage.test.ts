import assert from 'node:assert/strict';
import { test } from 'node:test';
import { usagePeriod } from './usage.ts';

test('six hours are read by the minute, two weeks by the hour, and more by the day', () => {
  const [hour, day] = [3_600, 86_400];
  const ranges = [6 * hour, 6 * hour + 1, 14 * day, 14 * day + 1];
  assert.deepEqual(ranges.map(usagePeriod), ['minute', 'hour', 'hour', 'day']);
});
