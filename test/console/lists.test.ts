import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { secretRecord } from '../../src/catalog/api-key.ts';
import { storeBan } from '../kit/bans.ts';
import { signIn } from '../kit/console/visitor.ts';
import { OPERATOR } from '../kit/operator.ts';
import { testService } from '../kit/service.ts';

/** What operators find in the lists of the console, and how they narrow them down, without scripts. */

const DAY_SECONDS = 86_400;
const KEYS_PER_PAGE = 50;

test('keys are filtered, sorted and paged; a page counts all, and the next one keeps what is asked for', async () => {
  await using service = await testService();
  const { unix: now } = service.clock.now();
  const filtered = 'q=key&owner=o&plan=free&state=active&expiresBefore=90d&sort=name';
  for (let number = 0; number < KEYS_PER_PAGE + 5; number += 1) {
    service.clock.advance(1);
    await service.issue({ name: `key ${number}`, owner: 'o', expiresAt: now + 2 * DAY_SECONDS });
  }
  const ending = await service.issue({ name: 'ending', plan: 'pro', owner: 'cus_7', expiresAt: now + DAY_SECONDS });
  const operator = await signIn(service);
  const shown = async (path: string) => namesIn(await operator.page(path));
  const first = await operator.page('/keys');
  assert.equal(namesIn(first).length, KEYS_PER_PAGE);
  assert.match(first, />56 keys</);
  assert.doesNotMatch(first, /rel="first"/);
  assert.deepEqual(await shown(nextOf(first)), ['key 5', 'key 4', 'key 3', 'key 2', 'key 1', 'key 0']);
  assert.ok(nextOf(await operator.page(`/keys?${filtered}`)).startsWith(`/keys?${filtered}&cursor=`));
  for (const order of ['', '&sort=name']) {
    const second = await operator.page(nextOf(await operator.page(`/keys?q=key${order}`)));
    assert.ok(second.includes(`rel="first" href="/console/keys?q=key${order.replace('&', '&amp;')}"`));
    assert.deepEqual([namesIn(second).length, nextOf(second)], [6, '']);
  }
  for (const query of [`q=${ending.key.prefix}`, 'owner=cus_7', 'plan=pro', 'expiresBefore=36h'])
    assert.deepEqual(await shown(`/keys?${query}`), ['ending'], query);
  assert.equal((await shown('/keys?sort=oldest'))[0], 'key 0');
  const found = await operator.page('/keys?q=ending');
  assert.match(found, /href="\/console\/keys">Reset<.*until.*<time datetime="2026-01-02T/s);
  assert.doesNotMatch(first, />Reset</);
  assert.match(await operator.page('/keys?q=nothing'), /No key found/);
  assert.ok((await operator.page(`/keys?q=${'x'.repeat(129)}`)).includes(`value="${'x'.repeat(128)}"`));
  const owner = '🐈'.repeat(255);
  await service.issue({ name: 'long', owner });
  const link = await operator.page(`/owner?owner=${owner}`);
  assert.deepEqual(await shown(/href="\/console(\/keys\?owner=[^"]*)"/.exec(link)?.[1] ?? ''), ['long']);
});

test('the keys that the filters select are there as CSV, which no spreadsheet runs', async () => {
  await using service = await testService();
  for (let number = 0; number < 3; number += 1)
    await service.issue({ name: `=cmd|${number}`, plan: 'pro', owner: '@x' });
  const { key } = await service.issue({ name: 'other' });
  const now = service.clock.now().unix;
  await storeBan(service.storage, { keyId: key.id, startedAt: now, endsAt: now + 60, level: 1, reason: 'r' });
  for (let number = 0; number < 200; number += 1) await service.issue({ name: 'many', plan: 'pro' });
  const operator = await signIn(service, 'viewer');
  const [, path = ''] =
    /href="\/console(\/keys\/export[^"]*)"/.exec(await operator.page('/keys?plan=pro&sort=name')) ?? [];
  const file = await operator.get(path);
  assert.equal(file.headers.get('content-type'), 'text/csv; charset=utf-8');
  assert.equal(file.headers.get('content-disposition'), 'attachment; filename="keys.csv"');
  const all = parse(await file.text(), { columns: true }) as Record<string, string>[];
  assert.equal(all.length, 203);
  const records = all.filter(({ name }) => name !== 'many');
  assert.deepEqual(records.map(({ name }) => name).sort(), ["'=cmd|0", "'=cmd|1", "'=cmd|2"]);
  const [record] = records;
  assert.deepEqual(
    [record?.owner, record?.plan, record?.perMinute, record?.createdAt, record?.lastUsedAt],
    ["'@x", 'pro', '300', '2026-01-01T12:00:00Z', ''],
  );
  assert.match(await operator.page('/keys/export?q=other'), /,2026-01-01T12:01:00Z,0\n$/, 'the end of its ban');
});

test('the page of a key says when its old secret ends', async () => {
  await using service = await testService();
  const { key } = await service.issue();
  const now = service.clock.now().unix;
  const operator = await signIn(service);
  const path = `/keys/${key.id}`;
  assert.doesNotMatch(await operator.page(path), /The old secret ends/);
  await service.storage.keys.rotate(key.id, secretRecord('petcat_live_other'), {
    now,
    oldEndAt: now + 8_880,
    by: OPERATOR,
  });
  const text = await operator.page(path);
  assert.match(text, /The old secret ends <time[^>]*>2026-01-01 14:28 UTC<\/time><\/strong>, in 2 h/);
  assert.ok(text.includes(`<code>${key.prefix}…</code> works until then`));
  service.clock.advance(8_880);
  assert.doesNotMatch(await (await signIn(service)).page(path), /The old secret ends/);
});

test('categories are searched; pets, orders and categories lead to each other', async () => {
  await using service = await testService();
  const { storage } = service;
  const origin = { keyId: 'key_1' };
  for (const name of ['Dog', 'Cat', 'Hot dog', '100%']) await storage.categories.insert({ name }, origin);
  const { resource: rex } = await storage.pets.insert({ name: 'Rex', categoryId: 1, status: 'available' }, origin);
  await storage.pets.insert({ name: 'Minka', categoryId: 2, status: 'pending' }, origin);
  const { resource: tom } = await storage.pets.insert({ name: 'Tom', categoryId: 3, status: 'available' }, origin);
  for (const petId of [rex.id, tom.id]) await storage.orders.insert({ petId, quantity: 1 }, origin);
  const operator = await signIn(service);
  const shown = async (path: string) => namesIn(await operator.page(path));
  assert.deepEqual(await shown('/categories?q=dOG'), ['Hot dog', 'Dog']);

  assert.match(await operator.page('/categories/1?done=category.rename'), /The category was renamed\./);
  assert.match(await operator.page('/categories?done=category.delete'), /The category was deleted\./);
  const category = await operator.page('/categories/1');
  assert.match(
    category,
    /categories\/1\/rename">Rename<.*categories\/1\/delete">Delete<.*\/console\/pets\?category=1"/s,
  );
  const [, csv = ''] = /href="\/console([^"]*)"[^>]*>CSV</.exec(await operator.page('/categories')) ?? [];
  const file = await operator.get(csv);
  assert.equal(file.headers.get('content-disposition'), 'attachment; filename="categories.csv"');
  assert.match(
    await file.text(),
    /^id,name,description,createdAt,keyId,keyName,owner\n4,100%,,2026-01-01T12:00:00Z,key_1,,\n/,
  );
  assert.deepEqual(await shown('/pets?category=2'), ['Minka']);
  assert.deepEqual(await shown('/pets?status=sold'), ['Tom', 'Rex'], 'the orders took the last ones');
  const pets = await operator.page('/pets');
  assert.match(pets, /<span class="badge">sold<\/span>.*<span class="badge warning">pending<\/span>/s);
  const stocks = [...pets.matchAll(/data-column="Stock" class="number"><div>(\d+)</g)].map(([, stock]) => stock);
  assert.deepEqual(stocks, ['0', '1', '0']);
  assert.match(await operator.page('/audit'), /name="actor" type="search" value="" maxlength="255"/);
  const pet = await operator.page(`/pets/${rex.id}`);
  assert.match(pet, /href="\/console\/categories\/1">.*href="\/console\/orders\?pet=1">All orders of the pet/s);
  const orders = await operator.page(`/orders?pet=${rex.id}`);
  assert.match(orders, /href="\/console\/orders\/1">no. 1<\/a><\/th>.*href="\/console\/pets\/1"><bdi>Rex/s);
  assert.match(orders, /<span class="badge warning">open/);
});

test('a filter that selects by nothing there can be is refused, and an empty one is none', async () => {
  await using service = await testService();
  const { key, secret } = await service.issue({ name: 'shop' });
  const origin = { keyId: key.id };
  await service.storage.categories.insert({ name: 'Dog' }, origin);
  await service.storage.pets.insert({ name: 'Rex', categoryId: 1, status: 'available' }, origin);
  await service.storage.orders.insert({ petId: 1, quantity: 1 }, origin);
  await service.call(secret, '/pets');
  const operator = await signIn(service, 'viewer');
  const filters = {
    keys: ['state', 'plan', 'expiresBefore', 'sort'],
    audit: ['since'],
    pets: ['status', 'category'],
    orders: ['pet'],
    requests: ['status', 'route'],
  };
  for (const [list, names] of Object.entries(filters)) {
    for (const name of names) {
      const answer = await operator.get(`/${list}?${name}=<x>`);
      assert.equal(answer.status, 400, `${list}: ${name}`);
      const said = new RegExp(`role="alert">${name} is &quot;&lt;x&gt;&quot;; send `);
      assert.match(await answer.text(), said, `${list}: ${name}`);
    }
    await operator.page(`/${list}?${names.map((name) => `${name}=`).join('&')}`);
  }
  const selected = async (path: string) =>
    [...(await operator.page(path)).matchAll(/<option value="([^"]*)" selected>/g)].map(([, value]) => value);
  assert.deepEqual(await selected('/keys'), ['', '', '', '', '', 'newest']);
  assert.deepEqual(await selected('/audit'), ['', '', '']);
  assert.deepEqual(await selected('/audit?since=3d'), ['', '', '3d'], 'none of the usual ones');
  for (const path of ['/pets?category=%201', '/orders?pet=1%20'])
    assert.match(await operator.page(path), />Rex</, path);
  for (const path of ['/pets?cursor=1.', '/orders?cursor=1.', '/categories?cursor=1.'])
    assert.match(await operator.page(path), /type="search".*No (pet|order|category) found\..*First page/s, path);
});

test('an empty console says what to do next', async () => {
  await using service = await testService();
  const [operator, viewer] = [await signIn(service), await signIn(service, 'viewer')];
  const advice = {
    '': 'Create the first key',
    '/keys': 'Create the first key',
    '/categories': 'Import a file',
    '/pets': 'POST',
    '/orders': 'POST',
  };
  for (const [path, text] of Object.entries(advice)) {
    const [, empty = ''] = /class="empty"[^>]*>(.*?)<\/(?:div|section)>/s.exec(await operator.page(path)) ?? [];
    assert.ok(empty.includes(text), path);
    assert.doesNotMatch(await viewer.page(path), /href="[^"]*\/new"/, 'nothing that it may not');
  }
});

/** The names in the first column of a list. */
function namesIn(text: string): string[] {
  return [...text.matchAll(/<th scope="row"><a href="[^"]*"><bdi>([^<]*)<\/bdi>/g)].map(([, name = '']) => name);
}

function nextOf(text: string): string {
  return /rel="next" href="\/console([^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? '';
}
