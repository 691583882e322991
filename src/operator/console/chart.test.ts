import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NO_USAGE } from '../../catalog/usage.ts';
import { chart } from './chart.ts';
import { rangeIn } from './range.ts';

const NOON = Date.UTC(2026, 0, 7, 12) / 1_000;
const rangeNamed = (since: string) => rangeIn(new URLSearchParams({ since }), NOON);

test('a range ends with the step of now, and each begins where usage is added up', () => {
  const first = (name: string) => new Date(rangeNamed(name).since * 1_000).toISOString();
  assert.deepEqual(['1h', '6h', '24h', '7d', '30d', '1y'].map(first), [
    '2026-01-07T11:01:00.000Z',
    '2026-01-07T06:05:00.000Z',
    '2026-01-06T13:00:00.000Z',
    '2025-12-31T15:00:00.000Z',
    '2025-12-09T00:00:00.000Z',
    '2025-01-06T00:00:00.000Z',
  ]);
  for (const name of ['1h', '6h', '24h', '7d', '30d', '1y']) {
    const { starts, until, stepSeconds } = rangeNamed(name);
    assert.ok(until > NOON);
    assert.equal((starts.at(-1) ?? 0) + stepSeconds, until);
  }
  assert.throws(() => rangeNamed('century'), { message: /^since is "century"; send a date/ });
});

test('a range from one moment to another has whole steps of those that are kept, a hundred at most', () => {
  const found = (from: string, to: string, now = NOON) => {
    const range = rangeIn(new URLSearchParams({ since: from, until: to }), now);
    const [first, end] = [range.since, range.until].map((at) => new Date(at * 1_000).toISOString());
    return `${first?.slice(0, 16)} to ${end?.slice(0, 16)} by ${range.stepSeconds} s of each ${range.period}`;
  };
  for (const [from, to, range] of [
    ['2026-01-07 10:00', '2026-01-07 10:30', '2026-01-07T10:00 to 2026-01-07T10:30 by 60 s of each minute'],
    ['2026-01-06 10:02', '2026-01-06 16:00', '2026-01-06T10:00 to 2026-01-06T16:00 by 300 s of each minute'],
    ['2026-01-01 10:00', '2026-01-01 10:30', '2026-01-01T10:00 to 2026-01-01T11:00 by 3600 s of each hour'],
    ['2025-12-29 00:00', '2026-01-05 00:00', '2025-12-29T00:00 to 2026-01-05T00:00 by 10800 s of each hour'],
    ['2025-10-01 12:00', '2025-11-01 00:00', '2025-10-01T00:00 to 2025-11-01T00:00 by 86400 s of each day'],
    ['', '2026-01-07 11:30', '2026-01-06T11:00 to 2026-01-07T12:00 by 3600 s of each hour'],
  ] as const)
    assert.equal(found(from, to), range);
  const atTheEnd = found('2026-01-05 12:04', '2026-01-05 18:00', NOON + 180);
  assert.equal(atTheEnd, '2026-01-05T12:00 to 2026-01-05T18:00 by 3600 s of each hour', 'the first is kept no longer');
  assert.match(found('1970-01-01 00:00', ''), / by 604800 s of each day$/);
  for (const [from, to] of [
    ['2026-01-07 11:00', '2026-01-07 11:00'],
    ['2026-02-30 00:00', ''],
  ] as const)
    assert.throws(() => rangeIn(new URLSearchParams({ since: from, until: to }), NOON), { code: 'validation_failed' });
});

const point = (at: number, counts: object) => ({ at, ...NO_USAGE, ...counts });
const link = (at: number) => `/at/${at}`;

test('the end of an axis divides into four round whole parts', () => {
  const range = rangeNamed('1h');
  const endAbove = (served: number) => {
    const { text } = chart({ range, points: [point(range.since, { served })], link });
    return /<div class="y"[^>]*><span>([^<]*)</.exec(text)?.[1];
  };
  const counts = ['4', '4', '8', '12', '80', '200', '2,000', '100,000'];
  assert.deepEqual([1, 4, 5, 9, 60, 101, 1_340, 99_000].map(endAbove), counts);
});

test('a drawing stacks its bars, and has a table of the same numbers', () => {
  const range = rangeNamed('24h');
  const [first = 0, , third = 0] = range.starts;
  const points = [point(first, { served: 4, refused: 4 }), point(third, { served: 2 })];
  const bars = chart({ range, points, limit: 8, link }).text;
  assert.match(bars, /<path class="served" d="M0.11 100V50h0.78V100zM2.11 100V75h0.78V100z"\/>/);
  assert.match(bars, /<path class="refused" d="M0.11 50V0h0.78V50z"\/>/);
  assert.match(bars, /<path class="limit" d="M0 0H24"\/>/);
  const isDrawn = (limit: number) => chart({ range, points, limit, link }).text.includes('<path class="limit"');
  assert.deepEqual([isDrawn(40), isDrawn(41)], [true, false], 'a far limit would flatten the bars');
  assert.match(bars, /<div class="y"[^>]*><span>8<\/span><span>6<\/span><span>4<\/span><span>2<\/span><span>0<\/span>/);
  assert.match(
    bars,
    /<div class="x"[^>]*><span><time datetime="2026-01-06T13:00:00Z" data-clock>13:00<\/time><\/span>/,
  );
  const cells = (...numbers: number[]) => numbers.map((number) => `<td class="number">${number}</td>`).join('');
  assert.ok(bars.indexOf(cells(2, 0, 0, 0)) < bars.indexOf(cells(4, 0, 4, 0)), 'newest first');
  assert.equal(bars.split(`href="/at/${third}"`).length - 1, 2, 'of the bar, and of its row');
  const empty = chart({ range, points: [], link }).text;
  assert.match(empty, /<div class="plot bars" id="requests" data-live data-chart><\/div>/);
  assert.match(empty, /<p class="none" id="requests-none" data-live>No requests in the last 24 hours\.<\/p>/);
  assert.match(empty, /<tr><td colspan="5">No requests in the last 24 hours\.<\/td><\/tr>/);
  const year = rangeNamed('1y');
  const days = chart({ range: year, points: [point(year.since, { served: 1 })], link }).text;
  assert.match(
    days,
    /<div class="x" aria-hidden="true"><span>2025-01-06<\/span><span>2025-05-09<\/span><span>2025-09-10<\/span><span>2026-01-12<\/span><\/div>\n<p class="zone">times in UTC</,
  );
  assert.match(days, /<th scope="col">Start of the week<\/th>.*<time datetime="2025-01-06" title="day in UTC">/s);
});
