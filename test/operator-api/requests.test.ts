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
  const answered = service.events.answered.find(({ requestId }) => requestId === 'three');
  assert.equal(durationMs, Number(answered?.durationMs.toFixed(3)));
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
  const unkept = 'This instance keeps no request with this id; look into the logs, or ask the other instances';
  const own = `/keys/${key.id}/requests`;
  for (const [path, status, message] of [
    ['/requests/without', 404, unkept],
    ['/requests/none', 404, unkept],
    ['/keys/key_none/requests', 404, 'There is no key key_none; the list of keys shows them all'],
    [`${own}?status=x`, 400, 'status is "x"; send a status such as 429, or 4xx'],
    [`${own}?status=4x`, 400, 'status is "4x"; send a status such as 429, or 4xx'],
    [`${own}?limit=401`, 400, 'limit is "401"; send a whole number from 1 to 400'],
    [`${own}?limit=0`, 400, 'limit is "0"; send a whole number from 1 to 400'],
  ] as const) {
    const answer = await client.send('GET', path);
    assert.deepEqual([answer.status, (await json<{ message: string }>(answer)).message], [status, message], path);
  }
});
