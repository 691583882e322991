import assert from 'node:assert/strict';
import { test } from 'node:test';
import { API_SIDE, RequestDurations } from './request-metrics.ts';

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
});
