import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import { json, testService } from '../kit/service.ts';

const SHOP = 'https://shop.example';

/** A request with an Origin, which fetch does not let a script set. */
function from(origin: string, url: string, headers: Record<string, string>, method = 'GET') {
  return new Promise<{ status: number; headers: Record<string, string | string[] | undefined> }>((resolve, reject) => {
    const sent = request(url, { method, agent: false, headers: { origin, ...headers } }, (response) => {
      response.resume().on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers }));
    });
    sent.on('error', reject).end();
  });
}

test('a preflight is answered free of charge, before any key is asked for', async () => {
  await using service = await testService({ CORS_ORIGINS: `${SHOP}, https://other.example` });
  const { secret } = await service.issue();
  const preflight = await from(
    SHOP,
    `${service.url}/categories`,
    { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization,content-type' },
    'OPTIONS',
  );
  assert.equal(preflight.status, 204);
  assert.equal(preflight.headers['access-control-allow-origin'], SHOP);
  assert.match(String(preflight.headers['access-control-allow-methods']), /POST/);
  assert.match(String(preflight.headers['access-control-allow-headers']), /Authorization.*Idempotency-Key/);
  const state = await json<{ minute: { remaining: number } }>(service.call(secret, '/rate_limit'));
  assert.equal(state.minute.remaining, 60);
});

test('every response to an allowed origin exposes the limit headers, failures included', async () => {
  await using service = await testService({ CORS_ORIGINS: SHOP });
  const { secret } = await service.issue();
  for (const [path, headers, status] of [
    ['/categories', { authorization: `Bearer ${secret}` }, 200],
    ['/categories', {}, 401],
    ['/nowhere', { authorization: `Bearer ${secret}` }, 404],
  ] as const) {
    const answer = await from(SHOP, service.url + path, headers);
    assert.equal(answer.status, status);
    assert.equal(answer.headers['access-control-allow-origin'], SHOP);
    assert.equal(answer.headers.vary, 'Origin');
    const exposed = String(answer.headers['access-control-expose-headers']);
    for (const name of ['X-RateLimit-Remaining', 'Retry-After', 'X-Request-Id', 'Link', 'Location', 'ETag', 'Sunset']) {
      assert.ok(exposed.includes(name), name);
    }
  }
});

test('other origins get no CORS headers; without CORS_ORIGINS no origin does', async () => {
  await using service = await testService({ CORS_ORIGINS: SHOP });
  const other = await from('https://evil.example', `${service.url}/categories`, {});
  assert.equal(other.headers['access-control-allow-origin'], undefined);
  await using closed = await testService();
  const { secret } = await closed.issue();
  const asked = { authorization: `Bearer ${secret}`, 'access-control-request-method': 'POST' };
  const ordinary = await from(SHOP, `${closed.url}/categories`, asked, 'OPTIONS');
  assert.deepEqual([ordinary.status, ordinary.headers['access-control-allow-origin']], [204, undefined]);
  assert.equal(ordinary.headers['x-ratelimit-remaining'], '59', 'without CORS it is an ordinary request');
});

test('* allows any origin', async () => {
  await using service = await testService({ CORS_ORIGINS: '*' });
  const answer = await from('https://anywhere.example', `${service.url}/categories`, {});
  assert.equal(answer.headers['access-control-allow-origin'], 'https://anywhere.example');
});
