import assert from 'node:assert/strict';
import { test } from 'node:test';
import { storeBan } from '../kit/bans.ts';
import { untilEqual } from '../kit/clock.ts';
import { signIn } from '../kit/console/visitor.ts';
import { apiClient, OPERATOR } from '../kit/operator.ts';
import { json, testService } from '../kit/service.ts';

test('a paused key is answered as an unknown one within a second, “why” says so, and works again when it is resumed', async () => {
  await using service = await testService();
  const { key, secret } = await service.issue({ name: 'shop' });
  const client = await apiClient(service, 'keys');
  const status = async (each = secret) => (await service.call(each, '/rate_limit')).status;
  assert.equal(await status(), 200);
  assert.equal((await client.send('POST', `/keys/${key.id}/pause`)).status, 200);
  await untilEqual(status, 401);
  const unknown = await service.call(`${secret}x`, '/rate_limit');
  assert.deepEqual(await json(service.call(secret, '/rate_limit')), await json(unknown));
  const operator = await signIn(service);
  assert.match(await operator.page(`/requests/why?q=${key.id}`), /Paused at <time.*every request since then is a 401/);
  assert.match(await operator.page('/keys?state=paused'), /shop.*<span class="badge warning">paused</s);
  assert.equal((await client.send('POST', `/keys/${key.id}/resume`)).status, 200);
  await untilEqual(status, 200);
  assert.match(await operator.page('/keys?state=active'), /shop/);
});

test('a rotation, a ban and an expiry go on while a key is paused', async () => {
  await using service = await testService();
  const now = service.clock.now().unix;
  const { key, secret: old } = await service.issue({ expiresAt: now + 600 });
  const { keys } = service.storage;
  const client = await apiClient(service, 'keys');
  await client.send('POST', `/keys/${key.id}/pause`);
  const { key: secret = '' } = await json<{ key?: string }>(
    client.send('POST', `/keys/${key.id}/rotate`, { grace: '60s' }),
  );
  const status = async (each: string) => (await service.call(each, '/categories')).status;
  assert.deepEqual([await status(old), await status(secret)], [401, 401], 'a new secret does not resume it');
  await storeBan(service.storage, { keyId: key.id, startedAt: now, endsAt: now + 120, level: 1, reason: 'r' });
  service.clock.advance(60);
  await keys.pause(key.id, null, OPERATOR);
  await untilEqual(() => status(secret), 429);
  assert.equal(await status(old), 401, 'its grace ended meanwhile');
  service.clock.advance(60);
  assert.equal(await status(secret), 200, 'the ban ran on');
  await keys.pause(key.id, now + 120, OPERATOR);
  service.clock.advance(480);
  await keys.pause(key.id, null, OPERATOR);
  assert.equal(await status(secret), 401, 'it expired meanwhile');
  const { pausedAt, expiresAt } = (await keys.find(key.id)) ?? {};
  assert.deepEqual([pausedAt, expiresAt], [null, now + 600]);
});
