import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Category } from '../src/catalog/category.ts';
import { OPERATOR } from './kit/operator.ts';
import { assertError, json, type TestService, testService } from './kit/service.ts';

/** Bodies and headers in all their forms, revoked and expired keys, the day, other plans, a restart. */
describe('the published interface', () => {
  let service: TestService;
  let secret: string;

  before(async () => {
    service = await testService();
    secret = (await service.issue({ plan: 'business' })).secret;
  });
  after(() => service[Symbol.asyncDispose]());

  const post = (body: unknown, key = secret) =>
    service.call(key, '/categories', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });

  test('Create a category, rule 2: a body that is no JSON, or no category, gets 400 with an Error body', async () => {
    for (const body of ['', '{', 'NaN', '{"name":"x",}']) await assertError(await post(body), 400, 'invalid_json');
    for (const body of ['{}', '[]', 'null', '{"name":" "}'])
      await assertError(await post(body), 400, 'validation_failed');
  });

  test('NewCategory: members that it does not name are ignored, a client’s id among them', async () => {
    const response = await post('{"name":"Dog","id":1,"__proto__":{"x":1},"constructor":2,"extra":[]}');
    assert.equal(response.status, 201);
    assert.deepEqual(Object.keys(await json<Category>(response)), ['id', 'name']);
  });

  test('Authentication: the scheme is Bearer, in any case, with one or more spaces; no other scheme works', async () => {
    const status = async (authorization: string) =>
      (await fetch(`${service.url}/categories`, { headers: { authorization } })).status;
    assert.equal(await status(`bEARER   ${secret}`), 200);
    for (const wrong of [
      secret,
      `Basic ${secret}`,
      'Bearer',
      `Bearer ${secret} x`,
      `Bearer ${secret}, Bearer ${secret}`,
    ]) {
      assert.equal(await status(wrong), 401);
    }
    assert.equal((await fetch(`${service.url}/categories?api_key=${secret}`)).status, 401);
  });

  test('Authentication: a 401 carries a bearer challenge and reveals nothing about the key', async () => {
    const staging = (await service.issue({ environment: 'staging' })).secret;
    const expired = (await service.issue({ expiresAt: service.clock.now().unix + 1 })).secret;
    service.clock.advance(1);
    const revoked = await service.issue();
    await service.storage.keys.revoke(revoked.key.id, 1, OPERATOR);
    const wrong = [
      'x',
      `${secret.slice(0, -1)}!`,
      'petcat_live_000000000000000000000000000000000000',
      staging,
      expired,
      revoked.secret,
    ];
    const answers = await Promise.all(
      wrong.map(async (key) => {
        const response = await service.call(key, '/categories');
        const headers = Object.fromEntries(response.headers);
        delete headers['x-request-id'];
        delete headers.date;
        return JSON.stringify([response.status, headers, await response.text()]);
      }),
    );
    assert.equal(new Set(answers).size, 1);
    const { headers } = await service.call('x', '/categories');
    assert.equal(headers.get('www-authenticate'), 'Bearer realm="pet-catalog", error="invalid_token"');
    const missing = await fetch(`${service.url}/categories`);
    assert.equal(missing.headers.get('www-authenticate'), 'Bearer realm="pet-catalog"');
  });

  test('Errors: every error body is exactly code, message and status, and status equals the HTTP status', async () => {
    await assertError(await service.call(secret, '/nowhere'), 404, 'not_found');
    await assertError(await service.call(secret, '/categories/999999'), 404, 'not_found');
    await assertError(await service.call(secret, '/categories/x'), 404, 'not_found');
    await assertError(await service.call(secret, '/categories/'), 404, 'not_found');
    await assertError(await service.call(secret, '/categories', { method: 'DELETE' }), 405, 'method_not_allowed');
    const typed = { method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{"name":"x"}' };
    await assertError(await service.call(secret, '/categories', typed), 415, 'unsupported_media_type');
    await assertError(await post(`{"name":"${'x'.repeat(300_000)}"}`), 413, 'payload_too_large');
  });

  test('Limits, rule 1: every API response carries the three headers', async () => {
    const key = (await service.issue()).secret;
    const responses = [
      await service.call(key, '/categories'),
      await service.call(key, '/categories', { method: 'HEAD' }),
      await service.call(key, '/categories', { method: 'OPTIONS' }),
      await service.call(key, '/nowhere'),
      await service.call(key, '/categories', { method: 'PUT' }),
      await post('{', key),
      await fetch(`${service.url}/categories`),
      await fetch(`${service.url}/nowhere`),
    ];
    assert.deepEqual(
      responses.map(({ status }) => status),
      [200, 200, 204, 404, 405, 400, 401, 401],
    );
    assert.equal(responses[2]?.headers.get('allow'), 'GET, HEAD, OPTIONS, POST');
    const remaining = responses.map((response) => limits(response).remaining);
    assert.deepEqual(remaining, [59, 58, 57, 56, 55, 54, 0, 0], 'authenticated answers are counted, 401s are not');
    const other = (await service.issue({ plan: 'enterprise', limits: { minute: 60, day: 2_000 } })).secret;
    const policies: (string | null)[] = [];
    for (const each of [key, other, key])
      policies.push((await service.call(each, '/categories')).headers.get('ratelimit-policy'));
    const policy = (day: number) => `"minute";q=60;w=60, "day";q=${day};w=86400`;
    assert.deepEqual(policies, [1_000, 2_000, 1_000].map(policy));
  });

  test('Limits: the day of a plan holds as its minute does, until 00:00 UTC', async () => {
    const key = (await service.issue({ plan: 'enterprise', limits: { minute: 5, day: 7 } })).secret;
    for (let i = 0; i < 5; i += 1) await service.call(key, '/categories');
    service.clock.advance(60);
    const [last, tie] = [await service.call(key, '/categories'), await service.call(key, '/categories')];
    assert.deepEqual([limits(last).limit, limits(last).remaining, limits(tie).remaining], [7, 1, 0]);
    const refused = await service.call(key, '/categories');
    const { reset } = limits(refused);
    assert.equal(reset % 86_400, 0);
    assert.equal(Number(refused.headers.get('retry-after')), reset - service.clock.now().unix);
    await assertError(refused, 429, 'daily_quota_exceeded');
  });

  test('X-Request-Id: 1 to 128 letters, digits, ".", "_" and "-" are kept, anything else is replaced', async () => {
    const idFor = async (sent: string) => {
      const { headers } = await service.call(secret, '/rate_limit', { headers: { 'x-request-id': sent } });
      return headers.get('x-request-id') ?? '';
    };
    for (const kept of ['a', 'A.b_c-9', 'x'.repeat(128)]) assert.equal(await idFor(kept), kept);
    for (const replaced of ['', 'x'.repeat(129), 'a b', 'a/b', '"a"', 'a, b', 'a\u00e9']) {
      const id = await idFor(replaced);
      assert.notEqual(id, replaced);
      assert.match(id, /^[A-Za-z0-9._-]{8,128}$/);
    }
  });

  test('Versioning: the address carries /v1, and what is outside is not the API', async () => {
    const outside = await fetch(service.url.replace('/v1', '/v2/categories'));
    assert.equal(outside.headers.get('x-ratelimit-limit'), null);
    await assertError(outside, 404, 'not_found');
    const withoutVersion = await fetch(service.url.replace('/v1', '/categories'));
    const { message } = await assertError(withoutVersion, 404, 'not_found');
    assert.match(message, /the paths of the API begin with \/v1$/, 'a base address without /v1');
    await assertError(await fetch(`${service.url}%2Fcategories`), 401, 'missing_api_key');
  });
});

test('200 simultaneous creates are all in the next list, and after a restart, and so are the counts', async () => {
  await using service = await testService();
  const { secret } = await service.issue({ plan: 'business' });
  const create = (name: string) =>
    json<Category>(
      service.call(secret, '/categories', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ name }),
      }),
    );
  const created = await Promise.all(Array.from({ length: 200 }, (_, index) => create(`c${index}`)));
  assert.equal(new Set(created.map(({ id }) => id)).size, 200);
  const before = await json<Category[]>(service.call(secret, '/categories'));
  assert.deepEqual(
    new Set(before.map((each) => JSON.stringify(each))),
    new Set(created.map((each) => JSON.stringify(each))),
  );
  const rest = await service.call(secret, '/categories?cursor=after_1');
  assert.equal(rest.headers.get('link'), null, 'a page without a limit has a thousand');
  assert.deepEqual(await json<Category[]>(rest), before.slice(1));
  await service.restart();
  const response = await service.call(secret, '/categories');
  assert.equal(limits(response).remaining, 1_000 - 203);
  assert.deepEqual(await json<Category[]>(response), before);
});

function limits(response: Response): { limit: number; remaining: number; reset: number } {
  const read = (name: string) => {
    const text = response.headers.get(`x-ratelimit-${name}`);
    assert.match(text ?? '', /^\d+$/, `X-RateLimit-${name} is missing`);
    return Number(text);
  };
  return { limit: read('limit'), remaining: read('remaining'), reset: read('reset') };
}
