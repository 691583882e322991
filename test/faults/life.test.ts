import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { test } from 'node:test';
import { untilEqual, untilTrue } from '../kit/clock.ts';
import { send } from '../kit/faults/creating.ts';
import { issueKey } from '../kit/faults/kills.ts';
import { serveProcess } from '../kit/process.ts';
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
