import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Vitals } from '../../src/operator/overview/vitals.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';

test('rates are those of the last ten seconds, and durations those of the last minute', async () => {
  const metrics = createMetrics();
  let nowMs = 0;
  using vitals = new Vitals(metrics, () => nowMs);
  const answer = (times: number, status: number, seconds: number, route = '/v1/categories') => {
    for (let time = 0; time < times; time += 1) metrics.requests.observe({ method: 'GET', route, status }, seconds);
  };
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second += 5) {
      nowMs += 5_000;
      await vitals.sample();
    }
  };
  await pass(5);
  assert.deepEqual(await vitals.signs(), { requests: 0, refused: 0, failed: 0, p50: undefined, p99: undefined });

  answer(98, 200, 0.0007);
  answer(20, 429, 0.0007);
  answer(2, 503, 2);
  answer(500, 200, 0.0007, '/console/keys/{id}');
  answer(500, 200, 0.0007, '/metrics');
  await pass(10);
  const signs = await vitals.signs();
  assert.deepEqual([signs.requests, signs.refused, signs.failed], [12, 2, 0.2]);
  assert.ok(signs.p50 && signs.p50 > 0.0005 && signs.p50 < 0.001, `${signs.p50}`);
  assert.ok(signs.p99 && signs.p99 > 1 && signs.p99 < 2.5, `${signs.p99}`);

  await pass(15);
  const later = await vitals.signs();
  assert.deepEqual([later.requests, later.refused, later.failed], [0, 0, 0]);
  assert.deepEqual([later.p50, later.p99], [signs.p50, signs.p99]);
  await pass(60);
  assert.equal((await vitals.signs()).p50, undefined);
});
