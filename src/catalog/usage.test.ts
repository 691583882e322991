import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mostOf, stepStart, sumCounts, USAGE_SORTS, usagePeriod, weightOf } from './usage.ts';

const [hour, day] = [3_600, 86_400];

test('nine hours are read by the minute, two weeks by the hour, and more by the day, as long as these are kept', () => {
  const ranges = [9 * hour, 9 * hour + 1, 14 * day, 14 * day + 1].map((until) => ({ since: 0, until, now: until }));
  assert.deepEqual(ranges.map(usagePeriod), ['minute', 'hour', 'hour', 'day']);
  const ago = [2 * day, 2 * day + 1, 62 * day, 62 * day + 1].map((now) => usagePeriod({ since: 0, until: hour, now }));
  assert.deepEqual(ago, ['minute', 'hour', 'hour', 'day']);
});

test('usage is added up, weighed, and sorted by most first, then by id', () => {
  const counts = { served: 1, clientErrors: 20, refused: 300, serverErrors: 4_000 };
  assert.deepEqual(
    USAGE_SORTS.map((sort) => [sort, weightOf(counts, sort)]),
    [
      ['requests', 4_321],
      ['refused', 300],
      ['errors', 4_020],
    ],
  );
  assert.deepEqual(sumCounts([counts, counts]), { served: 2, clientErrors: 40, refused: 600, serverErrors: 8_000 });
  const none = sumCounts([]);
  const all = [
    { ...none, id: 'c', refused: 1 },
    { ...none, id: 'b', refused: 2 },
    { ...none, id: 'd', served: 9 },
    { ...none, id: 'a', refused: 1 },
  ];
  assert.deepEqual(
    mostOf(all, 'refused').map(({ id }) => id),
    ['b', 'a', 'c'],
  );
});

test('steps of seven days begin on Mondays', () => {
  const monday = Date.UTC(2026, 10, 23) / 1_000;
  const moments = [monday - 1, monday, monday + 7 * day - 1, monday + 7 * day];
  assert.deepEqual(
    moments.map((moment) => stepStart(moment, 7 * day)),
    [monday - 7 * day, monday, monday, monday + 7 * day],
  );
  assert.equal(stepStart(monday + 2 * hour - 1, hour), monday + hour);
});
