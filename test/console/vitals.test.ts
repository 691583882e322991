import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Vitals } from '../../src/operator/overview/vitals.ts';
import { systemTime } from '../../src/stdx/time.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { API_SIDE, type Side } from '../../src/telemetry/request-metrics.ts';

test('rates are those of the last ten seconds, and durations those of the last minute', async () => {
  const metrics = createMetrics();
  let nowMs = 0;
  using vitals = new Vitals(metrics, { ...systemTime(), steadyMs: () => nowMs });
  const answer = (times: number, status: number, seconds: number, side: Side = API_SIDE) => {
    const labels = { ...side, method: 'GET', route: 'unmatched', status };
    for (let time = 0; time < times; time += 1) metrics.requests.observe(labels, seconds);
  };
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second += 5) {
      nowMs += 5_000;
      vitals.sample();
    }
  };
  await pass(5);
  const none = { served: 0, clientErrors: 0, refused: 0, serverErrors: 0 };
  assert.deepEqual(vitals.signs(), { ...none, p50: undefined, p99: undefined });

  answer(90, 200, 0.0007);
  answer(8, 404, 0.0007);
  answer(20, 429, 0.0007);
  answer(2, 503, 2);
  answer(500, 200, 0.0007, { listener: 'public', api: 'false' });
  answer(500, 200, 0.0007, { listener: 'operator', api: 'false' });
  await pass(10);
  const signs = vitals.signs();
  const { p50: _p50, p99: _p99, ...rates } = signs;
  assert.deepEqual(rates, { served: 9, clientErrors: 0.8, refused: 2, serverErrors: 0.2 });
  assert.ok(signs.p50 && signs.p50 > 0.0005 && signs.p50 < 0.001, `${signs.p50}`);
  assert.ok(signs.p99 && signs.p99 > 1 && signs.p99 < 2.5, `${signs.p99}`);

  await pass(15);
  const later = vitals.signs();
  assert.deepEqual({ ...later, ...none }, later);
  assert.deepEqual([later.p50, later.p99], [signs.p50, signs.p99]);
  await pass(60);
  assert.equal(vitals.signs().p50, undefined);
});
