import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Category } from '../src/catalog/category.ts';
import { OPERATOR } from './kit/operator.ts';
import { assertError, json, testService } from './kit/service.ts';

const service = await testService();
after(() => service[Symbol.asyncDispose]());
const { secret } = await service.issue({ plan: 'business' });

/** Beside the sentences of `test/conformance/`: keys in all their forms, the day, request ids, a restart. */
describe('the published interface', () => {
  test('Authentication: a 401 reveals nothing about the key', async () => {
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
