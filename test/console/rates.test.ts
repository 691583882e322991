import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Rates } from '../../src/operator/overview/rates.ts';
import { systemTime } from '../../src/stdx/time.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { API_SIDE, type Side } from '../../src/telemetry/request-metrics.ts';

test('rates are those of the last ten seconds, and durations those of the last minute', async () => {
  const metrics = createMetrics();
  let nowMs = 0;
  using rates = new Rates(metrics, { ...systemTime(), steadyMs: () => nowMs });
  const answer = (times: number, status: number, seconds: number, side: Side = API_SIDE) => {
    const labels = { ...side, method: 'GET', route: 'unmatched', status };
    for (let time = 0; time < times; time += 1) metrics.requests.observe(labels, seconds);
  };
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second += 5) {
      nowMs += 5_000;
      rates.sample();
    }
  };
  await pass(5);
  const none = { served: 0, clientErrors: 0, refused: 0, serverErrors: 0 };
  assert.deepEqual(rates.recent(), { ...none, p50: undefined, p99: undefined });

  answer(90, 200, 0.0007);
  answer(8, 404, 0.0007);
  answer(20, 429, 0.0007);
  answer(2, 503, 2);
  answer(500, 200, 0.0007, { listener: 'public', api: 'false' });
  answer(500, 200, 0.0007, { listener: 'operator', api: 'false' });
  await pass(10);
  const recent = rates.recent();
  // Of 120 the 60th is in the class up to 1 ms, with 117 others; the 118.8th in the class up to 2.5 s, with one other.
  const durations = { p50: 0.0005 + (0.0005 * 60) / 118, p99: 1 + (1.5 * 0.8) / 2 };
  const rounded = ({ p50 = 0, p99 = 0 }) => ({ p50: p50.toFixed(9), p99: p99.toFixed(9) });
  const { p50, p99, ...perSecond } = recent;
  assert.deepEqual(perSecond, { served: 9, clientErrors: 0.8, refused: 2, serverErrors: 0.2 });
  assert.deepEqual(rounded({ p50, p99 }), rounded(durations));

  await pass(50);
  assert.deepEqual(rates.recent(), { ...none, p50, p99 }, 'a minute after the last sample without them');
  await pass(5);
  assert.deepEqual(rates.recent(), { ...none, p50: undefined, p99: undefined });
});

test('in the first second the rates are those of a whole one', () => {
  const metrics = createMetrics();
  let nowMs = 0;
  using rates = new Rates(metrics, { ...systemTime(), steadyMs: () => nowMs });
  const labels = { ...API_SIDE, method: 'GET', route: 'unmatched', status: 200 };
  metrics.requests.observe(labels, 0.001);
  metrics.requests.observe(labels, 0.001);
  nowMs = 100;
  assert.equal(rates.recent().served, 2);
  nowMs = 2_000;
  assert.equal(rates.recent().served, 1);
});
