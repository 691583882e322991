import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { send } from '../kit/faults/creating.ts';
import { issueKey } from '../kit/faults/kills.ts';
import { serveProcess } from '../kit/process.ts';
import { json, temporaryFolder } from '../kit/service.ts';

test('a stopping service finishes what is in flight, says that it is not ready, and closes idle connections', async () => {
  using folder = temporaryFolder();
  const secret = await issueKey(folder.path);
  await using service = await serveProcess(['--log-level', 'info'], { cwd: folder.path });
  const operatorUrl = await operatorUrlOf(service.output);
  const idle = new Agent({ keepAlive: true });
  assert.equal((await send(idle, `${service.url}/categories`, secret)).status, 200);

  // A lock held from outside keeps the create in flight for as long as the test wants.
  using other = new DatabaseSync(join(folder.path, 'data', 'pet-catalog.db'));
  other.exec('BEGIN IMMEDIATE');
  const creating = send(new Agent(), `${service.url}/categories`, secret, { name: 'in flight' });
  await wait(100);
  const ended = service.end('SIGTERM');
  await wait(100);
  const ready = await fetch(`${operatorUrl}/readyz`);
  assert.equal(ready.status, 503);
  assert.equal((await json<{ code: string }>(ready)).code, 'unavailable');
  other.exec('ROLLBACK');
  const created = await creating;
  assert.deepEqual([created.status, created.headers.connection], [201, 'close']);
  const startedMs = performance.now();
  assert.equal(await ended, 0);
  assert.ok(performance.now() - startedMs < 5_000, 'idle connections do not hold it up for the whole grace');
  idle.destroy();
});

test('a second signal ends it at once', async () => {
  using folder = temporaryFolder();
  await using service = await serveProcess(['--shutdown-grace', '60s'], { cwd: folder.path });
  const { port } = new URL(service.url);
  const hanging = connect(Number(port), '127.0.0.1');
  hanging.on('error', () => {});
  hanging.write('POST /v1/categories HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n');
  await wait(200);
  const ended = service.end('SIGTERM');
  await wait(300);
  process.kill(service.pid, 'SIGTERM');
  assert.equal(await ended, 143);
  hanging.destroy();
});

test('the operator listener has health and metrics, and the API is not there', async () => {
  using folder = temporaryFolder();
  const secret = await issueKey(folder.path);
  await using service = await serveProcess([], { cwd: folder.path });
  const operatorUrl = await operatorUrlOf(service.output);
  await send(new Agent(), `${service.url}/categories`, secret);
  await send(new Agent(), `${service.url}/categories`, secret, { name: 'Dog' });
  await send(new Agent(), `${service.url}/categories`, 'petcat_live_wrong');
  assert.equal((await fetch(`${operatorUrl}/livez`)).status, 200);
  assert.equal((await fetch(`${operatorUrl}/readyz`)).status, 200);
  assert.equal((await fetch(`${operatorUrl}/v1/categories`)).status, 404);
  const metrics = await (await fetch(`${operatorUrl}/metrics`)).text();
  for (const line of [
    'pet_catalog_request_duration_seconds_count{method="GET",route="/v1/categories",status="200"} 1',
    'pet_catalog_request_duration_seconds_count{method="POST",route="/v1/categories",status="201"} 1',
    'pet_catalog_failed_authentications_total{reason="invalid_api_key"} 1',
    'pet_catalog_commit_batch_size_count 1',
    'pet_catalog_waiting_writes 0',
  ]) {
    assert.ok(metrics.includes(line), `${line} is not in\n${metrics}`);
  }
  assert.match(metrics, /pet_catalog_build_info\{version="[\d.]+"/);
  assert.match(metrics, /nodejs_eventloop_lag_seconds/);
  assert.ok(!metrics.includes(secret));
});

/** The address that the start line of the log tells; the log is written shortly after the service is ready. */
async function operatorUrlOf(output: { stderr: string }): Promise<string> {
  for (let tries = 0; tries < 100; tries += 1) {
    const url = /"operatorUrl":"([^"]+)"/.exec(output.stderr)?.[1];
    if (url) return url;
    await wait(50);
  }
  throw new Error(`no operator address in ${output.stderr}`);
}
