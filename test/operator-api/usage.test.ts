import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALL_KEYS } from '../../src/catalog/usage.ts';
import { storeBan } from '../kit/bans.ts';
import { signIn } from '../kit/console/visitor.ts';
import { apiClient, OPERATOR } from '../kit/operator.ts';
import { commandsOn } from '../kit/process.ts';
import { assertError, json, type TestService, testService } from '../kit/service.ts';
import { addUsage, LIST, usageAt } from '../kit/usage.ts';

/** Usage, recent requests and the audit through the operator API. */

const MINUTE = 60;
const DAY = 86_400;

interface Usage {
  readonly id?: string;
  readonly name?: string;
  readonly at?: string;
  readonly served: number;
}

test('usage is summed by key, of an owner and of a range, and as a series', async () => {
  await using service = await testService();
  const client = await apiClient(service, 'viewer');
  const now = service.clock.now().unix;
  const ids: string[] = [];
  for (const owner of ['cus_1', 'cus_1', 'cus_2']) ids.push((await service.issue({ owner, name: owner })).key.id);
  const [one = '', two = '', three = ''] = ids;
  await use(service, now - 3 * MINUTE, { [one]: 5, [two]: 7, [three]: 11 });
  await use(service, now - 10 * MINUTE, { [one]: 100 });
  const get = (query: string) => json<Usage[]>(client.send('GET', `/usage?${query}`));
  /** The first column of each row with what was served. */
  const sums = async (query: string) => (await get(query)).map(({ id, at, served }) => `${id ?? at} ${served}`);
  assert.deepEqual(await sums(''), [`${one} 105`, `${two} 7`, `${three} 11`].sort());
  assert.deepEqual(await sums('owner=cus_1&since=5m'), [`${one} 5`, `${two} 7`].sort());
  assert.deepEqual(await sums('owner=cus_1&since=5m&until=2027-01-01'), [`${one} 5`, `${two} 7`].sort(), 'no longer');
  assert.deepEqual(await sums(`key=${one}&since=1h&until=5m`), [`${one} 100`]);
  assert.equal((await client.send('GET', '/usage?since=1h&until=1h')).status, 200);
  assert.deepEqual(await sums('owner=cus_none'), []);
  const series = ['2026-01-01T11:50:00Z 100', '2026-01-01T11:57:00Z 12'];
  assert.deepEqual(await sums('owner=cus_1&by=minute&since=1h'), series);
  assert.deepEqual(await sums(`by=hour&key=${three}&since=2h`), ['2026-01-01T11:00:00Z 11']);
  assert.deepEqual(await sums('by=day&since=30d'), ['2026-01-01T00:00:00Z 123']);
  const { lastUsedAt } = await json<{ lastUsedAt: string }>(client.send('GET', `/keys/${one}`));
  assert.equal(Date.parse(lastUsedAt) / 1_000, now - 3 * MINUTE);
  assert.equal((await client.send('GET', '/usage?since=1h&since=2h')).status, 400);
});

test('usage is summed by owner or route, and each as a series, in pages', async () => {
  await using service = await testService();
  const client = await apiClient(service, 'viewer');
  const now = service.clock.now().unix;
  const ids: string[] = [];
  for (const owned of [{ owner: 'cus_1' }, { owner: 'ö/2' }, {}]) ids.push((await service.issue(owned)).key.id);
  const [one = '', two = '', none = ''] = ids;
  const create = 'POST /v1/categories';
  await use(service, now - 2 * MINUTE, { [one]: 5, [two]: 7, [none]: 3 });
  await use(service, now - MINUTE, { [one]: 2 }, create);
  await use(service, now - 40 * DAY, { [one]: 1_000 });
  type Row = { at?: string; id?: string; owner?: string | null; route?: string; served: number };
  const rows = async (query: string) => {
    const pages = await client.pages<Row>(`/usage?${query}`);
    if (query.includes('limit=1')) for (const page of pages) assert.ok(page.length <= 1);
    return pages
      .flat()
      .map(
        ({ at, id, owner, route, served }) => `${at ? `${at.slice(0, 13)} ` : ''}${route ?? id ?? owner}: ${served}`,
      );
  };
  for (const limit of ['', '&limit=1']) {
    assert.deepEqual(await rows(`group=owner${limit}`), ['null: 3', 'cus_1: 7', 'ö/2: 7']);
    assert.deepEqual(await rows(`group=route&since=1h&owner=cus_1${limit}`), [`${LIST}: 5`, `${create}: 2`]);
    assert.deepEqual(await rows(`group=owner&by=month&since=60d${limit}`), [
      '2025-11-01T00 cus_1: 1000',
      '2026-01-01T00 null: 3',
      '2026-01-01T00 cus_1: 7',
      '2026-01-01T00 ö/2: 7',
    ]);
    const minutes = [`2026-01-01T11 ${one}: 5`, `2026-01-01T11 ${one}: 2`];
    assert.deepEqual(await rows(`group=key&by=minute&since=1h&key=${one}${limit}`), minutes);
  }
  const ofRoute = `route=${encodeURIComponent(create)}`;
  assert.deepEqual(await rows(`${ofRoute}&group=key&by=day&since=60d`), [`2026-01-01T00 ${one}: 2`]);
  for (const since of ['1h', '3d', '60d'])
    assert.deepEqual(await rows(`${ofRoute}&since=${since}`), [`${one}: 2`], since);
  assert.deepEqual(await rows(`${ofRoute}&key=${one}&by=month`), ['2026-01-01T00 undefined: 2']);
  assert.deepEqual(await rows('route=GET+/v1/inventory'), []);
  assert.deepEqual(await rows('group=route&until=2025-11-23'), [`${LIST}: 1000`], 'the day before');
  const byMonth = '/usage?group=route&by=month&owner=cus_1&since=60d';
  const csv = await (await client.send('GET', byMonth, undefined, { accept: 'text/csv' })).text();
  assert.deepEqual(csv.match(/^[^,]*,[^,]*,[^,]*/gm), [
    'at,route,served',
    `2025-11-01T00:00:00Z,${LIST},1000`,
    `2026-01-01T00:00:00Z,${LIST},5`,
    `2026-01-01T00:00:00Z,${create},2`,
  ]);
  for (const [path, said] of [
    ['/usage?group=plan', 'group is "plan"'],
    [`/usage?${ofRoute}&by=minute`, 'Minutes know no routes; send by as hour, day or month'],
    ['/usage?group=route&by=minute', 'Minutes know no routes; send by as hour, day or month'],
    ['/audit?since=1h&until=2h', 'until is 2026-01-01T10:00:00Z, before since (2026-01-01T11:00:00Z); send a later'],
  ] as const) {
    const { message } = await assertError(client.send('GET', path), 400, 'validation_failed');
    assert.ok(message.startsWith(said), message);
  }
});

test('the API tells at once what its own instance counted', async () => {
  await using service = await testService();
  const client = await apiClient(service, 'viewer');
  const { key, secret } = await service.issue();
  await use(service, service.clock.now().unix - 5 * 60 * MINUTE, { [key.id]: 9 });
  for (const path of ['/categories', '/categories', '/pets']) await service.call(secret, path);
  const told = async (query: string) =>
    (await json<{ route?: string; at?: string; served: number }[]>(client.send('GET', `/usage?${query}`))).map(
      ({ route, at, served }) => `${route ?? at}: ${served}`,
    );
  assert.deepEqual(await told(`group=route&key=${key.id}&since=1h`), [`${LIST}: 2`, 'GET /v1/pets: 1']);
  const series = await told(`by=minute&since=1h&key=${key.id}`);
  assert.deepEqual(series, ['2026-01-01T12:00:00Z: 3'], 'the minute that began just now');
});

test('usage comes as CSV that no spreadsheet runs', async () => {
  await using service = await testService();
  const client = await apiClient(service, 'viewer');
  const now = service.clock.now().unix;
  const { key } = await service.issue({ name: '=cmd()' });
  await use(service, now - MINUTE, { [key.id]: 3 });
  const accept = { accept: 'text/csv' };
  const without = await client.send('GET', '/usage?group=owner&by=month&owner=cus_1', undefined, accept);
  assert.equal(await without.text(), 'at,owner,served,refused,clientErrors,serverErrors,first,last\n');
  const answer = await client.send('GET', '/usage', undefined, accept);
  assert.equal(answer.headers.get('content-type'), 'text/csv; charset=utf-8');
  const [header, row] = (await answer.text()).split('\n');
  assert.equal(header, 'id,name,owner,served,refused,clientErrors,serverErrors,first,last');
  assert.match(row ?? '', new RegExp(`^${key.id},'=cmd\\(\\),,3,0,0,0,`));
  const series = await client.send('GET', '/usage?by=minute', undefined, accept);
  assert.match(await series.text(), /^at,served,refused,clientErrors,serverErrors\n\d{4}.*Z,3,0,0,0\n$/);
});

test('the audit is paged, filtered and told however old it is', async () => {
  await using service = await testService();
  const client = await apiClient(service, 'viewer');
  const ids: string[] = [];
  for (let index = 0; index < 8; index += 1) ids.push((await service.issue()).key.id);
  const [last = ''] = ids.reverse();
  service.clock.advance(400 * DAY);
  await service.storage.keys.revoke(last, service.clock.now().unix, OPERATOR);
  const pages = await client.pages<{ target: string }>('/audit?limit=3&action=key.create');
  assert.deepEqual(
    pages.flat().map(({ target }) => target),
    ids,
  );
  const recent = await json<{ action: string; after: { revokedAt: string } }[]>(client.send('GET', '/audit?since=1h'));
  assert.deepEqual(
    recent.map(({ action, after }) => `${action} ${after.revokedAt}`),
    ['key.revoke 2027-02-05T12:00:00Z'],
  );
  assert.equal((await json<object[]>(client.send('GET', `/audit?target=${last}`))).length, 2);
});

/** Adds usage in the minute of a moment. */
async function use(
  { storage }: TestService,
  at: number,
  served: Readonly<Record<string, number>>,
  route = LIST,
): Promise<void> {
  const sum = Object.values(served).reduce((total, count) => total + count, 0);
  const all = Object.entries({ [ALL_KEYS]: sum, ...served });
  await addUsage(
    storage,
    at,
    all.map(([keyId, count]) => usageAt(keyId, at, { served: count })),
    route,
  );
}

test('a filter by a key, route or action that there is not is refused at every door, with the nearest one', async () => {
  await using service = await testService();
  const [client, operator] = [await apiClient(service, 'viewer'), await signIn(service, 'viewer')];
  const command = commandsOn(service);
  const [shop, other] = [await service.issue({ name: 'web shop' }), await service.issue({ name: 'other' })];
  const [one, two] = [shop.key.id, other.key.id];
  for (const [list, name, text, meant] of [
    ['audit', 'key', `${one.slice(0, -1)}-`, one],
    ['audit', 'key', `kye${two.slice(3)}`, two],
    ['audit', 'key', 'shop', one],
    ['audit', 'key', 'nowhere', undefined],
    ['audit', 'action', 'key.revok', 'key.revoke'],
    ['audit', 'action', 'start', 'started'],
    ['requests', 'route', '/v1/petz', '/v1/pets'],
    ['usage', 'route', 'GET /v1/petz', 'GET /v1/pets'],
  ] as const) {
    const said = `is "${text}"; ${meant ? `did you mean ${meant}?` : 'the list of keys shows them all'}`;
    const query = new URLSearchParams({ [name]: text });
    const { message } = await json<{ message: string }>(client.send('GET', `/${list}?${query}`));
    assert.equal(message, `${name} ${said}`);
    const page = await operator.get(`/${list}${list === 'usage' ? '/export' : ''}?${query}`);
    const shown = `>${name} ${said.replaceAll('"', '&quot;')}${meant ? '' : '.'}</p>`;
    assert.ok((await page.text()).includes(shown), shown);
    if (list === 'requests') continue;
    const { code, stderr } = await command(`${list} --${name} '${text}'`);
    assert.deepEqual([code, stderr.trim()], [2, `pet-catalog: --${name} ${said}`]);
  }
  const secret = await json<{ message: string }>(client.send('GET', `/audit?key=${shop.secret}`));
  assert.match(secret.message, new RegExp(`^key is "${shop.key.prefix}"; did you mean ${one}\\?$`));
  for (const known of [`audit?key=${two}`, 'audit?action=console.offer', 'usage?route=PUT+/v1/pets'])
    assert.equal((await client.send('GET', `/${known}`)).status, 200, known);
});

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
    userAgent: 'node',
  });
  const outcome = async (id: string) => {
    const found = await json<Record<string, unknown>>(client.send('GET', `/requests/${id}`));
    return ['status', 'code', 'minuteRemaining', 'dayRemaining', 'reason'].map((name) => found[name]);
  };
  assert.deepEqual(await outcome('of.another'), [200, null, 59, 999, null]);
  await call('/categories', 'banned', banned.secret);
  assert.deepEqual(await outcome('banned'), [429, 'key_banned', 0, 1_000, 'hasty']);
  const spent = await service.issue({ plan: 'enterprise', limits: { minute: 9, day: 1 } });
  for (const id of ['last', 'spent']) await call('/categories', id, spent.secret);
  const quota = [429, 'daily_quota_exceeded', 8, 0, 'the quota of 1 requests per day was reached'];
  assert.deepEqual(await outcome('spent'), quota);
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
  assert.deepEqual([await list('?client=curl'), await list('?client=NODE&limit=1')], [[], [['three', 429]]]);
  const both = client.send('GET', `/requests?key=${key.prefix}&owner=another`);
  assert.deepEqual(await json(both), [], 'the filters combine');
  await call('/categories', 'one');
  const newest = await json<KeyRequest>(client.send('GET', '/requests/one'));
  assert.equal(newest.status, 429, 'the newest of two with the same id');
  const text = await (await client.send('GET', `/keys/${key.id}/requests`)).text();
  assert.ok(!text.includes(hidden) && !text.includes(secret));
  const unkept = 'This instance keeps no request with this id; look into the logs, or ask the other instances';
  const own = `/keys/${key.id}/requests`;
  for (const [path, status, message] of [
    ['/requests/without', 404, unkept],
    ['/keys/key_none/requests', 404, 'There is no key key_none; the list of keys shows them all'],
    [`${own}?status=4x`, 400, 'status is "4x"; send a status such as 429, or 4xx'],
  ] as const) {
    const answer = await client.send('GET', path);
    assert.deepEqual([answer.status, (await json<{ message: string }>(answer)).message], [status, message], path);
  }
});
