import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql, { raw } from 'sql-template-tag';
import { utc } from '../../src/stdx/time.ts';
import { openEngine } from '../../src/storage/open.ts';
import { storeBan } from '../kit/bans.ts';
import { untilEqual } from '../kit/clock.ts';
import { signIn } from '../kit/console/visitor.ts';
import { apiClient, OPERATOR } from '../kit/operator.ts';
import { json, type TestService, testService } from '../kit/service.ts';

/** Keys and bans through the operator API. */

interface Key {
  readonly id: string;
  readonly name: string;
  readonly plan: string;
  readonly limits: { readonly minute: number; readonly day: number };
  readonly scopes: readonly string[];
  readonly owner: string | null;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
  readonly lastUsedAt: string | null;
  readonly prefix: string;
  readonly ban: { readonly until: string } | null;
  readonly key?: string;
}

test('a retry with the same Idempotency-Key gets the same key, and the database never holds its secret', async () => {
  await using service = await testService();
  const client = await apiClient(service, 'keys');
  const headers = { 'idempotency-key': 'sign-up 7' };
  const body = { name: 'shop', plan: 'pro' };
  const [one, two] = await Promise.all([1, 2].map(() => client.send('POST', '/keys', body, headers)));
  assert.deepEqual([one?.status, two?.status], [201, 201]);
  const [first, second] = [await json<Key>(one as Response), await json<Key>(two as Response)];
  assert.deepEqual(first, second);
  assert.equal(one?.headers.get('location'), `/api/v1/keys/${first.id}`);
  const replays = [one, two].map((answer) => answer?.headers.get('idempotency-replayed'));
  assert.deepEqual(replays.sort(), [null, 'true']);
  assert.equal((await service.call(second.key ?? '', '/rate_limit')).status, 200);
  const other = await client.send('POST', '/keys', { ...body, plan: 'free' }, headers);
  assert.deepEqual([other.status, (await json<{ code: string }>(other)).code], [422, 'idempotency_key_reused']);

  const rotate = () => client.send('POST', `/keys/${first.id}/rotate`, undefined, { 'idempotency-key': 'r' });
  const [rotated, replayed] = [await json<Key>(rotate()), await rotate()];
  assert.equal(replayed.headers.get('idempotency-replayed'), 'true');
  assert.deepEqual(await json<Key>(replayed), rotated);
  const revoke = () => client.send('POST', `/keys/${first.id}/revoke`, undefined, { 'idempotency-key': 'v' });
  assert.deepEqual(await json(revoke()), await json(revoke()));
  const reused = await client.send('POST', `/keys/${first.id}/rotate`, undefined, { 'idempotency-key': 'v' });
  assert.ok([409, 422].includes(reused.status));
  // Another token has a namespace of its own.
  const stranger = await apiClient(service, 'keys');
  assert.equal(stranger.token.name, client.token.name);
  const own = await json<Key>(stranger.send('POST', '/keys', body, headers));
  assert.notEqual(own.id, first.id);

  assert.equal(await service.storage.keys.count({ now: 0 }), 2);
  const audited = (await service.storage.audit.list({ since: 0, limit: 100 })).map(({ action }) => action);
  const actions = audited.filter((action) => action.startsWith('key.'));
  assert.deepEqual(actions, ['key.create', 'key.revoke', 'key.rotate', 'key.create']);
  const stored = await contents(service);
  for (const secret of [first.key, rotated.key, client.secret]) {
    assert.ok(secret && stored.length > 1_000);
    assert.ok(!stored.includes(secret.slice(16)), 'the secret is in the database');
  }
});

test('a key has what it is given, and a change names what it changed', async () => {
  await using service = await testService();
  const client = await apiClient(service, 'keys');
  const now = service.clock.now().unix;
  const at = (seconds: number) => utc(now + seconds);
  const limits = { minute: 7, day: 70 };
  const given = { plan: 'enterprise', limits, scopes: ['pets:read'], owner: 'cus_1', expiresAt: at(20 * 86_400) };
  const made = await json<Key>(client.send('POST', '/keys', { name: 'given', ...given }));
  const membersOf = (key: Key) => Object.fromEntries(Object.keys(given).map((name) => [name, key[name as keyof Key]]));
  assert.deepEqual(membersOf(made), given);
  const changes = { limits: { minute: 8, day: 80 }, scopes: ['pets:write'], owner: null, expiresAt: null };
  const changed = await json<Key>(client.send('PATCH', `/keys/${made.id}`, changes));
  assert.deepEqual(membersOf(changed), { plan: 'enterprise', ...changes });
  await client.send('PATCH', `/keys/${made.id}`, { ...changes, limits: { day: 80, minute: 8 } });
  const audited = await service.storage.audit.list({ since: 0, limit: 10, target: made.id, action: 'key.update' });
  assert.equal(audited.length, 1, 'the same limits in another order change nothing');
  assert.deepEqual(Object.keys(audited[0]?.after ?? {}).sort(), Object.keys(changes).sort());
});

test('a ban is listed and lifted once', async () => {
  await using service = await testService();
  const client = await apiClient(service, 'keys');
  const { key, secret } = await service.issue();
  const now = service.clock.now().unix;
  const ban = { startedAt: now, endsAt: now + 60, level: 2, reason: 'r' };
  await storeBan(service.storage, { keyId: key.id, ...ban });
  await service.restart();
  assert.equal((await service.call(secret, '/categories')).status, 429);
  const [listed] = await json<object[]>(client.send('GET', '/bans'));
  assert.deepEqual(listed, { keyId: key.id, ...ban, startedAt: utc(now), endsAt: utc(now + 60) });
  const { ban: own } = await json<Key>(client.send('GET', `/keys/${key.id}`));
  assert.equal(own?.until, utc(now + 60));
  assert.equal((await client.send('DELETE', `/keys/${key.id}/ban`)).status, 204);
  assert.equal((await service.call(secret, '/categories')).status, 200);
  assert.deepEqual(await json(client.send('GET', '/bans')), []);
});

test('a key shows the graces of its old secrets, and they can be ended at once', async () => {
  await using service = await testService();
  const client = await apiClient(service, 'keys');
  const { key, secret } = await service.issue();
  assert.ok(!('graces' in (await json<object>(client.send('GET', `/keys/${key.id}`)))));
  // In chunks, as a client sends a body whose length it does not know.
  const rotated = await json<{ graces: object[] }>(
    fetch(`${service.operatorUrl}/api/v1/keys/${key.id}/rotate`, {
      method: 'POST',
      headers: { authorization: `Bearer ${client.secret}`, 'content-type': 'application/json' },
      body: new Blob([JSON.stringify({ grace: '1h' })]).stream(),
      duplex: 'half',
    }),
  );
  const endsAt = utc(service.clock.now().unix + 3_600);
  assert.deepEqual(rotated.graces, [{ prefix: key.prefix, endsAt }]);
  const shown = await json<{ graces: object[] }>(client.send('GET', `/keys/${key.id}`));
  assert.deepEqual(shown.graces, rotated.graces);
  assert.deepEqual((await json<{ graces: object[] }[]>(client.send('GET', '/keys')))[0]?.graces, shown.graces);
  assert.equal((await service.call(secret, '/rate_limit')).status, 200);
  for (let time = 0; time < 2; time += 1)
    assert.equal((await client.send('DELETE', `/keys/${key.id}/graces`)).status, 204);
  assert.equal((await service.call(secret, '/rate_limit')).status, 401);
  assert.ok(!('graces' in (await json<object>(client.send('GET', `/keys/${key.id}`)))));
  await client.send('POST', `/keys/${key.id}/rotate`);
  assert.ok(!('graces' in (await json<object>(client.send('POST', `/keys/${key.id}/revoke`)))));
  assert.ok(!('graces' in (await json<object>(client.send('GET', `/keys/${key.id}`)))));
});

test('If-Match guards keys and categories, and using a key does not change its validator', async () => {
  await using service = await testService();
  const admin = await apiClient(service, 'admin');
  const { key, secret } = await service.issue();
  const path = `/keys/${key.id}`;
  const etagOf = async () => (await admin.send('GET', path)).headers.get('etag') ?? '';
  const etag = await etagOf();
  assert.match(etag, /^".{22}"$/);
  await service.call(secret, '/categories');
  assert.equal(await etagOf(), etag);
  // As nginx and Caddy change the tag of an answer that they compress.
  const renamed = await admin.send('PATCH', path, { name: 'one' }, { 'if-match': `W/${etag}` });
  assert.equal(renamed.status, 200);
  assert.equal(renamed.headers.get('etag'), await etagOf());
  const late = await admin.send('PATCH', path, { name: 'two' }, { 'if-match': etag });
  assert.deepEqual([late.status, (await json<{ code: string }>(late)).code], [412, 'precondition_failed']);
  assert.equal((await service.storage.keys.find(key.id))?.name, 'one');

  const now = service.clock.now().unix;
  await storeBan(service.storage, { keyId: key.id, startedAt: now, endsAt: now + 60, level: 1, reason: 'hasty' });
  const current = renamed.headers.get('etag') ?? '';
  assert.equal(await etagOf(), current, 'a ban does not count');
  for (const [method, change, status] of [
    ['POST', 'rotate', 200],
    ['DELETE', 'graces', 204],
    ['DELETE', 'ban', 204],
    ['POST', 'revoke', 200],
  ] as const) {
    const tag = await etagOf();
    const headers = { 'if-match': tag.replace(/"$/, '-gzip"') };
    assert.equal((await admin.send(method, `${path}/${change}`, undefined, headers)).status, status, change);
    assert.equal(tag === (await etagOf()), /ban|graces/.test(change), change);
  }

  await service.storage.categories.insert({ name: 'Dog' }, { keyId: key.id });
  const { secret: reading } = await service.issue();
  for (const [method, body, status] of [
    ['PATCH', { name: 'Dogs' }, 200],
    ['DELETE', undefined, 204],
  ] as const) {
    const tag = (await service.call(reading, '/categories/1')).headers.get('etag') ?? '';
    assert.equal((await admin.send(method, '/categories/1', body, { 'if-match': tag })).status, status, method);
  }
});

/** Everything that the database holds of outcomes, keys and the audit, as text. */
async function contents({ config }: TestService): Promise<string> {
  const { db } = await openEngine(config.database);
  try {
    const tables = ['outcomes', 'api_keys', 'api_key_secrets', 'audit_entries', 'operator_tokens'];
    return JSON.stringify(await Promise.all(tables.map((table) => db.all(sql`select * from ${raw(table)}`))));
  } finally {
    await db.close();
  }
}

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
  const { sentence } = await json<{ sentence: string }>(client.send('GET', `/why/${key.id}`));
  assert.equal(sentence, 'Paused at 2026-01-01T12:00:00Z: every request since then is a 401.');
  const operator = await signIn(service);
  assert.match(await operator.page('/keys?state=paused'), /shop.*<span class="badge warning">paused</s);
  const { id: other } = (await service.issue()).key;
  for (const id of [key.id, key.id, other]) assert.equal((await client.send('POST', `/keys/${id}/resume`)).status, 200);
  const resumed = await service.storage.audit.list({ since: 0, limit: 9, action: 'key.resume' });
  assert.deepEqual(
    resumed.map(({ target }) => target),
    [key.id],
    'what was not paused is not resumed',
  );
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
