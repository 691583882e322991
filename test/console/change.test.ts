import assert from 'node:assert/strict';
import { test } from 'node:test';
import { untilTrue } from '../kit/clock.ts';
import { fillWithLife } from '../kit/console/life.ts';
import { type SignedIn, send, signIn } from '../kit/console/visitor.ts';
import { json, type TestService, testService } from '../kit/service.ts';

/** What operators do in the console, without scripts, and what the service then does. */

test('an invalid form is shown again with the input, and every mistake beside its field', async () => {
  await using service = await testService();
  const operator = await signIn(service);
  const good = { name: 'Shop', plan: 'free', scopes: 'pets:read', expiresAt: '' };
  const wrong: [Record<string, string>, Record<string, RegExp>][] = [
    [{ name: ' ' }, { name: /^The name of a key/ }],
    [{ name: 'x'.repeat(101) }, { name: /^name is 101 characters/ }],
    [{ owner: 'x'.repeat(256) }, { owner: /^owner is 256 characters/ }],
    [{ plan: 'golden' }, { plan: /^plan is &quot;golden&quot;/ }],
    [{ scopes: 'everything' }, { scopes: /^scopes.0 is &quot;everything&quot;/ }],
    [{ plan: 'enterprise', 'limits.minute': '12' }, { limits: /^limits.day is &quot;&quot;/ }],
    [{ expiresAt: '2020-01-01 10:00' }, { expiresAt: /^The expiry of a key/ }],
    [{ expiresAt: '2026-02-30 10:00' }, { expiresAt: /^expiresAt is/ }],
    [
      {
        name: ' ',
        plan: 'enterprise',
        'limits.minute': '0',
        'limits.day': 'x',
        scopes: 'no',
        expiresAt: '2026-02-30x',
      },
      { name: /name/, limits: /limits/, scopes: /scopes/, expiresAt: /^expiresAt/ },
    ],
  ];
  const { key } = await service.issue();
  for (const [fields, messages] of wrong) {
    for (const path of ['/keys/new', `/keys/${key.id}/edit`]) {
      const response = await operator.post(path, { ...good, ...fields });
      const text = await response.text();
      assert.equal(response.status, 400);
      const beside = [...text.matchAll(/<p class="fault" id="(\w+)-mistake">([^<]*)</g)];
      assert.deepEqual(
        beside.map(([, field]) => field),
        Object.keys(messages),
      );
      for (const [, field = '', message = ''] of beside) {
        assert.match(message, messages[field] ?? /^$/);
        assert.ok(text.includes(`<li><a href="#${field}">${message}</a></li>`), `${field} is not in the summary`);
        assert.match(
          text,
          new RegExp(`<[^>]* id="${field}"[^>]* aria-invalid="true" aria-describedby="${field}-mistake`),
        );
      }
      if (!('name' in fields)) assert.match(text, /name="name" value="Shop"/);
    }
  }
  assert.equal((await service.storage.keys.list()).length, 1);
});

test('the form of a key has what it has, and limits only where they are its own', async () => {
  await using service = await testService();
  const operator = await signIn(service);
  const form = async (wanted: Parameters<typeof service.issue>[0]) => {
    const { key } = await service.issue({ ...wanted, expiresAt: Date.UTC(2026, 2, 4) / 1_000 });
    const text = await operator.page(`/keys/${key.id}/edit`);
    return ['limits.minute', 'limits.day', 'expiresAt'].map(
      (name) => new RegExp(`<input[^>]* name="${name}"[^>]* value="([^"]*)"`).exec(text)?.[1],
    );
  };
  assert.deepEqual(await form({ plan: 'enterprise', limits: { minute: 7, day: 70 } }), ['7', '70', '2026-03-04 00:00']);
  assert.deepEqual(await form({ plan: 'pro' }), ['', '', '2026-03-04 00:00']);
  const { key } = await service.issue({ name: 'shop', owner: 'cus 1' });
  const fields = { name: 'shop', owner: 'cus 1', plan: 'free', scopes: [...key.scopes], expiresAt: '' };
  const saved = async (change: object) => {
    await operator.post(`/keys/${key.id}/edit`, { ...fields, ...change });
    const found = await service.storage.keys.find(key.id);
    return [found?.plan, found?.name, found?.owner];
  };
  assert.deepEqual(await saved({ plan: 'pro' }), ['pro', 'shop', 'cus 1']);
  assert.deepEqual(await saved({ name: 'other', owner: '' }), ['free', 'other', null]);
});

test('a ban is on the overview and on the page of the key with its reason, and is lifted there', async () => {
  await using service = await testService();
  const { bannedKey } = await fillWithLife(service);
  const operator = await signIn(service);
  for (const path of ['', `/keys/${bannedKey}`]) {
    assert.match(await operator.page(path), /refused 61 more times within a minute of a 429/);
  }
  assert.match(await operator.page('/keys'), /Nightly reports[\s\S]*?banned/);
  const lifted = await operator.post(`/keys/${bannedKey}/unban`);
  assert.equal(lifted.headers.get('location'), `/console/keys/${bannedKey}?done=ban.lift`);
  assert.match(await operator.page(''), /No key is banned/);
  assert.match((await operator.post(`/keys/${bannedKey}/unban`)).headers.get('location') ?? '', /ban.lift-nothing$/);
});

test('a file is imported whole, with its progress, and exported unchanged', async () => {
  await using service = await testService();
  const { secret } = await service.issue({ plan: 'business' });
  const operator = await signIn(service);
  const categories = Array.from({ length: 1_500 }, (_, index) => ({
    name: `Käfer ${index}`,
    description: 'a, "b"\nc',
  }));
  const location = await upload(service, operator, 'many.json', JSON.stringify(categories));
  assert.match(location.headers.get('location') ?? '', /^\/console\/categories\/import\/[\w-]+$/);
  const job = (location.headers.get('location') ?? '').slice('/console'.length);
  await untilTrue(async () => /1,500 categories were imported/.test(await operator.page(job)));
  await untilTrue(async () => (await json<unknown[]>(service.call(secret, '/categories'))).length === 1_500);

  for (const format of ['json', 'ndjson', 'csv']) {
    const file = await operator.get(`/categories/export?format=${format}`);
    assert.equal(file.headers.get('content-disposition'), `attachment; filename="categories.${format}"`);
    const again = await upload(service, operator, `again.${format}`, await file.text());
    const path = (again.headers.get('location') ?? '').slice('/console'.length);
    await untilTrue(async () => /were imported/.test(await operator.page(path)));
  }
  // Each export holds all that there was, so that each import doubles it.
  assert.equal((await service.storage.categories.list()).length, 12_000);
  const last = await service.storage.categories.find(12_000);
  assert.deepEqual(last, { id: 12_000, ...categories.at(-1) });
});

test('a file with errors imports nothing and reports each with its line', async () => {
  await using service = await testService({ CATEGORIES_MAX: '10' });
  const operator = await signIn(service);
  const lines = [{ name: 'Dog' }, { name: '' }, { title: '<b>' }].map((each) => JSON.stringify(each)).join('\n');
  const wrong = await upload(service, operator, 'some.ndjson', lines);
  const text = await wrong.text();
  assert.equal(wrong.status, 400);
  assert.match(text, /2 records are invalid/);
  assert.match(
    text,
    /<td class="number">2<\/td>[\s\S]*name is empty[\s\S]*<td class="number">3<\/td>[\s\S]*name is missing/,
  );

  for (const [name, content, message] of [
    ['some.txt', '[]', /does not show the format/],
    ['some.json', '[]', /contains no categories/],
    ['some.csv', Buffer.from([0x6e, 0xff, 0xfe]), /not UTF-8 text/],
    ['', '', /Choose a file/],
  ] as const) {
    const refused = await upload(service, operator, name, content);
    assert.equal(refused.status, 400);
    assert.match(await refused.text(), message);
  }
  const part = (head: string, value = '') =>
    `--boundary\r\nContent-Disposition: form-data; ${head}\r\n\r\n${value}\r\n`;
  const unchosen = await send(service, '/categories/import', {
    body: `${part('name="csrf"', operator.csrf)}${part('name="file"; filename=""')}--boundary--\r\n`,
    headers: { cookie: operator.cookie, 'content-type': 'multipart/form-data; boundary=boundary' },
  });
  assert.match(await unchosen.text(), /Choose a file/, 'as browsers send a form without one');
  const tooMany = Array.from({ length: 11 }, (_, index) => ({ name: `${index}` }));
  const started = await upload(service, operator, 'many.json', JSON.stringify(tooMany));
  const job = (started.headers.get('location') ?? '').slice('/console'.length);
  await untilTrue(async () => /Nothing was imported\. The catalog holds 10/.test(await operator.page(job)));
  assert.equal((await service.storage.categories.list()).length, 0);
});

test('every way to exceed the bound of the list is refused and names the bound', async () => {
  await using service = await testService({ CATEGORIES_BYTES_MAX: '1024' });
  const { secret } = await service.issue();
  const operator = await signIn(service);
  const create = (name: string) =>
    service.call(secret, '/categories', {
      method: 'POST',
      body: new Blob([JSON.stringify({ name })], { type: 'application/json' }),
    });
  for (let length = 0; length < 4; length += 1) assert.equal((await create('x'.repeat(230))).status, 201);
  const refused = await create('x'.repeat(230));
  assert.equal(refused.status, 409);
  const { code, message } = (await refused.json()) as { code: string; message: string };
  assert.equal(code, 'catalog_full');
  assert.match(message, /1024 bytes.*CATEGORIES_BYTES_MAX/);

  const list = await (await service.call(secret, '/categories')).text();
  const renamed = await operator.post('/categories/1/rename', { name: 'ß'.repeat(200) });
  assert.equal(renamed.status, 409);
  assert.match(await renamed.text(), /<li>The list of all categories.*CATEGORIES_BYTES_MAX/);
  const started = await upload(
    service,
    operator,
    'some.json',
    JSON.stringify([{ name: 'a' }, { name: 'b'.repeat(90) }]),
  );
  const job = (started.headers.get('location') ?? '').slice('/console'.length);
  await untilTrue(async () =>
    /imported.*CATEGORIES_BYTES_MAX\); of the 2 .* first 1 would/.test(await operator.page(job)),
  );
  assert.equal(await (await service.call(secret, '/categories')).text(), list);
  assert.equal((await create('y')).status, 201);
});

test('an upload needs the token of the session too', async () => {
  await using service = await testService();
  const operator = await signIn(service);
  const refused = await upload(service, { ...operator, csrf: 'x' }, 'one.json', '[{"name":"Dog"}]');
  assert.equal(refused.status, 403);
  assert.equal((await service.storage.categories.list()).length, 0);
});

function upload(
  service: TestService,
  { cookie, csrf }: SignedIn,
  name: string,
  content: string | Uint8Array<ArrayBuffer>,
): Promise<Response> {
  const body = new FormData();
  body.set('csrf', csrf);
  body.set('format', '');
  body.set('file', new File([content], name));
  return send(service, '/categories/import', { body, headers: { cookie } });
}
