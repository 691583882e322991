import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testService } from '../test/kit/service.ts';
import { type AuditEntry, SERVICE_TARGET } from './catalog/audit.ts';
import type { Capacity } from './catalog/storage.ts';
import { OPERATIONS } from './http/operations.ts';
import { openLimiter } from './limits/open.ts';
import { startService } from './service.ts';
import { createMetrics } from './telemetry/metrics.ts';
import { NO_TRACING } from './telemetry/tracing.ts';

test('an address that is not of this machine is told by the name of its setting', async () => {
  await using service = await testService();
  const { storage, clock: time, events, config } = service;
  await using limiter = await openLimiter(config, { storage, time, events });
  const parts = { storage, limiter, time, events, metrics: createMetrics() };
  const [host, other] = ['203.0.113.9', '2001:db8::9'];
  for (const [wrong, setting, authority] of [
    [{ host }, 'HOST', `${host}:0`],
    [{ operatorHost: other }, 'OPERATOR_HOST', `[${other}]:0`],
  ] as const)
    await assert.rejects(startService({ ...config, ...wrong }, parts), ({ message }: Error) => {
      const why = message.match(/^Cannot listen on (.*): listen E[A-Z]+: .*; set (\w+) to an address of this machine$/);
      assert.deepEqual(why?.slice(1), [authority, setting], message);
      return true;
    });
});

test('a service starts with a sample for each operation, stores what waited, and names Redis if it counts there', async () => {
  await using alone = await testService();
  const { storage, clock: time, events, config } = alone;
  const ready = (operatorUrl: string) => fetch(`${operatorUrl}/readyz`).then((answer) => answer.text());
  assert.equal(await ready(alone.operatorUrl), '{"status":"ready","database":"ok"}');

  await using limiter = await openLimiter(config, { storage, time, events });
  const waiting = [{ at: 7, event: 'backup_made', members: { file: 'x' } } as const];
  const traced: string[] = [];
  const trace = <T>(name: string, object: T) => {
    traced.push(name);
    return object;
  };
  const metrics = createMetrics();
  let stops = 0;
  const serviceStopping = () => {
    stops += 1;
  };
  const changes: string[] = [];
  const operatorChanged = ({ action }: AuditEntry) => void changes.push(action);
  const capacityMeasured = ({ categories }: Capacity) => void measured.push(categories);
  const measured: number[] = [];
  const recorded = { ...events, capacityMeasured, serviceStopping, operatorChanged, waiting: [...waiting] };
  const parts = { storage, limiter, time, events: recorded, metrics };
  const together = { ...config, redis: { url: 'redis://h', instances: 1 } };
  await using service = await startService(together, { ...parts, tracing: { ...NO_TRACING, trace } });
  assert.deepEqual(measured, [0]);
  assert.match(await ready(service.operatorUrl), /^\{"status":"ready","database":"ok","redis":"\w+"\}$/);
  assert.deepEqual(traced, [...OPERATIONS.map(({ id }) => id), 'storage', 'authenticator', 'redis']);
  const [stored] = await storage.audit.list({ since: 0, limit: 1, target: SERVICE_TARGET });
  assert.deepEqual([stored?.at, stored?.action, stored?.after], [7, 'backup_made', { file: 'x' }]);
  const text = await (await fetch(`${service.operatorUrl}/metrics`)).text();
  for (const { method, path, success } of OPERATIONS) {
    const labels = `listener="public",api="true",method="${method}",route="/v1${path}",status="${success.status}"`;
    assert.ok(text.includes(`pet_catalog_request_duration_seconds_count{${labels}} 0`), labels);
  }
  await alone.issue();
  for (const _ of [1, 2]) await service[Symbol.asyncDispose]();
  assert.deepEqual([stops, changes], [1, ['key.create']]);
});
