import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMetrics } from './metrics.ts';

test('the processor time is that of the process so far, in seconds', async (t) => {
  t.mock.method(process, 'cpuUsage', () => ({ user: 2_000_000, system: 500_000 }));
  const { registry } = createMetrics();
  for (let time = 0; time < 2; time += 1) {
    const text = await registry.metrics();
    assert.equal(/^process_cpu_seconds_total (\S+)$/m.exec(text)?.[1], '2.5');
  }
});
