import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { ERROR_CODES } from '../src/catalog/error.ts';
import { PLANS } from '../src/catalog/plan.ts';
import { ERROR_GUIDE } from '../src/http/docs/error-guide.ts';
import { STATUS_OF } from '../src/http/errors.ts';
import { OPERATIONS } from '../src/http/operations.ts';
import { json, type TestService, testService } from './kit/service.ts';

/** The pages beside the API, over real HTTP, as programs see them; a browser looks at them in browser/. */

const PAGES = [
  '/docs',
  '/docs/authentication',
  '/docs/limits',
  '/docs/errors',
  '/docs/paging',
  '/docs/conditional',
  '/docs/retries',
  '/docs/recipes',
  '/docs/browsers',
  '/docs/testing',
  '/docs/versions',
  '/docs/changelog',
  '/docs/deprecations',
  '/docs/reference',
];
/** As small as each coding is asked to make a text. */
const SMALL = {
  br: (text: string) => brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (text: string) => gzipSync(text, { level: 9 }),
};

/** One for all, so that it renders each page once. */
const service = await testService();
after(() => service[Symbol.asyncDispose]());

test('every page of the documentation is HTML with a strict policy, a lifetime and a validator, and refers to no other host', async () => {
  for (const path of PAGES) {
    const response = await get(service, path);
    const { headers } = response;
    assert.equal(response.status, 200, path);
    assert.equal(headers.get('content-type'), 'text/html; charset=utf-8');
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.equal(headers.get('cache-control'), 'public, max-age=300');
    assert.equal(headers.get('referrer-policy'), 'no-referrer');
    assert.equal(headers.get('x-ratelimit-limit'), null);
    const policy = new Map(
      (headers.get('content-security-policy') ?? '').split('; ').map((each) => splitAt(each, ' ')),
    );
    assert.equal(policy.get('default-src'), "'none'");
    for (const own of ['style-src', 'script-src', 'img-src', 'connect-src']) assert.equal(policy.get(own), "'self'");
    for (const forbidden of ['base-uri', 'frame-ancestors', 'form-action']) {
      assert.equal(policy.get(forbidden), "'none'", forbidden);
    }
    const again = await get(service, path, { 'if-none-match': headers.get('etag') ?? '' });
    assert.deepEqual([again.status, await again.text()], [304, '']);
    for (const name of ['cache-control', 'etag', 'vary', 'content-security-policy', 'referrer-policy'])
      assert.equal(again.headers.get(name), headers.get(name), name);
    const several = `"another", W/${headers.get('etag')}`;
    assert.equal((await get(service, path, { 'if-none-match': several })).status, 304);
    assert.equal((await get(service, path, { 'if-none-match': '*' })).status, 304);
    assert.equal((await get(service, path, { 'if-none-match': '"another"' })).status, 200);
    const posted = await fetch(origin(service) + path, { method: 'POST', headers: { connection: 'close' } });
    assert.equal(posted.status, 405);
    const text = await response.text();
    assert.doesNotMatch(text, /<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/i, path);
    const targets = [...text.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, target = '']) => target);
    assert.ok(targets.length > 5);
    for (const target of targets) assert.match(target, /^(\/(?!\/)|#)/, `${path} refers to ${target}`);
  }
  const { status, headers } = await get(service, '/docs/');
  assert.deepEqual([status, headers.get('location')], [308, '/docs']);
});

test('each page says what it is about, where it stands and which chapters it has; its groups of samples are apart', async () => {
  for (const [index, path] of PAGES.entries()) {
    const text = await page(service, path);
    const beside = [...text.matchAll(/<a href="([^"]+)" rel="(?:prev|next)">/g)].map(([, target]) => target);
    const around = path === '/docs/reference' ? [] : [PAGES[index - 1], PAGES[index + 1]];
    assert.deepEqual(beside, around.filter(Boolean), path);
    assert.deepEqual(
      [...text.matchAll(/<a href="([^"]+)" aria-current="page">/g)].map(([, open]) => open),
      [path],
    );
    assert.match(text, /<meta name="description" content="[A-Z].{15}/, path);
    const chapters = [...text.matchAll(/<section id="([^"]+)"[^>]* class="chapter">/g)].map(([, id]) => `#${id}`);
    const listed = /<nav class="on-page"[\s\S]*?<\/nav>/.exec(text)?.[0] ?? '';
    const links = [...listed.matchAll(/href="([^"]+)"/g)].map(([, target]) => target);
    assert.deepEqual(links, chapters.length < 3 ? [] : chapters, path);
    const groups = [...text.matchAll(/<fieldset class="sample tabs">.*?name="([^"]+)"/g)].map(([, name]) => name);
    assert.equal(new Set(groups).size, groups.length, `${path}: ${groups}`);
  }
});

test('every link and every asset of every page is there, fragments included', async () => {
  const found = new Map<string, string>();
  const follow = async (path: string) => {
    if (found.has(path)) return;
    const response = await get(service, path);
    assert.equal(response.status, 200, path);
    const text = await response.text();
    found.set(path, text);
    if (!response.headers.get('content-type')?.startsWith('text/html')) return;
    for (const [, target = ''] of text.matchAll(/(?:href|src)="([^"]+)"/g)) {
      const [there = '', fragment] = splitAt(target, '#');
      await follow(there || path);
      if (fragment) assert.ok(found.get(there || path)?.includes(`id="${fragment}"`), `${path} links to ${target}`);
    }
  };
  for (const path of PAGES) await follow(path);
  for (const path of [...PAGES, '/openapi.json', '/openapi.yaml', '/llms.txt'])
    assert.ok(found.has(path), `${path} is not linked`);
});

test('assets are named after their content and kept for ever', async () => {
  const paths = assetsOf(await page(service, '/docs/reference'));
  assert.ok(new Set(paths).size >= 6);
  for (const path of paths) {
    const response = await get(service, path);
    assert.match(path, /-[0-9a-f]{16}\.(js|css|svg)$/);
    assert.equal(response.headers.get('cache-control'), 'public, max-age=31536000, immutable');
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
    const type = { js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' }[path.split('.').at(-1) ?? ''];
    assert.equal(response.headers.get('content-type')?.split(';')[0], type);
  }
  assert.equal((await get(service, '/docs/assets/site-0000000000000000.css')).status, 404);
});

test('a page or an asset is compressed as the client accepts, each coding under a validator of its own', async () => {
  for (const path of ['/docs/limits', ...assetsOf(await page(service, '/docs'))]) {
    const plain = await get(service, path, { 'accept-encoding': 'identity' });
    const text = await plain.text();
    assert.equal(plain.headers.get('content-encoding'), null);
    const etags = new Set([plain.headers.get('etag')]);
    for (const [accepted, coding] of [
      ['gzip, deflate, br', 'br'],
      ['gzip', 'gzip'],
      ['br;q=bad, GZip ; Q=0.5', 'gzip'],
      ['br;q=0.001, gzip', 'br'],
      ['br;level=9, gzip', 'br'],
    ] as const) {
      const response = await get(service, path, { 'accept-encoding': accepted });
      assert.equal(response.headers.get('content-encoding'), coding, accepted);
      assert.equal(response.headers.get('vary'), 'Accept-Encoding');
      const { length } = SMALL[coding](text);
      assert.ok(length < Buffer.byteLength(text), path);
      assert.equal(response.headers.get('content-length'), `${length}`, `${path} in ${coding}`);
      assert.equal(await response.text(), text);
      etags.add(response.headers.get('etag'));
    }
    assert.equal(etags.size, 3, path);
  }
  assert.equal((await get(service, '/docs', { 'accept-encoding': 'br;q=0' })).headers.get('content-encoding'), null);
});

test('each place that the search finds is there, and what is no page is a section of one', async () => {
  const found = await get(service, '/docs/search.json');
  const entries = (await found.json()) as { title: string; place: string; path: string; text: string }[];
  const pages = new Map<string, string>();
  for (const { title, place, path } of entries) {
    const [address = '', id] = path.split('#');
    const text = pages.get(address) ?? (await page(service, address));
    pages.set(address, text);
    assert.equal(id === undefined, place === 'Page', `${title}: ${path}`);
    if (id !== undefined) assert.ok(text.includes(` id="${id}"`), `${title}: ${path}`);
  }
  assert.equal(new Set(entries.map(({ path }) => path)).size, entries.length, 'no two lead to the same place');
  assert.ok(pages.size > 5);
  const byId = entries.filter(({ text }) => text.endsWith('(listPets)'));
  assert.deepEqual(
    byId.map(({ title, path }) => [title, path]),
    [['List pets', '/docs/reference#listPets']],
  );
});

test('every page is there as Markdown, whose links lead to Markdown, and llms.txt lists them', async () => {
  const list = await page(service, '/llms.txt');
  for (const path of PAGES) {
    const response = await get(service, `${path}.md`);
    assert.equal(response.headers.get('content-type'), 'text/markdown; charset=utf-8', path);
    const text = await response.text();
    assert.match(text, /^# \w/);
    assert.doesNotMatch(text, /127\.0\.0\.1:8080/, path);
    assert.match(
      list,
      new RegExp(`^- \\[\\w[\\w ]+\\]\\(${path}\\.md\\): \\w.{15}`, 'm'),
      `llms.txt does not list ${path}`,
    );
    for (const [, target = ''] of text.matchAll(/\]\((?!https:)([^)#]+)/g)) {
      assert.equal((await get(service, target)).status, 200, `${path}.md links to ${target}`);
    }
  }
  assert.match(
    list,
    /^# Pet Catalog Service\n\n> Manages pet .*\n[\s\S]*\(\/openapi\.json\): also as \[YAML\]\(\/openapi\.yaml\)\n$/,
  );
  assert.ok(
    list.includes('\n- [Reference](/docs/reference.md): every operation with its fields, errors and a sample\n'),
  );
  const reference = await page(service, '/docs/reference.md');
  for (const { id, method, path } of OPERATIONS)
    assert.ok(reference.includes(`\`${id}\`: \`${method} /v1${path}\``), id);
  const sectionOf = (title: string) => reference.split(`\n### ${title}\n`)[1]?.split('\n### ')[0] ?? '';
  const [create, one] = [sectionOf('Create a category'), sectionOf('Get a category')];
  assert.match(create, /^- `Location`: The address of the created category\.$/m);
  assert.match(create, /^- `Idempotency-Replayed`: /m);
  assert.doesNotMatch(create, /304/);
  assert.match(one, /^- `ETag`: Strong validator .*\n\nResponse 304, without a body: if `If-None-Match` holds/m);
  assert.match(reference, /^Every response carries .* Unknown members of a body are ignored/m);
});

test('what programs read of the documentation has its type, and the lifetime of a page', async () => {
  for (const [path, type] of [
    ['/openapi.json', 'application/json'],
    ['/openapi.yaml', 'application/yaml'],
    ['/llms.txt', 'text/plain; charset=utf-8'],
    ['/docs/search.json', 'application/json'],
    ['/docs/limits.md', 'text/markdown; charset=utf-8'],
  ] as const) {
    const { headers } = await get(service, path);
    assert.deepEqual([headers.get('content-type'), headers.get('cache-control')], [type, 'public, max-age=300'], path);
  }
});

test('a page of the documentation that does not exist is a page, and other addresses an Error body', async () => {
  for (const path of ['/docs/nothing', '/docs/errors/', '/docs/nothing.md', '/docs/assets/none.css']) {
    const response = await get(service, path, { 'if-none-match': '*' });
    const { headers } = response;
    assert.deepEqual(
      [response.status, headers.get('content-type'), headers.get('etag')],
      [404, 'text/html; charset=utf-8', null],
      path,
    );
    assert.deepEqual(
      [headers.get('vary'), headers.get('cache-control'), service.events.answered.at(-1)?.code],
      ['Accept-Encoding', 'no-store', 'not_found'],
    );
    assert.match(headers.get('content-security-policy') ?? '', /^default-src 'none'; /);
    const text = await response.text();
    assert.match(text, /<h1>Not found<\/h1>[\s\S]*href="\/docs"/);
    assert.doesNotMatch(text, /aria-current|\.md"/);
  }
  assert.equal((await json<{ code: string }>(get(service, '/nothing'))).code, 'not_found');
});

test('the reference has each operation with its fields, bounds, scope and errors', async () => {
  const text = await page(service, '/docs/reference');
  for (const {
    id,
    permission: scope,
    stability,
    deprecation,
    body,
    success,
    errors = [],
    queryParameters = [],
  } of OPERATIONS) {
    const section = new RegExp(`<section id="${id}" class="operation"[^]*?</section>`).exec(text)?.[0] ?? '';
    const ends = deprecation && `deprecated, ends ${new Date(deprecation.sunset * 1_000).toISOString().slice(0, 10)}`;
    const badges = [...section.matchAll(/<a class="badge[^>]*>([^<]*)</g)].map(([, badge]) => badge);
    assert.deepEqual(badges, [stability, ends].filter(Boolean), id);
    if (scope !== 'any') assert.ok(section.includes(`<code>${scope}</code>`), `${id} lacks its scope`);
    for (const { name } of queryParameters) assert.ok(section.includes(`id="${id}.query.${name}"`), `${id} ${name}`);
    for (const name of membersOf(body?.schema)) assert.ok(section.includes(`id="${id}.body.${name}"`));
    for (const name of membersOf(success.schema)) assert.ok(section.includes(`id="${id}.response.${name}"`));
    const hasValues = body !== undefined || queryParameters.length > 0;
    assert.equal(section.includes('href="/docs/errors#validation_failed"'), hasValues, id);
    for (const code of errors) assert.ok(section.includes(`href="/docs/errors#${code}"`), `${id} lacks ${code}`);
    assert.equal(section.match(/<div data-language="\w+"><pre><code>[^<\s]*\S/g)?.length, 5, `${id} lacks samples`);
  }
  const one = /<section id="getCategory"[\s\S]*?<\/section>/.exec(text)?.[0] ?? '';
  assert.match(
    one,
    /<strong>200<\/strong>[\s\S]*id="getCategory\.response\.id"[\s\S]*<strong>304<\/strong>/,
    'fields are of the 200',
  );
  for (const [id, said] of [
    ['createCategory.body.name', /string<\/span> <strong class="required">required</],
    ['createCategory.body.name', /1 to 255 characters; at least one character that is not white space/],
    ['createCategory.body.description', /string<\/span> <strong class="required"></],
    ['createCategory.body.description', /Up to 2,000 characters/],
    ['createCategory.response.id', /integer<\/span><\/p>/],
    ['createCategory.response.description', /string<\/span> <span class="type">optional</],
    ['listPets.query.status', /One of <code>available<\/code>/],
    ['listPets.query.limit', /default <code>20<\/code>/i],
  ] as const) {
    assert.match(new RegExp(`<li id="${id.replaceAll('.', '\\.')}">[^]*?</li>`).exec(text)?.[0] ?? '', said, id);
  }
  assert.match(one, /<code>ETag<\/code> <span class="type">header</);
  assert.match(one, /#not_found"><code>not_found<\/code><\/a> <span class="status">404</);
  assert.doesNotMatch(text, /\\u0000/);
});

test('the reference and the contract name the other environment only where its address is set', async () => {
  const address = 'https://api.example.org/v1';
  for (const [settings, named] of [
    [{}, { Production: 'own' }],
    [{ STAGING_BASE_URL: `${address}/` }, { Production: 'own', Staging: address }],
    [{ ENVIRONMENT: 'staging' }, { Staging: 'own' }],
    [
      { ENVIRONMENT: 'staging', PRODUCTION_BASE_URL: address },
      { Production: address, Staging: 'own' },
    ],
  ] as const) {
    await using other = await testService(settings);
    const own = (url = '') => (url === other.url ? 'own' : url);
    const shown = (await page(other, '/docs/reference')).matchAll(/<dt>(\w+)<\/dt><dd><code>([^<]+)</g);
    assert.deepEqual(Object.fromEntries([...shown].map(([, name, url]) => [name, own(url)])), named);
    const { servers } = await json<{ servers: { description: string; url: string }[] }>(get(other, '/openapi.json'));
    assert.deepEqual(Object.fromEntries(servers.map(({ description, url }) => [description, own(url)])), named);
    const guide = await page(other, '/docs.md');
    assert.ok(guide.includes(`${other.url}/categories`) && !guide.includes(address), 'calls go to its own');
  }
});

test('every error code is explained at its own place, with its status and a message', async () => {
  assert.match(
    await page(service, '/docs/errors'),
    /<section id="codes"[\s\S]+?<\/section>\n<div class="filter scripted">/,
  );
  const text = await page(service, '/docs/errors.md');
  for (const code of ERROR_CODES) {
    const section = new RegExp(`^### \`${code}\`\\n[^]*?(?=^###|$(?![^]))`, 'm').exec(text)?.[0] ?? '';
    assert.ok(section.includes(`**${STATUS_OF[code]}** `), `${code} lacks its status`);
    assert.ok(section.includes(`\n- **Message:** ${ERROR_GUIDE[code].message}\n`), `${code} lacks a message`);
    assert.ok((await page(service, '/docs/errors')).includes(`<section id="${code}"`));
  }
});

test('the plans on the page are the plans that are enforced, and bans are described if there are any', async () => {
  await using lenient = await testService({ BAN_AFTER_REFUSALS: '0' });
  const text = await page(service, '/docs/limits');
  for (const [name, { minute, day }] of Object.entries(PLANS)) {
    const row = new RegExp(`<td>${name}</td>[^]*?</tr>`).exec(text)?.[0] ?? '';
    for (const number of [minute, day])
      assert.ok(row.includes(`<td class="number">${number.toLocaleString('en-US')}<`));
  }
  const sections = (html: string) => [...html.matchAll(/<section id="([^"]+)"/g)].map(([, id]) => id);
  assert.ok(sections(text).includes('bans'));
  assert.deepEqual(
    sections(await page(lenient, '/docs/limits')),
    sections(text).filter((id) => id !== 'bans'),
  );
  await using strict = await testService({ BAN_AFTER_REFUSALS: '1200' });
  assert.match(await page(strict, '/docs/limits'), /at least 1,200 refusals/);
});

test('the link of a deprecated operation leads to its section, which has the same dates', async () => {
  const { secret } = await service.issue();
  const deprecated = OPERATIONS.filter(({ deprecation }) => deprecation);
  assert.ok(deprecated.length > 0);
  for (const { id, path: template } of deprecated) {
    const response = await service.call(secret, template.replace(/\{\w+\}/, '1'));
    const target = /<([^>]+)>; rel="deprecation"/.exec(response.headers.get('link') ?? '')?.[1] ?? '';
    const [path = '', fragment] = splitAt(target, '#');
    const section = new RegExp(`<section id="${fragment}"[^]*?</section>`).exec(await page(service, path))?.[0] ?? '';
    assert.ok(section.includes(`<code>${id}</code>`));
    assert.ok(section.includes(`href="/docs/reference#${id}"`));
    const sunset = new Date(response.headers.get('sunset') ?? '').toISOString().slice(0, 10);
    assert.ok(section.includes(`removed on ${sunset}`));
  }
});

test('the API catalog names the contract, the documentation and the health of the environment (RFC 9727)', async () => {
  await using service = await testService({
    ENVIRONMENT: 'staging',
    STAGING_BASE_URL: 'https://staging.example.org/v1',
  });
  const response = await get(service, '/.well-known/api-catalog');
  const { headers } = response;
  assert.deepEqual(
    ['content-type', 'link', 'cache-control'].map((name) => headers.get(name)),
    [
      'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
      '<https://staging.example.org/.well-known/api-catalog>; rel="api-catalog"',
      'public, max-age=300',
    ],
  );
  const at = (path: string, type: string) => ({ href: `https://staging.example.org${path}`, type });
  assert.deepEqual(await response.json(), {
    linkset: [
      {
        anchor: 'https://staging.example.org/v1',
        'service-desc': [at('/openapi.json', 'application/json'), at('/openapi.yaml', 'application/yaml')],
        'service-doc': [at('/docs', 'text/html')],
        status: [at('/readyz', 'application/json')],
      },
    ],
  });
});

test('security.txt is there when there is a contact, and never out of date (RFC 9116)', async () => {
  await using silent = await testService();
  assert.equal((await get(silent, '/.well-known/security.txt')).status, 404);
  await using service = await testService({ SECURITY_CONTACT: 'security@example.org' });
  const read = async () => (await get(service, '/.well-known/security.txt')).text();
  const expires = async () => Date.parse(/^Expires: (.+)$/m.exec(await read())?.[1] ?? '') / 1000;
  assert.match(
    await read(),
    /^Contact: mailto:security@example\.org\nExpires: [\d-]+T\d\d:\d\d:\d\dZ\nPreferred-Languages: en\n$/,
  );
  const { headers } = await get(service, '/.well-known/security.txt');
  assert.deepEqual(
    [headers.get('content-type'), headers.get('cache-control')],
    ['text/plain; charset=utf-8', 'public, max-age=86400'],
  );
  const { unix } = service.clock.now();
  assert.equal(await expires(), unix + 365 * 86_400);
  service.clock.advance(86_400);
  assert.equal(await expires(), unix + 366 * 86_400);
  await using published = await testService({
    SECURITY_CONTACT: 'https://example.org/report',
    PRODUCTION_BASE_URL: 'https://v1.example.org/v1',
  });
  const text = await (await get(published, '/.well-known/security.txt')).text();
  assert.match(text, /^Contact: https:\/\/example\.org\/report$/m);
  assert.match(text, /^Canonical: https:\/\/v1\.example\.org\/\.well-known\/security\.txt$/m);
});

function origin(service: TestService): string {
  return new URL(service.url).origin;
}

function get(service: TestService, path: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(origin(service) + path, { headers: { connection: 'close', ...headers }, redirect: 'manual' });
}

/** The members of an object, or of the items of a list. */
function membersOf(schema: object = {}): string[] {
  const { items, properties = {} } = schema as { items?: object; properties?: object };
  return items ? membersOf(items) : Object.keys(properties);
}

/** The assets that a page names. */
function assetsOf(text: string): string[] {
  return [...text.matchAll(/"(\/docs\/assets\/[^"]+)"/g)].map(([, path = '']) => path);
}

async function page(service: TestService, path: string): Promise<string> {
  return (await get(service, path)).text();
}

function splitAt(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}
