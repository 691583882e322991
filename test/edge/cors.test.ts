import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import { OPERATIONS } from '../../src/http/operations.ts';
import { readContract } from '../kit/contract.ts';
import { json, testService } from '../kit/service.ts';

const SHOP = 'https://shop.example';
/** What scripts may read of an answer beyond the headers that every browser shows them. */
const EXPOSED = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit-Policy',
  'RateLimit',
  'Retry-After',
  'X-Request-Id',
  'Link',
  'Location',
  'ETag',
  'Deprecation',
  'Sunset',
  'Idempotency-Replayed',
];

/** A request with an Origin, which fetch does not let a script set, or without one. */
function from(origin: string | undefined, url: string, headers: Record<string, string>, method = 'GET') {
  return new Promise<{ status: number; headers: Record<string, string | string[] | undefined> }>((resolve, reject) => {
    const sent = request(
      url,
      { method, agent: false, headers: { ...(origin && { origin }), ...headers } },
      (response) => {
        response.resume().on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers }));
      },
    );
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
  const methods = new Set([...OPERATIONS.map(({ method }) => method), 'HEAD', 'OPTIONS']);
  assert.deepEqual(new Set(String(preflight.headers['access-control-allow-methods']).split(', ')), methods);
  assert.equal(preflight.headers['access-control-max-age'], '86400');
  const allowed = String(preflight.headers['access-control-allow-headers']).split(', ');
  const { parameters } = readContract<{ components: { parameters: Record<string, { in: string; name: string }> } }>()
    .components;
  const inContract = Object.values(parameters).flatMap((each) => (each.in === 'header' ? [each.name] : []));
  assert.deepEqual(inContract.sort(), ['Idempotency-Key', 'If-Match', 'If-None-Match']);
  // Firefox asks for `User-Agent`, which our client sets; Chromium ignores it.
  for (const name of [...inContract, 'Authorization', 'Content-Type', 'User-Agent', 'X-Request-Id', 'traceparent']) {
    assert.ok(allowed.includes(name), name);
  }
  const guide = await (await fetch(new URL('/docs/browsers.md', service.url))).text();
  for (const name of allowed) if (name !== 'User-Agent') assert.ok(guide.includes(`\`${name}\``), `the guide: ${name}`);
  const state = await json<{ minute: { remaining: number } }>(service.call(secret, '/rate_limit'));
  assert.equal(state.minute.remaining, 60);
});

test('only OPTIONS with an origin and a method to ask for is a preflight: anything else needs a key, and counts', async () => {
  await using service = await testService({ CORS_ORIGINS: SHOP });
  const { secret } = await service.issue();
  const wish = { 'access-control-request-method': 'POST' };
  let remaining = 60;
  for (const [origin, headers, method] of [
    [SHOP, {}, 'OPTIONS'],
    [undefined, wish, 'OPTIONS'],
    [SHOP, wish, 'GET'],
    [SHOP, wish, 'HEAD'],
  ] as const) {
    const url = `${service.url}/categories`;
    assert.equal((await from(origin, url, headers, method)).status, 401);
    const answer = await from(origin, url, { ...headers, authorization: `Bearer ${secret}` }, method);
    remaining -= 1;
    assert.deepEqual(
      [answer.status, answer.headers['x-ratelimit-remaining']],
      [method === 'OPTIONS' ? 204 : 200, `${remaining}`],
    );
  }
});

test('every response to an allowed origin exposes the limit headers, failures included', async () => {
  await using service = await testService({ CORS_ORIGINS: SHOP });
  const { secret } = await service.issue();
  for (const [path, headers, status] of [
    ['/categories', { authorization: `Bearer ${secret}` }, 200],
    ['/categories', {}, 401],
    ['/nowhere', { authorization: `Bearer ${secret}` }, 404],
    // Deprecated, which adds headers as well.
    ['/pets/7', { authorization: `Bearer ${secret}` }, 404],
  ] as const) {
    const answer = await from(SHOP, service.url + path, headers);
    assert.equal(answer.status, status);
    assert.equal(answer.headers['access-control-allow-origin'], SHOP);
    assert.equal(answer.headers.vary, 'Origin');
    const exposed = String(answer.headers['access-control-expose-headers']).split(', ');
    assert.deepEqual(new Set(exposed), new Set(EXPOSED));
  }
});

test('other origins get no CORS headers; without CORS_ORIGINS no origin does', async () => {
  await using service = await testService({ CORS_ORIGINS: SHOP });
  for (const origin of ['https://evil.example', `${SHOP}.evil.example`, 'null']) {
    const preflight = { 'access-control-request-method': 'POST' };
    for (const [method, headers] of [
      ['GET', {}],
      ['OPTIONS', preflight],
    ] as const) {
      const other = await from(origin, `${service.url}/categories`, headers, method);
      assert.deepEqual(
        Object.keys(other.headers).filter((name) => name.startsWith('access-control-')),
        [],
      );
      assert.equal(other.headers.vary, 'Origin', 'a cache must not give this answer to an allowed origin');
      assert.equal(other.status, method === 'GET' ? 401 : 204);
    }
  }
  await using closed = await testService();
  const { secret } = await closed.issue();
  const asked = { authorization: `Bearer ${secret}`, 'access-control-request-method': 'POST' };
  const ordinary = await from(SHOP, `${closed.url}/categories`, asked, 'OPTIONS');
  assert.deepEqual([ordinary.status, ordinary.headers['access-control-allow-origin']], [204, undefined]);
  assert.equal(ordinary.headers['x-ratelimit-remaining'], '59', 'without CORS it is an ordinary request');
  assert.equal(ordinary.headers.vary, undefined);
});

test('* allows any origin of at most 255 characters, echoes none, and answers requests without one', async () => {
  await using service = await testService({ CORS_ORIGINS: '*' });
  const plain = await from(undefined, `${service.url}/categories`, {});
  assert.deepEqual([plain.status, plain.headers['access-control-allow-origin']], [401, undefined]);
  assert.equal(plain.headers.vary, 'Origin');
  const longest = `https://${'x'.repeat(247)}`;
  for (const [origin, allowed] of [
    ['https://anywhere.example', '*'],
    [longest, '*'],
    [`${longest}x`, undefined],
  ] as const) {
    const answer = await from(origin, `${service.url}/categories`, {});
    assert.equal(answer.headers['access-control-allow-origin'], allowed, origin);
  }
});
