import assert from 'node:assert/strict';
import { test } from 'node:test';
import { duration } from './element.ts';

test('a duration is rounded to the nearest of its unit', () => {
  const told = Object.fromEntries(
    [-1, 0.4, 89, 90, 5_399, 5_400, 12_599, 12_600, 172_799, 172_800, 216_000].map((seconds) => [
      seconds,
      duration(seconds),
    ]),
  );
  assert.deepEqual(told, {
    '-1': '0 s',
    '0.4': '0 s',
    89: '89 s',
    90: '2 min',
    5399: '90 min',
    5400: '2 h',
    12599: '3 h',
    12600: '4 h',
    172799: '48 h',
    172800: '2 days',
    216000: '3 days',
  });
});
