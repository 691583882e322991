import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CatalogError } from '../../src/catalog/error.ts';
import type { Storage } from '../../src/catalog/storage.ts';
import { Imports } from '../../src/operator/catalog/import-job.ts';
import { untilEqual, untilTrue } from '../kit/clock.ts';
import { type SignedIn, send, signIn } from '../kit/console/visitor.ts';
import { OPERATOR } from '../kit/operator.ts';
import { json, type TestService, testService } from '../kit/service.ts';
import { addUsage, usageAt } from '../kit/usage.ts';

/** What operators do in the console, without scripts, and what the service then does. */

test('an invalid form is shown again with the input, and every mistake beside its field', async () => {
  await using service = await testService();
  const operator = await signIn(service);
  const good = { name: 'Shop', plan: 'free', scopes: 'pets:read', expiresAt: '' };
  const wrong: [Record<string, string>, Record<string, RegExp>][] = [
    [{ name: ' ' }, { name: /^The name of a key/ }],
    [{ plan: 'enterprise', 'limits.minute': '12' }, { limits: /^limits.day is &quot;&quot;/ }],
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
    const answer = await operator.post(`/keys/${key.id}/edit`, { ...fields, ...change });
    const found = await service.storage.keys.find(key.id);
    return [answer.headers.get('location')?.split('=')[1], found?.plan, found?.name, found?.owner];
  };
  assert.deepEqual(await saved({}), ['unchanged', 'free', 'shop', 'cus 1']);
  assert.deepEqual(await saved({ plan: 'pro' }), ['key.update', 'pro', 'shop', 'cus 1']);
  assert.deepEqual(await saved({ name: 'other', owner: '' }), ['key.update', 'free', 'other', null]);
});

test('a key offers what its state allows, and each page says what the change would do', async () => {
  await using service = await testService();
  const { storage, clock } = service;
  const now = clock.now().unix;
  const { key } = await service.issue({ name: 'shop', expiresAt: now + 600 });
  const operator = await signIn(service);
  const path = `/keys/${key.id}`;
  const offered = async () =>
    [...(await operator.page(path)).matchAll(/<a class="button[^"]*" href="[^"]*">(\w+)</g)].map(([, label]) => label);
  assert.deepEqual(await offered(), ['Change', 'Rotate', 'Pause', 'Revoke']);
  assert.match(await operator.page(path), /<dt>Created<\/dt><dd><time.*<\/time> by <a [^>]*><bdi>test<\/bdi>/);
  assert.match(await operator.page(`${path}/revoke`), /It made no requests in the last 24 hours/);
  await addUsage(storage, now - 82_800, [usageAt(key.id, now - 82_800)]);
  assert.match(await operator.page(`${path}/revoke`), /It made <strong>1 request<\/strong> in the last 24 hours/);
  const rotated = await (await operator.post(`${path}/rotate`, { grace: '24h' })).text();
  assert.match(rotated, /The old key works until <time datetime="2026-01-01T12:10:00Z"/, 'the key expires then');
  await operator.post(`${path}/pause`);
  assert.equal((await offered())[2], 'Resume');
  clock.advance(601);
  const fields = { name: 'old', plan: 'free', scopes: [...key.scopes], expiresAt: '2026-01-01 12:10' };
  assert.equal((await operator.post(`${path}/edit`, fields)).status, 303, 'its expiry was no mistake when it was set');
  await storage.keys.revoke(key.id, now, OPERATOR);
  assert.deepEqual(await offered(), []);
});

test('a file is imported whole, and exported unchanged', async () => {
  await using service = await testService();
  const { secret } = await service.issue({ plan: 'business' });
  const operator = await signIn(service);
  const categories = Array.from({ length: 30 }, (_, index) => ({
    name: `Käfer ${index}`,
    description: 'a, "b"\nc',
  }));
  const job = await begin(service, operator, 'many.json', JSON.stringify(categories));
  await untilTrue(async () => /30 categories were imported/.test(await operator.page(job)));
  await untilTrue(async () => (await json<unknown[]>(service.call(secret, '/categories'))).length === 30);

  for (const format of ['json', 'ndjson', 'csv']) {
    const file = await operator.get(`/categories/export?format=${format}`);
    assert.equal(file.headers.get('content-disposition'), `attachment; filename="categories.${format}"`);
    const path = await begin(service, operator, `again.${format}`, await file.text());
    await untilTrue(async () => /were imported/.test(await operator.page(path)));
  }
  // Each export holds all that there was, so that each import doubles it.
  assert.equal((await service.storage.categories.list()).length, 240);
  const last = await service.storage.categories.find(240);
  assert.deepEqual(last, { id: 240, ...categories.at(-1) });
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

  const many = await (await upload(service, operator, 'many.ndjson', '{}\n'.repeat(101))).text();
  assert.match(many, />1<\/td><td>.*>100<\/td><td>(?!.*>101<\/td>).*And 1 more\./s);

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
  const job = await begin(service, operator, 'many.json', JSON.stringify(tooMany));
  await untilTrue(async () => /Nothing was imported\. The catalog holds 10/.test(await operator.page(job)));
  assert.equal((await service.storage.categories.list()).length, 0);
});

test('imports run one at a time and report their progress and errors', async () => {
  let progress: (inserted: number) => void = () => {};
  let end = Promise.withResolvers<void>();
  const defects: unknown[] = [];
  const storage = {
    categories: {
      import: (_all: unknown, _by: unknown, onProgress: (inserted: number) => void) => {
        progress = onProgress;
        return end.promise;
      },
    },
  } as unknown as Storage;
  const imports = new Imports(storage);
  const start = () => imports.start([{ name: 'Dog' }, { name: 'Cat' }], OPERATOR, (error) => defects.push(error));

  const first = start();
  progress(1);
  assert.deepEqual(imports.find(first), { total: 2, inserted: 1, failure: undefined });
  assert.throws(start, /Another import is running/);
  end.resolve();
  await untilTrue(async () => imports.find(first)?.failure === null);

  end = Promise.withResolvers();
  const full = start();
  end.reject(new CatalogError('catalog_full', 'The catalog is full'));
  await untilEqual(() => imports.find(full)?.failure, 'Nothing was imported. The catalog is full');
  assert.equal(defects.length, 0);

  end = Promise.withResolvers();
  const broken = start();
  end.reject(new Error('a secret of the engine'));
  await untilTrue(async () => imports.find(broken)?.failure?.endsWith('The import failed; see the log') === true);
  assert.equal(defects.length, 1);

  end = Promise.withResolvers();
  const unknown = start();
  end.reject(new CatalogError('outcome_unknown', 'The answer was lost'));
  await untilTrue(async () => imports.find(unknown)?.failure?.startsWith('The outcome is unknown') === true);

  end = Promise.withResolvers();
  end.resolve();
  const ids: string[] = [];
  for (let more = 0; more < 20; more += 1) {
    const id = start();
    ids.push(id);
    await untilTrue(async () => imports.find(id)?.failure === null);
  }
  assert.ok(imports.find(ids[0] ?? ''), 'the last twenty');
  assert.equal(imports.find(first), undefined, 'only the last ones are remembered');
});

test('the page of an import shows its progress while it runs', async () => {
  await using service = await testService();
  const operator = await signIn(service);
  const lines = Array.from({ length: 20_000 }, (_, index) => `{"name":"${index}"}\n`).join('');
  const job = await begin(service, operator, 'many.ndjson', lines);
  const running = await operator.page(job);
  const [, inserted = ''] = /<label for="progress">([\d,]+) of 20,000<\/label>/.exec(running) ?? [];
  assert.match(inserted, /^[1-9]/);
  assert.match(running, /<progress id="progress" max="20000" value="[1-9]\d*" data-hurry>/);
  assert.match(running, /<div id="job" data-live>.*The import continues if you leave this page\./s);
  const reload = '<noscript><meta http-equiv="refresh" content="1"></noscript>';
  assert.ok(running.includes(reload), 'without scripts it follows all the same');
  await untilTrue(async () => /20,000 categories were imported/.test(await operator.page(job)));
  assert.ok(!(await operator.page(job)).includes(reload));
  Object.assign(service.storage.categories, { import: () => Promise.reject(new Error('<no> disk')) });
  const failed = await begin(service, operator, 'many.ndjson', lines);
  await untilTrue(async () => !(await operator.page(failed)).includes('<progress'));
  assert.match(
    await operator.page(failed),
    /<p class="mistake" role="alert">Nothing was imported\. The import failed; see the log\.<\/p>\n<p><a class="button" href="\/console\/categories\/import">/,
  );
  assert.deepEqual(service.events.failures, [new Error('<no> disk')]);
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

/** Begins an import. Resolves with the path of its page. */
async function begin(...sent: Parameters<typeof upload>): Promise<string> {
  const { headers } = await upload(...sent);
  const [, path] = /^\/console(\/categories\/import\/[\w-]+)$/.exec(headers.get('location') ?? '') ?? [];
  return path ?? assert.fail(`led to ${headers.get('location')}`);
}
