import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql, { raw } from 'sql-template-tag';
import { storeBan } from '../kit/bans.ts';
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

test('a key is issued, upgraded, rotated and revoked, each at once, and the audit names the token', async () => {
  await using service = await testService();
  const billing = await apiClient(service, 'keys', 'billing');
  const issued = await billing.send('POST', '/keys', { name: 'shop', plan: 'free', owner: 'cus_1' });
  const made = await json<Key>(issued);
  assert.equal(issued.status, 201);
  assert.equal(issued.headers.get('location'), `/api/v1/keys/${made.id}`);
  assert.deepEqual([made.plan, made.owner, made.limits, made.ban], ['free', 'cus_1', { minute: 60, day: 1_000 }, null]);
  const first = made.key ?? '';
  const limit = async (secret: string) => {
    const answer = await service.call(secret, '/rate_limit');
    return answer.status === 200 ? (await json<{ minute: { limit: number } }>(answer)).minute.limit : answer.status;
  };
  assert.equal(await limit(first), 60);

  const changed = await billing.send('PATCH', `/keys/${made.id}`, { plan: 'pro', name: 'shop 2', owner: null });
  const { key: _, ...without } = made;
  const after = await json<Key>(changed);
  assert.deepEqual(
    { ...after, lastUsedAt: null },
    { ...without, plan: 'pro', name: 'shop 2', owner: null, limits: { minute: 300, day: 10_000 } },
  );
  assert.equal(await limit(first), 300);

  // Stores what was counted.
  await billing.send('GET', '/usage');
  const before = await json<Key>(billing.send('GET', `/keys/${made.id}`));
  assert.ok(before.lastUsedAt);
  const rotated = await json<Key>(billing.send('POST', `/keys/${made.id}/rotate`, { grace: '1h' }));
  assert.equal(rotated.lastUsedAt, before.lastUsedAt);
  assert.deepEqual([await limit(first), await limit(rotated.key ?? '')], [300, 300]);
  assert.ok(rotated.key?.startsWith(rotated.prefix));
  service.clock.advance(3_600);
  assert.deepEqual([await limit(first), await limit(rotated.key ?? '')], [401, 300]);

  const revoked = await billing.send('POST', `/keys/${made.id}/revoke`);
  const { revokedAt } = await json<Key>(revoked);
  assert.ok(revokedAt);
  assert.equal(await limit(rotated.key ?? ''), 401);
  service.clock.advance(10);
  const again = await billing.send('POST', `/keys/${made.id}/revoke`);
  assert.deepEqual([again.status, (await json<Key>(again)).revokedAt], [200, revokedAt]);
  for (const [method, path, body] of [
    ['PATCH', '', { name: 'x' }],
    ['POST', '/rotate', undefined],
  ] as const) {
    const refused = await billing.send(method, `/keys/${made.id}${path}`, body);
    assert.deepEqual([refused.status, (await json<{ code: string }>(refused)).code], [409, 'key_revoked']);
  }

  const entries = await service.storage.audit.list({ since: 0, limit: 10, target: made.id });
  assert.deepEqual(
    entries.map(({ action, operator: { actor, via } }) => [action, actor, via]),
    ['key.revoke', 'key.rotate', 'key.update', 'key.create'].map((action) => [action, 'billing', 'api']),
  );
  const shown = await json<{ actor: string; via: string; action: string }[]>(
    billing.send('GET', '/audit?actor=billing&action=key.rotate'),
  );
  assert.deepEqual(
    shown.map(({ actor, via, action }) => [actor, via, action]),
    [['billing', 'api', 'key.rotate']],
  );
  assert.equal(service.events.failures.length, 0);
});

test('a retry with the same Idempotency-Key gets the same key, and the database never holds its secret', async () => {
  await using service = await testService();
  const client = await apiClient(service, 'keys');
  const headers = { 'idempotency-key': 'sign-up 7' };
  const body = { name: 'shop', plan: 'pro' };
  const [one, two] = await Promise.all([1, 2].map(() => client.send('POST', '/keys', body, headers)));
  assert.deepEqual([one?.status, two?.status], [201, 201]);
  const [first, second] = [await json<Key>(one as Response), await json<Key>(two as Response)];
  assert.deepEqual(first, second);
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
  const malformed = await client.send('POST', '/keys', body, { 'idempotency-key': 'x'.repeat(256) });
  assert.equal(malformed.status, 400);

  assert.equal((await service.storage.keys.list()).length, 2);
  const { actions } = await auditOf(service);
  assert.deepEqual(actions, ['key.create', 'key.revoke', 'key.rotate', 'key.create']);
  const stored = await contents(service);
  for (const secret of [first.key, rotated.key, client.secret]) {
    assert.ok(secret && stored.length > 1_000);
    assert.ok(!stored.includes(secret.slice(16)), 'the secret is in the database');
  }
});

test('keys are listed in pages that keep their filters, newest first', async () => {
  await using service = await testService();
  const client = await apiClient(service, 'viewer');
  for (let index = 0; index < 45; index += 1) {
    if (index % 5 === 0) service.clock.advance(1);
    await service.issue({ name: `key ${index}`, owner: index % 2 ? 'odd' : 'even' });
  }
  const names: string[] = [];
  let pages = 0;
  for (let next: string | undefined = '/keys?owner=odd&limit=10&q=KEY'; next; ) {
    const answer = await client.send('GET', next);
    const page = await json<Key[]>(answer);
    names.push(...page.map(({ name }) => name));
    next = /^<\/api\/v1(.*)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1];
    pages += 1;
    assert.ok(pages <= 3, 'the pages do not end');
  }
  assert.equal(pages, 3);
  assert.deepEqual(names.toSorted(), Array.from({ length: 22 }, (_, index) => `key ${2 * index + 1}`).toSorted());
  assert.equal((await json<Key[]>(client.send('GET', '/keys'))).length, 20);
  const exact: string[] = [];
  for (let next: string | undefined = '/keys?limit=2&q=key+1'; next; ) {
    const answer = await client.send('GET', next);
    exact.push(...(await json<Key[]>(answer)).map(({ name }) => name));
    assert.ok(exact.length <= 11, 'the pages do not end');
    next = /^<\/api\/v1(.*)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1];
  }
  const parts = Array.from({ length: 10 }, (_, index) => `key ${10 + index}`);
  assert.deepEqual([exact[0], exact.slice(1).sort()], ['key 1', parts], 'the whole name first');
  const wrong = ['limit=0', 'limit=101', 'limit=1&limit=2', 'state=gone', 'plan=x', 'cursor=x', 'expiresBefore=soon'];
  for (const query of [...wrong, 'q=%00', `owner=${'x'.repeat(256)}`]) {
    const answer = await client.send('GET', `/keys?${query}`);
    assert.deepEqual([answer.status, (await json<{ code: string }>(answer)).code], [400, 'validation_failed'], query);
  }
  assert.equal(service.events.failures.length, 0);
});

test('each filter of keys selects by itself, and a key has what it is given', async () => {
  await using service = await testService();
  const client = await apiClient(service, 'keys');
  const now = service.clock.now().unix;
  const at = (seconds: number) => new Date((now + seconds) * 1_000).toISOString().replace('.000', '');
  const limits = { minute: 7, day: 70 };
  const given = { plan: 'enterprise', limits, scopes: ['pets:read'], owner: 'cus_1', expiresAt: at(20 * 86_400) };
  const made = await json<Key>(client.send('POST', '/keys', { name: 'given', ...given }));
  const membersOf = (key: Key) => Object.fromEntries(Object.keys(given).map((name) => [name, key[name as keyof Key]]));
  assert.deepEqual(membersOf(made), given);
  const { id: banned } = (await service.issue({ name: 'banned' })).key;
  await storeBan(service.storage, { keyId: banned, startedAt: now, endsAt: now + 60, level: 1, reason: 'r' });
  await service.issue({ name: 'expired', plan: 'pro', expiresAt: now + 1 });
  const { id: revoked } = (await service.issue({ name: 'revoked', expiresAt: now + 40 * 86_400 })).key;
  await service.storage.keys.revoke(revoked, now, OPERATOR);
  service.clock.advance(1);
  const found = async (query: string) =>
    (await json<Key[]>(client.send('GET', `/keys?${query}`))).map(({ name }) => name).sort();
  for (const [query, names] of [
    ['plan=pro', ['expired']],
    ['owner=cus_1', ['given']],
    ['q=BAN', ['banned']],
    ['state=active', ['given']],
    ['state=banned', ['banned']],
    ['state=expired', ['expired']],
    ['state=revoked', ['revoked']],
    ['expiresBefore=30d', ['expired', 'given']],
    [`expiresBefore=${at(50 * 86_400)}`, ['expired', 'given', 'revoked']],
  ] as const)
    assert.deepEqual(await found(query), names, query);
  const changes = { limits: { minute: 8, day: 80 }, scopes: ['pets:write'], owner: null, expiresAt: null };
  const changed = await json<Key>(client.send('PATCH', `/keys/${made.id}`, changes));
  assert.deepEqual(membersOf(changed), { plan: 'enterprise', ...changes });
  await client.send('PATCH', `/keys/${made.id}`, { ...changes, limits: { day: 80, minute: 8 } });
  const audited = await service.storage.audit.list({ since: 0, limit: 10, target: made.id, action: 'key.update' });
  assert.equal(audited.length, 1, 'the same limits in another order change nothing');
  const named = Object.keys(audited[0]?.after ?? {});
  await client.send('PATCH', `/keys/${made.id}`, {
    expiresAt: '2100-01-01T00:00:00Z',
    owner: 'b',
    scopes: ['pets:read'],
  });
  const [next] = await service.storage.audit.list({ since: 0, limit: 1, target: made.id, action: 'key.update' });
  assert.deepEqual(
    Object.keys(next?.after ?? {}),
    named.filter((name) => name !== 'limits'),
    'in one order',
  );
});

test('values that a key cannot have are refused by name, and nothing is stored', async () => {
  await using service = await testService();
  const client = await apiClient(service, 'keys');
  const { key } = await service.issue();
  const good = { name: 'shop', plan: 'free' };
  const wrong: [object, RegExp][] = [
    [{ name: undefined }, /^name is missing/],
    [{ plan: undefined }, /^plan is missing/],
    [{ name: ' ' }, /^The name of a key/],
    [{ plan: 'golden' }, /^plan is "golden"/],
    [{ plan: 'enterprise' }, /^The enterprise plan needs limits/],
    [{ limits: { minute: 1, day: 2 } }, /^The free plan has fixed limits/],
    [{ plan: 'enterprise', limits: { minute: 0, day: 2 } }, /^limits.minute is 0/],
    [{ scopes: [] }, /^scopes has 0 items; send at least 1$/],
    [{ scopes: Array(7).fill('pets:read') }, /^scopes has 7 items; send at most 6$/],
    [{ scopes: ['everything'] }, /^scopes.0 is "everything"/],
    [{ expiresAt: '2026-02-30T00:00:00Z' }, /^expiresAt is "2026-02-30/],
    [{ expiresAt: 'tomorrow' }, /^expiresAt is "tomorrow"/],
    [{ expiresAt: '2001-01-01T00:00:00Z' }, /^The expiry of a key/],
    [{ expiresAt: '1970-01-01T00:00:00Z' }, /^The expiry of a key/],
    [{ owner: '' }, /^The owner of a key/],
    [{ owner: 'x'.repeat(256) }, /^owner is 256 characters/],
    [{ owner: 7 }, /^owner is 7/],
  ];
  for (const [changes, message] of wrong) {
    const answer = await client.send('POST', '/keys', { ...good, ...changes });
    const body = await json<{ code: string; message: string }>(answer);
    assert.deepEqual([answer.status, body.code], [400, 'validation_failed'], JSON.stringify(changes));
    assert.match(body.message, message);
    if ('plan' in changes || Object.values(changes)[0] === undefined) continue;
    assert.equal((await client.send('PATCH', `/keys/${key.id}`, changes)).status, 400, JSON.stringify(changes));
  }
  for (const [grace, said] of [
    ['31d', 'The grace is 2678400 s; at most 30d are possible'],
    ['soon', 'grace is "soon"; send a duration such as 0, 90s, 24h or 30d'],
    ['-1s', 'grace is "-1s"; send a duration such as 0, 90s, 24h or 30d'],
    [5, 'grace is 5; send a string such as 24h'],
  ] as const) {
    const refused = await client.send('POST', `/keys/${key.id}/rotate`, { grace });
    assert.deepEqual([refused.status, (await json<{ message: string }>(refused)).message], [400, said]);
  }
  for (const path of ['', '/rotate', '/revoke', '/ban']) {
    const method = { '': 'PATCH', '/ban': 'DELETE' }[path] ?? 'POST';
    const answer = await client.send(method, `/keys/key_none${path}`, path === '' ? {} : undefined);
    assert.deepEqual([answer.status, (await json<{ code: string }>(answer)).code], [404, 'not_found'], path);
  }
  assert.deepEqual(await service.storage.keys.list(), [key]);
});

test('a ban is listed and lifted once', async () => {
  await using service = await testService();
  const client = await apiClient(service, 'keys', 'support');
  const { key, secret } = await service.issue();
  const now = service.clock.now().unix;
  const others = [(await service.issue()).key.id, (await service.issue()).key.id];
  const ids = [key.id, ...others].sort().reverse();
  for (const keyId of ids)
    await storeBan(service.storage, { keyId, startedAt: now, endsAt: now + 60, level: 2, reason: 'r' });
  const older = (await service.issue()).key.id;
  await storeBan(service.storage, { keyId: older, startedAt: now - 9, endsAt: now + 60, level: 1, reason: 'r' });
  await service.restart();
  assert.equal((await service.call(secret, '/categories')).status, 429);
  const [ban] = await json<object[]>(client.send('GET', '/bans?limit=1'));
  const utc = (unix: number) => new Date(unix * 1_000).toISOString().replace('.000', '');
  assert.deepEqual(ban, { keyId: ids[0], startedAt: utc(now), endsAt: utc(now + 60), level: 2, reason: 'r' });
  const seen: string[] = [];
  for (let next: string | undefined = '/bans?limit=1'; next; ) {
    const answer = await client.send('GET', next);
    seen.push(...(await json<{ keyId: string }[]>(answer)).map(({ keyId }) => keyId));
    assert.ok(seen.length <= 4, 'the pages do not end');
    next = /^<\/api\/v1(.*)>/.exec(answer.headers.get('link') ?? '')?.[1];
  }
  assert.deepEqual(seen, [...ids, older], 'the newest first');
  const { ban: own } = await json<Key>(client.send('GET', `/keys/${key.id}`));
  assert.equal(own?.until, utc(now + 60));
  assert.equal((await client.send('DELETE', `/keys/${key.id}/ban`)).status, 204);
  assert.equal((await service.call(secret, '/categories')).status, 200);
  const again = await client.send('DELETE', `/keys/${key.id}/ban`);
  const message = `The key ${key.id} is not banned`;
  assert.deepEqual(await json(again), { code: 'not_found', message, status: 404 });
  service.clock.advance(60);
  assert.deepEqual(await json(client.send('GET', '/bans')), [], 'all are over');
  const { actors } = await auditOf(service, key.id);
  assert.deepEqual(actors.slice(0, 1), ['support']);
});

async function auditOf({ storage }: TestService, target?: string) {
  const entries = await storage.audit.list({ since: 0, limit: 100, ...(target !== undefined && { target }) });
  const ofKeys = entries.filter(({ action }) => !action.startsWith('operator.'));
  return { actions: ofKeys.map(({ action }) => action), actors: ofKeys.map(({ operator }) => operator.actor) };
}

/** Everything that the database holds of outcomes, keys and the audit, as text. */
async function contents({ config }: TestService): Promise<string> {
  const { openEngine } = await import('../../src/storage/open.ts');
  const { db } = await openEngine(config.database);
  try {
    const tables = ['outcomes', 'api_keys', 'api_key_secrets', 'audit_entries', 'operator_tokens'];
    const rows = await Promise.all(tables.map((table) => db.all(sql`select * from ${raw(table)}`)));
    return JSON.stringify(rows);
  } finally {
    await db.close();
  }
}

test('an unknown member or parameter is refused with the nearest known name, and until before since', async () => {
  await using service = await testService();
  const admin = await apiClient(service, 'admin');
  const { key } = await service.issue();
  for (const [method, path, body, said] of [
    ['POST', '/keys', { name: 'x', plan: 'pro', scope: ['pets:read'] }, /"scope" is no member .*did you mean scopes\?/],
    ['POST', '/keys', { name: 'x', plan: 'enterprise', limits: { minute: 1, days: 1 } }, /did you mean day\?|limits/],
    ['PATCH', `/keys/${key.id}`, { expiresat: null }, /did you mean expiresAt\?/],
    ['POST', `/keys/${key.id}/rotate`, { graces: '0' }, /did you mean grace\?/],
    ['POST', `/keys/${key.id}/revoke`, { grace: '0' }, /"grace" is no member/],
    ['PATCH', '/categories/1', { names: 'x' }, /name/],
    ['GET', '/keys?stat=revoked', undefined, /stat is no parameter of listKeys; did you mean state\?/],
    ['GET', '/audit?until=1h', undefined, /until is no parameter of listAudit/],
    ['GET', '/usage?since=1h&until=2h', undefined, /until is .*, before since/],
    ['GET', '/usage?ownr=x', undefined, /did you mean owner\?/],
  ] as const) {
    const answer = await admin.send(method, path, body);
    const { code, message } = await json<{ code: string; message: string }>(answer);
    assert.deepEqual([answer.status, code], [400, 'validation_failed'], path);
    assert.match(message, said);
  }
  const [kept, ...others] = await service.storage.keys.list();
  assert.deepEqual([kept?.revokedAt, others], [null, []]);
});

test('a key shows the graces of its old secrets, and they can be ended at once', async () => {
  await using service = await testService();
  const client = await apiClient(service, 'keys');
  const { key, secret } = await service.issue();
  assert.ok(!('graces' in (await json<object>(client.send('GET', `/keys/${key.id}`)))));
  const rotated = await json<{ graces: object[] }>(client.send('POST', `/keys/${key.id}/rotate`, { grace: '1h' }));
  const endsAt = new Date((service.clock.now().unix + 3_600) * 1_000).toISOString().replace('.000', '');
  assert.deepEqual(rotated.graces, [{ prefix: key.prefix, endsAt }]);
  const shown = await json<{ graces: object[] }>(client.send('GET', `/keys/${key.id}`));
  assert.deepEqual(shown.graces, rotated.graces);
  assert.deepEqual((await json<{ graces: object[] }[]>(client.send('GET', '/keys')))[0]?.graces, shown.graces);
  assert.equal((await service.call(secret, '/rate_limit')).status, 200);
  for (let time = 0; time < 2; time += 1)
    assert.equal((await client.send('DELETE', `/keys/${key.id}/graces`)).status, 204);
  assert.equal((await service.call(secret, '/rate_limit')).status, 401);
  assert.ok(!('graces' in (await json<object>(client.send('GET', `/keys/${key.id}`)))));
  assert.equal((await client.send('DELETE', '/keys/key_none/graces')).status, 404);
  await client.send('POST', `/keys/${key.id}/rotate`);
  assert.ok(!('graces' in (await json<object>(client.send('POST', `/keys/${key.id}/revoke`)))));
  assert.ok(!('graces' in (await json<object>(client.send('GET', `/keys/${key.id}`)))));
  assert.equal((await client.send('DELETE', `/keys/${key.id}/graces`)).status, 409);
  const viewer = await apiClient(service, 'viewer');
  assert.equal((await viewer.send('DELETE', `/keys/${key.id}/graces`)).status, 403);
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
  const renamed = await admin.send('PATCH', path, { name: 'one' }, { 'if-match': etag });
  assert.equal(renamed.status, 200);
  assert.equal(renamed.headers.get('etag'), await etagOf());
  const late = await admin.send('PATCH', path, { name: 'two' }, { 'if-match': etag });
  assert.deepEqual([late.status, (await json<{ code: string }>(late)).code], [412, 'precondition_failed']);
  assert.equal((await service.storage.keys.find(key.id))?.name, 'one');

  const now = service.clock.now().unix;
  await storeBan(service.storage, { keyId: key.id, startedAt: now, endsAt: now + 60, level: 1, reason: 'hasty' });
  const current = renamed.headers.get('etag') ?? '';
  assert.equal(await etagOf(), current, 'a ban does not count');
  const changes = [
    ['POST', `${path}/rotate`, 200],
    ['DELETE', `${path}/graces`, 204],
    ['DELETE', `${path}/ban`, 204],
    ['POST', `${path}/revoke`, 200],
  ] as const;
  const audited = async () => (await service.storage.audit.list({ since: 0, target: key.id, limit: 20 })).length;
  const before = await audited();
  for (const [method, change] of changes) {
    const refused = await admin.send(method, change, undefined, { 'if-match': etag });
    assert.equal(refused.status, 412, change);
  }
  assert.equal(await audited(), before, 'nothing was changed');
  for (const [method, change, status] of changes) {
    const tag = await etagOf();
    const done = await admin.send(method, change, undefined, { 'if-match': tag });
    assert.equal(done.status, status, change);
    assert.equal(tag === (await etagOf()), /ban|graces/.test(change), change);
  }
  assert.equal(await audited(), before + 4);

  await service.storage.categories.insert({ name: 'Dog' }, { keyId: key.id });
  const other = await service.issue();
  const seen = (await service.call(other.secret, '/categories/1')).headers.get('etag') ?? '';
  for (const [tag, status] of [
    ['"other"', 412],
    [seen, 200],
    [seen, 412],
  ] as const) {
    const answer = await admin.send('PATCH', '/categories/1', { name: 'Dogs' }, { 'if-match': tag });
    assert.equal(answer.status, status, tag);
  }
  assert.equal((await admin.send('DELETE', '/categories/1', undefined, { 'if-match': seen })).status, 412);
  const latest = (await service.call(other.secret, '/categories/1')).headers.get('etag') ?? '';
  assert.equal((await admin.send('DELETE', '/categories/1', undefined, { 'if-match': latest })).status, 204);
});
