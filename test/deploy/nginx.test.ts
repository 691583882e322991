import assert from 'node:assert/strict';
import { Agent } from 'node:https';
import { after, before, suite, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { gunzipSync } from 'node:zlib';
import { manualClock, untilTrue } from '../kit/clock.ts';
import { startNginx, type TestNginx } from '../kit/deploy/nginx.ts';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { type TestService, testService } from '../kit/service.ts';
import { type Answer, call, type Sent } from './call.ts';

const skip = missingPrograms('nginx', 'openssl');

suite('the nginx of deploy/nginx', { skip }, () => {
  let service: TestService;
  let nginx: TestNginx;
  let agent: Agent;

  before(async () => {
    service = await testService({}, manualClock());
    nginx = await startNginx(new URL(service.url).port);
    agent = new Agent({ keepAlive: true, maxSockets: 1, ca: nginx.ca });
  });
  after(async () => {
    agent?.destroy();
    await nginx?.[Symbol.asyncDispose]();
    await service?.[Symbol.asyncDispose]();
  });

  const proxied = (path: string, sent: Sent = {}) => call(`https://127.0.0.1:${nginx.port}`, path, { ...sent, agent });
  const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });

  test('pages come compressed, with the ETag of the service', async () => {
    const headers = { 'accept-encoding': 'gzip' };
    const own = await fetch(service.url.replace('/v1', '/docs/limits'));
    const page = await proxied('/docs/limits', { headers });
    assert.deepEqual([page.headers['content-encoding'], page.headers.etag], ['gzip', own.headers.get('etag')]);
    assert.match(gunzipSync(page.body).toString(), /^<!doctype html>/i);
  });

  test('the id of a request passes both ways, and keys in a query do not get into the log', async () => {
    const { secret } = await service.issue();
    const { headers } = await proxied(`/v1/categories?key=${secret}`, {
      headers: { ...bearer(secret), 'x-request-id': 'an-id.of_mine', 'x-forwarded-for': '203.0.113.9' },
    });
    assert.equal(headers['x-request-id'], 'an-id.of_mine');
    assert.equal(service.events.answered.at(-1)?.request?.headers['x-forwarded-for'], '127.0.0.1', 'none is forged');
    // nginx writes the line after the answer.
    const line = /^127\.0\.0\.1 \[\d{4}-\d\d-\d\dT\S+\] "GET \/v1\/categories" 400 \d+ \d+\.\d{3} id=an-id\.of_mine$/m;
    await untilTrue(() => line.test(nginx.log()), 'the line of the request');
    assert.doesNotMatch(nginx.log(), new RegExp(secret));
  });

  test('beyond 30 requests of one address at once the next is refused, and its connection closed', async () => {
    const { secret } = await service.issue({ plan: 'business' });
    const unfinished = `POST /v1/categories HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\nContent-Length: 9\r\n\r\n`;
    const sockets: TLSSocket[] = [];
    const hold = () => {
      const socket = connect({ host: '127.0.0.1', port: nginx.port, ca: nginx.ca }).on('error', () => {});
      socket.write(unfinished);
      sockets.push(socket);
    };
    for (let number = 0; number < 30; number += 1) hold();
    let refused: Answer | undefined;
    await untilTrue(async () => {
      // One more: a look may take the place of one, and on a busy machine nginx may not reach the service for some.
      hold();
      refused = await proxied('/readyz');
      return refused.status !== 200;
    }, 'a refusal');
    assertOwnError(refused as Answer, 503, 'unavailable');
    // Kept open, pipelined requests would be refused in one turn of nginx, before all others.
    assert.equal(refused?.headers.connection, 'close');
    for (const socket of sockets) socket.destroy();
    await untilTrue(async () => (await proxied('/readyz')).status === 200, 'an answer');
  });

  test('errors of nginx itself have the form of the service, without limit headers', async () => {
    const { secret } = await service.issue();
    const large = await proxied('/v1/categories', {
      method: 'POST',
      headers: { ...bearer(secret), 'content-length': '17000000' },
    });
    assertOwnError(large, 413, 'payload_too_large');
    const address = await proxied(`/v1/categories?${'x'.repeat(40_000)}`);
    assertOwnError(address, 414, 'uri_too_long');
    const head = await proxied('/v1/categories', { headers: { 'x-long': 'x'.repeat(40_000) } });
    assertOwnError(head, 431, 'headers_too_large');

    assert.equal((await proxied('/pet-catalog-error')).status, 404, 'no page of its own');

    const socket = connect({ host: '127.0.0.1', port: nginx.port, ca: nginx.ca });
    socket.end('this is not HTTP\r\n\r\n');
    let text = '';
    for await (const chunk of socket.setEncoding('utf8')) text += chunk;
    assert.match(text, /^HTTP\/1\.1 400 [\s\S]*\{"code":"malformed_request"/);
    assert.doesNotMatch(text, /retry-after/i);

    await service[Symbol.asyncDispose]();
    const gone = await proxied('/v1/categories', { headers: bearer(secret) });
    assertOwnError(gone, 503, 'unavailable');
    assert.equal(gone.headers['retry-after'], '1');
    service = await testService();
  });
});

function assertOwnError({ status, headers, body }: Answer, wanted: number, code: string): void {
  const error = JSON.parse(body.toString());
  assert.deepEqual(
    [status, error.status, error.code, Object.keys(error)],
    [wanted, wanted, code, ['code', 'message', 'status']],
  );
  assert.equal(headers['content-type'], 'application/json');
  assert.deepEqual([headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']], ['0', '0']);
  assert.deepEqual([headers['cache-control'], headers['x-content-type-options']], ['no-store', 'nosniff']);
  assert.match(headers['x-request-id'] as string, /^[0-9a-f]{32}$/);
  assert.equal(headers.server, 'nginx');
  const date = Date.parse(headers.date ?? '') / 1_000;
  assert.ok(Math.abs(Number(headers['x-ratelimit-reset']) - date) <= 1, 'the clock of nginx');
}
