import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import { LIMIT_MAX } from '../../src/catalog/plan.ts';
import { keptResult } from '../../src/operator/frame/kept.ts';
import { storeBan } from '../kit/bans.ts';
import { type SignedIn, send, signIn } from '../kit/console/visitor.ts';
import { OPERATOR } from '../kit/operator.ts';
import { type TestService, testService } from '../kit/service.ts';
import { addUsage } from '../kit/usage.ts';

/** How much the pages of the console show and take, and what they say beyond that. */

const MINUTE = 60;
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const DAY = 86_400;

/** The number of rows of a section of a page, which its id or the label of its table names. */
function rowsOf(text: string, name: string): number {
  const [, section = ''] = new RegExp(`(?:id|aria-label)="${name}"(.*?)</(?:section|table)>`, 's').exec(text) ?? [];
  return section.match(/<tr><th scope="row"|<tr data-request|<tr><td|<li><(?:span|a)/g)?.length ?? 0;
}

async function times(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  for (let index = 0; index < count; index += 1) await work(index);
}

test('each table ends where it should, and says what is beyond', async () => {
  await using service = await testService();
  const { storage, clock } = service;
  const now = clock.now().unix;
  const { key, secret } = await service.issue({ name: 'loud', plan: 'business' });
  const origin = { keyId: key.id };
  await storage.categories.insert({ name: 'c' }, origin);
  await times(21, (index) => storage.categories.rename(1, `c${index}`, OPERATOR));
  await times(20, (index) => storage.keys.update(key.id, { name: `loud ${index}` }, OPERATOR));
  const ban = { keyId: key.id, startedAt: now - DAY, endsAt: now - DAY + 9, level: 1, reason: 'r' };
  await times(21, (index) => storeBan(storage, { ...ban, startedAt: ban.startedAt + 10 * index }));
  const counts = { served: 1, clientErrors: 0, refused: 1, serverErrors: 0 };
  // Two minutes in a row are one time; these are every third, and two more.
  await times(61, async (index) => {
    const first = now - (3 * index + 4) * MINUTE;
    await addUsage(storage, first, [{ keyId: key.id, ...counts, first, last: first }]);
  });
  for (const first of [now - MINUTE, now - 2 * MINUTE])
    await addUsage(storage, first, [{ keyId: key.id, ...counts, first, last: first }]);
  await times(101, (index) =>
    service.call(secret, index < 21 ? '/nothing' : '/rate_limit', { headers: { 'x-request-id': `call-${index}` } }),
  );
  const operator = await signIn(service);
  const why = await operator.page(`/requests/why?q=${key.id}`);
  const page = await operator.page(`/keys/${key.id}`);
  const requests = await operator.page('/requests');
  assert.deepEqual(
    [
      rowsOf(await operator.page('/categories/1'), 'Audit'),
      rowsOf(page, 'Audit'),
      rowsOf(page, 'Bans of the key'),
      rowsOf(why, 'Refusals by minute'),
      rowsOf(why, 'failures-rows'),
      rowsOf(requests, 'requests-rows'),
    ],
    [20, 20, 20, 60, 20, 100],
  );
  const all = `<p class="soft">The latest 20. <a href="/console/audit?target=${key.id}&amp;since=all">All of them</a></p>`;
  assert.ok(page.includes(all));
  assert.equal(rowsOf(await operator.page(`/audit?since=all&target=${key.id}`), 'Audit'), 21);
  assert.match(why, /11:58 UTC<\/time> to <time[^>]*>11:59<.*>2<.*>2</s);
  assert.match(why, /The latest error, <a href="[^"]*=call-20">/);
  const chart = `<a href="/console/keys/${key.id}?range=30d">chart of the key</a>`;
  assert.ok(why.includes(`And at 2 earlier times; the ${chart} shows them.`));
  assert.match(requests, />100 newest requests</);
  assert.match(requests, /<td class="number">\d+\.\d ms<\/td>/);
  await times(100, async (index) => {
    const { key: other } = await service.issue({ name: `n${index}`, owner: 'cus_1' });
    const used = { keyId: other.id, ...counts, first: now, last: now };
    await addUsage(storage, now, [used], `GET /v1/${index}`);
    if (index < 12) await storeBan(storage, { ...ban, keyId: other.id, startedAt: now, endsAt: now + DAY });
  });
  const { key: last } = await service.issue({ name: 'n100', owner: 'cus_1' });
  await addUsage(storage, now, [{ keyId: last.id, ...counts, first: now, last: now }], 'unknown');
  await times(11, (index) =>
    storage.audit.addEvent({ at: now + index, event: 'started', members: { version: '1' } }, OPERATOR),
  );
  assert.doesNotMatch(await operator.page(''), /class="soft">on <bdi>/);
  await storage.audit.addEvent({ at: now + 99, event: 'stopping', members: {} }, { actor: 'other', via: 'service' });
  const overview = await operator.page('');
  const owner = await operator.page('/owner?owner=cus_1');
  const several = await operator.page('/requests/why?q=n');
  assert.deepEqual(
    [
      overview.match(/<li class="panel danger">/g)?.length,
      rowsOf(overview, 'timeline'),
      rowsOf(owner, 'Usage by key'),
      rowsOf(owner, 'Usage by route'),
      rowsOf(several, 'which-heading'),
    ],
    [10, 10, 100, 100, 10],
  );
  assert.match(overview, /And 2 more, marked in the list of keys\./);
  assert.match(overview, /Stopped <span class="soft">on <bdi>other<\/bdi>.*Started, version 1.*<bdi>test<\/bdi>/s);
  assert.match(several, /These are the newest 10;/);
  assert.match(await operator.page(`/keys/${last.id}`), /counted before routes were/);
});

test('the pages of a list keep its filters, and lead back to its beginning', async () => {
  await using service = await testService();
  const { key } = await service.issue();
  const { storage, clock } = service;
  await storage.categories.insert({ name: 'c' }, { keyId: key.id });
  await storage.pets.insert({ name: 'p', categoryId: 1, status: 'available' }, { keyId: key.id });
  await storage.pets.setQuantity(1, 60);
  await times(51, () => storage.orders.insert({ petId: 1, quantity: 1 }, { keyId: key.id }));
  await times(51, (index) =>
    storage.pets.insert({ name: `${index}`, categoryId: 1, status: 'pending' }, { keyId: key.id }),
  );
  await storage.categories.import(Array(51).fill({ name: 'cat' }), OPERATOR, () => {});
  await times(51, (index) => storage.keys.update(key.id, { name: index % 2 === 0 ? 'k' : 'j' }, OPERATOR));
  const operator = await signIn(service);
  for (const [list, more, words] of [
    ['/orders?pet=1', '&after=50', ['First page', 'Next']],
    ['/pets/1', '?after=50', ['First page', 'Next']],
    ['/pets?status=pending&category=1', '&after=51', ['First page', 'Next']],
    ['/categories?q=cat', '&after=51', ['First page', 'Next']],
    ['/audit?q=k&actor=test&action=key.update', '&before=4', ['Newest', 'Older']],
  ] as const) {
    const next = (await operator.page(list)).match(/rel="next" href="\/console([^"]*)">([^<]*)</);
    assert.deepEqual([next?.[1]?.replaceAll('&amp;', '&'), next?.[2]], [`${list}${more}`, words[1]]);
    const first = (await operator.page(`${list}${more}`)).match(/rel="prev" href="\/console([^"]*)">([^<]*)</);
    assert.deepEqual([first?.[1]?.replaceAll('&amp;', '&'), first?.[2]], [list, words[0]]);
  }
  for (const [sort, created, order] of [
    ['', 'oldest', 'descending'],
    ['newest', 'oldest', 'descending'],
    ['oldest', 'newest', 'ascending'],
    ['name', 'newest', undefined],
  ] as const) {
    const head = /<th scope="col"( aria-sort="\w+")?><a href="\/console\/keys\?sort=(\w+)">Created</;
    const [, sorted, href] = head.exec(await operator.page(`/keys?sort=${sort}`)) ?? [];
    assert.deepEqual([href, sorted], [created, order && ` aria-sort="${order}"`], sort);
  }
  const { id } = (await service.issue({ name: 'old' })).key;
  for (const [days, since] of [
    [6, ['7d', '30d', '', 'all']],
    [2, ['30d', '', 'all']],
    [21, ['30d', '', 'all']],
    [2, ['all']],
  ] as const) {
    clock.advance(days * DAY);
    const later = await signIn(service);
    const listed: string[] = [];
    for (const asked of ['24h', '7d', '30d', '', 'all'])
      if (rowsOf(await later.page(`/audit?target=${id}&since=${asked}`), 'Audit') > 0) listed.push(asked);
    assert.deepEqual(listed, since);
  }
});

/** Sends a form with a file, as browsers do. */
function upload(service: TestService, { cookie, csrf }: SignedIn, path: string, fields: Record<string, string | File>) {
  const body = new FormData();
  for (const [name, value] of Object.entries({ csrf, ...fields })) body.set(name, value);
  return send(service, path, { body, headers: { cookie } });
}

test('a form takes what its bounds allow, and is shown again with what was entered', async () => {
  await using service = await testService();
  const operator = await signIn(service);
  const form = {
    name: 'x',
    plan: 'enterprise',
    perMinute: `${LIMIT_MAX}`,
    perDay: `${LIMIT_MAX}`,
    scopes: 'pets:read',
  };
  assert.equal((await operator.post('/keys', form)).status, 200);
  assert.equal((await operator.post('/keys', { ...form, perDay: `${LIMIT_MAX + 1}` })).status, 400);
  assert.equal((await upload(service, operator, '/keys', { name: 'x'.repeat(65 * 1024) })).status, 413);
  assert.equal((await upload(service, operator, '/keys', { name: 'x'.repeat(60 * 1024) })).status, 400);
  assert.equal((await send(service, '/login', { body: `token=${'x'.repeat(4_090)}`, headers: FORM })).status, 403);
  assert.equal((await send(service, '/login', { body: `token=${'x'.repeat(4_091)}`, headers: FORM })).status, 413);
  const importing = { cookie: operator.cookie, 'content-type': 'multipart/form-data; boundary=x' };
  const announced = await new Promise((resolve, reject) => {
    const headers = { ...importing, 'content-length': 32 * 1024 * 1024 + 1 };
    const sent = request(`${service.operatorUrl}/console/categories/import`, { method: 'POST', headers, agent: false });
    sent.on('response', ({ statusCode }) => resolve(statusCode)).on('error', reject);
    sent.flushHeaders();
  });
  assert.equal(announced, 413);
  const refused = await (await operator.post('/tokens', { name: ' ', role: 'admin', life: '90' })).text();
  assert.match(refused, /<option value="admin" selected>.*<option value="90" selected>/s);
  const lines = '\n'.repeat(102).replaceAll('\n', '{"name":""}\n');
  const file = new File([lines], 'names.csv');
  const bad = await upload(service, operator, '/categories/import', { format: 'ndjson', file });
  const text = await bad.text();
  assert.deepEqual([bad.status, rowsOf(text, 'Invalid records')], [400, 100]);
  assert.match(text, /102 records are invalid\..*And 2 more\./s);
  const { key } = await service.issue();
  const rotated = await (await operator.post(`/keys/${key.id}/rotate`, { grace: '604800' })).text();
  assert.match(rotated, /The old key works until <time datetime="2026-01-08T12:00:00Z"/);
  assert.match(
    await (await operator.post(`/keys/${key.id}/rotate`, { grace: '0' })).text(),
    /The old key no longer works\./,
  );
  await service.storage.keys.update(key.id, { expiresAt: service.clock.now().unix + 3_600 }, OPERATOR);
  assert.match(
    await (await operator.post(`/keys/${key.id}/rotate`, { grace: '604800' })).text(),
    /The old key works until <time datetime="2026-01-01T13:00:00Z"/,
  );
  const wrong = await operator.get('/keys/key_1/unban');
  assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'POST']);
  await service.storage.categories.insert({ name: 'Dog' }, { keyId: key.id });
  for (const [format, type, start] of [
    ['json', 'application/json', '['],
    ['', 'application/json', '['],
    ['ndjson', 'application/x-ndjson', '{'],
    ['csv', 'text/csv; charset=utf-8', 'i'],
  ] as const) {
    const exported = await operator.get(`/categories/export?format=${format}`);
    assert.deepEqual([exported.headers.get('content-type'), (await exported.text())[0]], [type, start], format);
  }
});

test('each change is confirmed in words of its own', async () => {
  await using service = await testService();
  const operator = await signIn(service);
  for (const [done, said] of [
    ['changed', 'The key was changed. The change takes effect within a second.'],
    ['unchanged', 'Nothing was changed.'],
    ['revoked', 'The key was revoked. Requests with it are refused.'],
    ['unbanned', 'The ban was lifted, on every instance within a second. The counts of the key were not reset.'],
    ['not-banned', 'The key was no longer banned.'],
    ['graces-ended', 'Only the newest secret of the key works, on every instance within a second.'],
    ['renamed', 'The category was renamed.'],
    ['deleted', 'The category was deleted.'],
    ['ended', 'The session was ended.'],
    ['token-revoked', 'The token was revoked. Requests with it are refused.'],
    ['not-open', 'That session had ended already.'],
  ] as const) {
    const text = await operator.page(`/settings?done=${done}`);
    assert.equal(/<p class="notice" role="status">([^<]*)</.exec(text)?.[1], said);
    assert.match(text, /<a href="\/console\/settings" aria-current="page">Settings<\/a>/);
    assert.equal(text.match(/aria-current="page"/g)?.length, 1);
  }
});

test('an overview without requests says what to do, and one with some how many there are in a second', async () => {
  await using service = await testService();
  const operator = await signIn(service);
  const busiest = async (query: string) =>
    /id="busiest-heading">.*<\/nav>\n(.*?)<\/section>/s
      .exec(await operator.page(query))?.[1]
      ?.replaceAll(/<[^>]*>/g, '')
      .trim();
  const none = 'There is no key yet.Every request to the API needs one. Create the first key';
  assert.equal(await busiest(''), none);
  const { secret } = await service.issue();
  assert.equal(
    await busiest(''),
    `No requests with a key in the last hour.A first request appears here within seconds: curl -H 'Authorization: Bearer YOUR_KEY' ${service.url}/categories`,
  );
  assert.equal(await busiest('?sort=refused'), 'None in the last hour.');
  await times(3, () => service.call(secret, '/categories'));
  const [, rate] = /<dt>Served \/s<\/dt><dd><a[^>]*>([^<]*)</.exec(await operator.page('')) ?? [];
  assert.match(rate ?? '', /^\d\.\d$/, 'below ten with a digit after the point');
});

test('a page waits half a second for slow work, and has its failure', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const work = Promise.withResolvers<string>();
  const result = keptResult(() => work.promise, { keptMs: 1_000, time: { steadyMs: () => 0 } });
  let given = 'nothing';
  const late = result().then((found) => {
    given = `${found}`;
  });
  t.mock.timers.tick(499);
  await new Promise(setImmediate);
  assert.equal(given, 'nothing');
  t.mock.timers.tick(1);
  await late;
  assert.equal(given, 'undefined');
  const failing = result();
  work.reject(new Error('no disk'));
  await assert.rejects(failing, /no disk/);
});

test('slow work is repeated so rarely that it takes a fiftieth of the time', async () => {
  let [nowMs, tookMs, runs] = [0, 10, 0];
  const result = keptResult(
    async () => {
      nowMs += tookMs;
      runs += 1;
      return runs;
    },
    { keptMs: 1_000, time: { steadyMs: () => nowMs } },
  );
  const after = async (ms: number) => {
    nowMs += ms;
    await result();
    return result();
  };
  assert.deepEqual([await after(0), await after(999), await after(1)], [1, 1, 2]);
  tookMs = 100;
  assert.deepEqual([await after(1_000), await after(4_999), await after(1)], [3, 3, 4]);
});
