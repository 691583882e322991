import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from './metrics.ts';
import { API_SIDE, DURATION_BOUNDS, durationWithin, methodLabel, RequestDurations } from './request-metrics.ts';

test('methods that no operation has share one series, however many callers invent', () => {
  const durations = new RequestDurations();
  for (const method of ['GET', 'PURGE', 'MKCOL', 'BREW', 'PURGE', '']) {
    durations.observe({ ...API_SIDE, method, route: 'unmatched', status: 404 }, 0.001);
  }
  const counted = [...durations.series()].map(({ labels, counts }) => [
    labels.method,
    counts.reduce((sum, count) => sum + count, 0),
  ]);
  assert.deepEqual(counted, [
    ['GET', 1],
    ['other', 4],
    ['', 1],
  ]);
  const own = ['', 'GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
  assert.deepEqual(own.map(methodLabel), own);
});

test('a route has a series for each listener, and for paths under /v1', () => {
  const durations = new RequestDurations();
  const sides = [
    API_SIDE,
    { listener: 'public', api: 'false' },
    { listener: 'operator', api: 'false' },
    { listener: 'operator', api: 'true' },
  ] as const;
  for (const side of [...sides, ...sides]) {
    durations.observe({ ...side, method: 'GET', route: 'unmatched', status: 404 }, 0.001);
  }
  assert.deepEqual(
    [...durations.series()].map(({ labels: { listener, api }, counts }) => [{ listener, api }, counts[1]]),
    sides.map((side) => [side, 2]),
  );
});

test('a duration is in the class whose bound it does not exceed, and classes are told cumulatively', async () => {
  const { requests, registry } = createMetrics();
  const labels = { ...API_SIDE, method: 'GET', route: '/v1/pets', status: 200 };
  for (const seconds of [0.0005, 0.0006, 0.001, 10, 10.5]) requests.observe(labels, seconds);
  const text = await registry.metrics();
  const name = 'pet_catalog_request_duration_seconds';
  const series = 'listener="public",api="true",method="GET",route="/v1/pets",status="200"';
  const samples = [...text.matchAll(new RegExp(`^${name}(_\\w+)\\{(?:le="([^"]*)",)?${series}\\} (\\S+)$`, 'gm'))];
  const bounds = ['0.0025', '0.005', '0.01', '0.025', '0.05', '0.1', '0.25', '0.5', '1', '2.5'];
  assert.deepEqual(
    samples.map(([, suffix, le, value]) => [suffix, le, Number(value).toFixed(4)]),
    [
      ['_bucket', '0.0005', '1.0000'],
      ['_bucket', '0.001', '3.0000'],
      ...bounds.map((bound) => ['_bucket', bound, '3.0000']),
      ['_bucket', '10', '4.0000'],
      ['_bucket', '+Inf', '5.0000'],
      ['_sum', undefined, '20.5021'],
      ['_count', undefined, '5.0000'],
    ],
  );
});

test('every series of a closed set is told from the start, at 0', async () => {
  const text = await createMetrics().registry.metrics();
  const series = (name: string) =>
    [...text.matchAll(new RegExp(`^pet_catalog_${name}\\{(.*)\\} 0$`, 'gm'))].map(([, labels = '']) =>
      [...labels.matchAll(/"([^"]*)"/g)].map(([, value]) => value).join(' '),
    );
  const plans = ['free', 'pro', 'business', 'enterprise'];
  const reasons = ['rate_limit_exceeded', 'daily_quota_exceeded', 'key_banned'];
  assert.deepEqual(series('bans_total'), plans);
  assert.deepEqual(
    series('refusals_total'),
    plans.flatMap((plan) => reasons.map((reason) => `public true ${plan} ${reason}`)),
  );
  assert.deepEqual(series('failed_authentications_total'), [
    'public true missing_api_key',
    'public true invalid_api_key',
    'operator false missing_token',
    'operator false invalid_token',
  ]);
  assert.deepEqual(series('storage_failing'), ['read', 'write']);
});

test('durations are counted in classes, and a share of them is found within its class', () => {
  assert.deepEqual(DURATION_BOUNDS, [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]);
  const classes = (counts: Readonly<Record<number, number>>) =>
    Array.from({ length: DURATION_BOUNDS.length + 1 }, (_, index) => counts[index] ?? 0);
  for (const [durations, share, seconds] of [
    [{}, 0.5, undefined],
    [{ 0: 4 }, 0.5, 0.00025],
    [{ 9: 1, 10: 3 }, 0.25, 0.5],
    [{ 9: 1, 10: 3 }, 0.375, 0.5 + 0.5 / 6],
    [{ 9: 1, 10: 3 }, 1, 1],
    [{ 12: 1, 13: 3 }, 0.5, 10],
  ] as const)
    assert.equal(durationWithin(classes(durations), share), seconds, JSON.stringify(durations));
});
