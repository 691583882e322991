import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from './metrics.ts';

/** Names that the page of operations promises; alerts and dashboards of operators are built on them. */
const FIXED = [
  'categories',
  'categories_max',
  'list_bytes',
  'list_bytes_max',
  'database_bytes',
  'database_log_bytes',
  'disk_free_bytes',
  'keys_near_day_limit',
  'connections_refused_total',
  'request_duration_seconds',
];

test('the metrics that are promised have their names, and a help each', async () => {
  const text = await createMetrics().registry.metrics();
  for (const name of FIXED) assert.match(text, new RegExp(`^# HELP pet_catalog_${name} \\S`, 'm'));
});

test('the processor time is that of the process so far, in seconds', async (t) => {
  t.mock.method(process, 'cpuUsage', () => ({ user: 2_000_000, system: 500_000 }));
  const { registry } = createMetrics();
  for (let time = 0; time < 2; time += 1) {
    const text = await registry.metrics();
    const told = [...text.matchAll(/^process_cpu_(\w*)seconds_total (\S+)$/gm)].map(([, kind, value]) => [kind, value]);
    assert.deepEqual(told, [
      ['user_', '2'],
      ['system_', '0.5'],
      ['', '2.5'],
    ]);
  }
});
