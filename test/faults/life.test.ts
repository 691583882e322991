import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { test } from 'node:test';
import { untilEqual, untilTrue } from '../kit/clock.ts';
import { send } from '../kit/faults/creating.ts';
import { issueKey } from '../kit/faults/kills.ts';
import { serveHere } from '../kit/faults/serve-here.ts';
import { run, serveProcess } from '../kit/process.ts';
import { json, temporaryFolder } from '../kit/service.ts';

test('a stopping service finishes what is in flight, says that it is not ready, and closes idle connections', async () => {
  using folder = temporaryFolder();
  const secret = await issueKey(folder.path);
  await using service = await serveProcess(['--log-level', 'info'], { cwd: folder.path });
  const operatorUrl = await service.operatorUrl();
  const idle = connect(Number(new URL(service.url).port), '127.0.0.1');
  idle.write(`GET /v1/categories HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\n\r\n`);
  assert.match(`${await once(idle, 'data')}`, /^HTTP\/1\.1 200 /);

  // Its body keeps the create in flight for as long as the test wants.
  const creating = request(`${service.url}/categories`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', expect: '100-continue' },
  });
  const answered = once(creating, 'response');
  creating.flushHeaders();
  await once(creating, 'continue');
  const idleClosed = once(idle, 'close');
  const ended = service.end('SIGTERM');
  await untilEqual(async () => (await fetch(`${operatorUrl}/readyz`)).status, 503);
  const ready = await fetch(`${operatorUrl}/readyz`);
  assert.equal((await json<{ code: string }>(ready)).code, 'unavailable');
  // Beside the request in flight: an idle connection holds nothing up.
  await idleClosed;
  creating.end('{"name":"in flight"}');
  const [created] = (await answered) as [IncomingMessage];
  assert.deepEqual([created.statusCode, created.headers.connection], [201, 'close']);
  assert.equal(await ended, 0);
});

test('a SIGHUP changes nothing, and a second SIGTERM ends the service at once', async () => {
  using folder = temporaryFolder();
  const secret = await issueKey(folder.path);
  await using service = await serveProcess(['--shutdown-grace', '600s'], { cwd: folder.path });
  const { port } = new URL(service.url);
  const hanging = connect(Number(port), '127.0.0.1');
  hanging.on('error', () => {});
  const head = ['POST /v1/categories HTTP/1.1', 'Host: x', 'Content-Length: 10', 'Expect: 100-continue'];
  hanging.write(`${[...head, `Authorization: Bearer ${secret}`].join('\r\n')}\r\n\r\n`);
  assert.match(`${await once(hanging, 'data')}`, /^HTTP\/1\.1 100 /);
  process.kill(service.pid, 'SIGHUP');
  assert.equal((await send(new Agent(), `${service.url}/categories`, secret)).status, 200);
  const ended = service.end('SIGTERM');
  await untilTrue(() => service.output.stderr.includes('"event":"stopping"'), 'the stop');
  process.kill(service.pid, 'SIGTERM');
  assert.equal(await ended, 143);
  hanging.destroy();
});

test('serve refuses the settings of TLS that it had, and names the proxy and its page', async () => {
  using folder = temporaryFolder();
  const env = { TLS_CERT_FILE: 'a', TLS_KEY_FILE: 'b' };
  const { code, stdout, stderr } = await run(['serve'], { cwd: folder.path, env });
  assert.deepEqual([code, stdout], [2, '']);
  assert.match(
    stderr,
    /^pet-catalog: TLS_CERT_FILE, TLS_KEY_FILE: the service no longer ends TLS; .*Caddy or nginx.*docs\/operations\.md.*\n$/,
  );
});

test('the operator listener has health and metrics, and the API is not there', async () => {
  using folder = temporaryFolder();
  const secret = await issueKey(folder.path);
  await using service = await serveHere({ DATABASE_URL: `sqlite:${folder.path}/data/pet-catalog.db` });
  const { operatorUrl } = service;
  await send(new Agent(), `${service.url}/categories`, secret);
  await send(new Agent(), `${service.url}/categories`, secret, { name: 'Dog' });
  await send(new Agent(), `${service.url}/categories`, 'petcat_live_wrong');
  await send(new Agent(), `${service.url}/nothing`, secret);
  await send(new Agent(), new URL('/docs', service.url).href, secret);
  assert.equal((await fetch(`${operatorUrl}/livez`)).status, 200);
  assert.equal((await fetch(`${operatorUrl}/readyz`)).status, 200);
  assert.equal((await fetch(`${operatorUrl}/v1/categories`)).status, 404);
  const metrics = await (await fetch(`${operatorUrl}/metrics`)).text();
  for (const line of [
    'pet_catalog_request_duration_seconds_count{listener="public",api="true",method="GET",route="/v1/categories",status="200"} 1',
    'pet_catalog_request_duration_seconds_count{listener="public",api="true",method="POST",route="/v1/categories",status="201"} 1',
    'pet_catalog_request_duration_seconds_count{listener="public",api="true",method="GET",route="unmatched",status="404"} 1',
    'pet_catalog_request_duration_seconds_count{listener="public",api="false",method="GET",route="/docs",status="200"} 1',
    'pet_catalog_request_duration_seconds_count{listener="operator",api="false",method="GET",route="unmatched",status="404"} 1',
    'pet_catalog_failed_authentications_total{listener="public",api="true",reason="invalid_api_key"} 1',
    'pet_catalog_commit_batch_size_count 1',
    'pet_catalog_waiting_writes 0',
  ]) {
    assert.ok(metrics.includes(line), `${line} is not in\n${metrics}`);
  }
  assert.match(metrics, /pet_catalog_build_info\{version="[\d.]+"/);
  assert.match(metrics, /nodejs_eventloop_lag_seconds/);
  assert.ok(!metrics.includes(secret));
});
