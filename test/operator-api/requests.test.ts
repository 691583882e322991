import assert from 'node:assert/strict';
import { test } from 'node:test';
import { storeBan } from '../kit/bans.ts';
import { apiClient } from '../kit/operator.ts';
import { json, testService } from '../kit/service.ts';

/** Recent requests through the operator API. */

interface KeyRequest {
  readonly requestId: string;
  readonly keyId: string;
  readonly status: number;
}

test('every answer to a request with a key is found by its id and by its key, a refusal with its reason', async () => {
  await using service = await testService();
  const client = await apiClient(service, 'viewer');
  const limits = { minute: 2, day: 5 };
  const { key, secret } = await service.issue({ plan: 'enterprise', limits });
  const [other, banned] = [await service.issue(), await service.issue()];
  const from = service.clock.now().unix;
  const ban = { keyId: banned.key.id, startedAt: from, endsAt: from + 60, level: 1, reason: 'hasty' };
  await storeBan(service.storage, ban);
  await service.restart();
  const call = (path: string, id: string, by = secret) => service.call(by, path, { headers: { 'x-request-id': id } });
  const hidden = 'petcat_live_in_the_address';
  await call(`/categories?cursor=${hidden}`, 'one');
  await call('/nothing', 'two');
  await call('/categories', 'three');
  await call('/categories', 'of.another', other.secret);
  await fetch(`${service.url}/categories`, { headers: { 'x-request-id': 'without', connection: 'close' } });
  const at = new Date(service.clock.now().unix * 1_000).toISOString().replace('.000', '');
  const { durationMs, ...refused } = await json<{ durationMs: number }>(client.send('GET', '/requests/three'));
  assert.ok(durationMs >= 0);
  assert.deepEqual(refused, {
    requestId: 'three',
    at,
    keyId: key.id,
    method: 'GET',
    route: '/v1/categories',
    status: 429,
    code: 'rate_limit_exceeded',
    minuteRemaining: 0,
    dayRemaining: 3,
    reason: 'the limit of 2 requests per minute was reached',
  });
  const outcome = async (id: string) => {
    const found = await json<Record<string, unknown>>(client.send('GET', `/requests/${id}`));
    return ['status', 'code', 'minuteRemaining', 'dayRemaining', 'reason'].map((name) => found[name]);
  };
  assert.deepEqual(await outcome('of.another'), [200, null, 59, 999, null]);
  await call('/categories', 'banned', banned.secret);
  assert.deepEqual(await outcome('banned'), [429, 'key_banned', 0, 1_000, 'hasty']);
  const list = async (query = '') => {
    const found = await json<KeyRequest[]>(client.send('GET', `/keys/${key.id}/requests${query}`));
    return found.map(({ requestId, status }) => [requestId, status]);
  };
  assert.deepEqual(await list(), [
    ['three', 429],
    ['two', 404],
    ['one', 400],
  ]);
  assert.deepEqual(await list('?status=4xx&limit=1'), [['three', 429]]);
  assert.deepEqual(await list('?status=400'), [['one', 400]]);
  await call('/categories', 'one');
  const newest = await json<KeyRequest>(client.send('GET', '/requests/one'));
  assert.equal(newest.status, 429, 'the newest of two with the same id');
  const text = await (await client.send('GET', `/keys/${key.id}/requests`)).text();
  assert.ok(!text.includes(hidden) && !text.includes(secret));
  for (const path of ['/requests/without', '/requests/none', '/keys/key_none/requests']) {
    assert.equal((await client.send('GET', path)).status, 404, path);
  }
  for (const query of ['?status=x', '?status=4x', '?limit=401', '?limit=0']) {
    assert.equal((await client.send('GET', `/keys/${key.id}/requests${query}`)).status, 400, query);
  }
});
