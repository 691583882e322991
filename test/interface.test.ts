import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Category } from '../src/catalog/category.ts';
import { OPERATOR } from './kit/operator.ts';
import { assertError, json, testService } from './kit/service.ts';

const service = await testService();
after(() => service[Symbol.asyncDispose]());
const { secret } = await service.issue({ plan: 'business' });

/** Beside the sentences of `test/conformance/`: keys in all their forms, request ids, other addresses. */
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

  test('a page of categories without a limit has a thousand', async () => {
    const many = Array.from({ length: 1_002 }, () => ({ name: 'Dog' }));
    await service.storage.categories.import(many, OPERATOR);
    const page = await service.call(secret, '/categories?cursor=after_1');
    assert.match(page.headers.get('link') ?? '', /rel="next"/);
    assert.equal((await json<Category[]>(page)).length, 1_000);
  });
});
