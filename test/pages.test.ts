import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERROR_CODES } from '../src/catalog/error.ts';
import { PLANS } from '../src/catalog/plan.ts';
import { readConfig } from '../src/config.ts';
import { STATUS_OF } from '../src/http/errors.ts';
import { OPERATIONS } from '../src/http/operations.ts';
import { json, type TestService, testService } from './kit/service.ts';

/** The pages beside the API, over real HTTP, as programs see them; a browser looks at them in browser/. */

const PAGES = ['/docs', '/docs/errors', '/docs/limits', '/docs/deprecations'];

test('every page of the documentation is HTML with a strict policy, a lifetime and a validator', async () => {
  await using service = await testService();
  for (const path of PAGES) {
    const response = await get(service, path);
    const { headers } = response;
    assert.equal(response.status, 200, path);
    assert.equal(headers.get('content-type'), 'text/html; charset=utf-8');
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.equal(headers.get('cache-control'), 'public, max-age=300');
    assert.equal(headers.get('x-ratelimit-limit'), null);
    const policy = new Map(
      (headers.get('content-security-policy') ?? '').split('; ').map((each) => splitAt(each, ' ')),
    );
    assert.equal(policy.get('default-src'), "'none'");
    assert.equal(policy.get('style-src'), "'self'");
    assert.equal(policy.get('script-src'), path === '/docs' ? "'self'" : undefined);
    assert.equal(policy.get('connect-src'), path === '/docs' ? "'self'" : undefined);
    for (const forbidden of ['base-uri', 'frame-ancestors', 'form-action']) {
      assert.equal(policy.get(forbidden), "'none'", forbidden);
    }
    const again = await get(service, path, { 'if-none-match': headers.get('etag') ?? '' });
    assert.deepEqual([again.status, await again.text()], [304, '']);
    assert.equal((await get(service, path, { 'if-none-match': '"another"' })).status, 200);
    const posted = await fetch(origin(service) + path, { method: 'POST', headers: { connection: 'close' } });
    assert.equal(posted.status, 405);
  }
});

test('pages hold no inline script or style and refer to no other host', async () => {
  await using service = await testService();
  for (const path of PAGES) {
    const text = await page(service, path);
    assert.doesNotMatch(text, /<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/i, path);
    const targets = [...text.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, target = '']) => target);
    assert.ok(targets.length > 5);
    for (const target of targets) assert.match(target, /^(\/(?!\/)|#)/, `${path} refers to ${target}`);
  }
});

test('every link and every asset of every page is there, fragments included', async () => {
  await using service = await testService();
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
  for (const path of [...PAGES, '/openapi.json', '/openapi.yaml']) assert.ok(found.has(path), `${path} is not linked`);
});

test('assets are named after their content and kept for ever', async () => {
  await using service = await testService();
  const paths = [...(await page(service, '/docs')).matchAll(/"(\/docs\/assets\/[^"]+)"/g)].map(([, path = '']) => path);
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

test('every error code is explained at its own place, with its status', async () => {
  await using service = await testService();
  const text = await page(service, '/docs/errors');
  for (const code of ERROR_CODES) {
    const section = new RegExp(`<section id="${code}"[^]*?</section>`).exec(text)?.[0] ?? '';
    assert.ok(section.includes(`<span class="status">${STATUS_OF[code]}</span>`), `${code} lacks its status`);
    const said = [...section.matchAll(/<(?:p|dd)>([^<]{10,})</g)];
    assert.equal(said.length, 3, `${code} needs its meaning, cause and remedy`);
  }
});

test('the plans on the page are the plans that are enforced, and bans are described if there are any', async () => {
  await using service = await testService();
  await using lenient = await testService({ BAN_AFTER_REFUSALS: '0' });
  const text = await page(service, '/docs/limits');
  for (const [name, { minute, day }] of Object.entries(PLANS)) {
    const row = new RegExp(`<tr><th scope="row">${name}</th>.*</tr>`).exec(text)?.[0] ?? '';
    assert.ok(row.includes(`>${minute.toLocaleString('en-US')}<`) && row.includes(`>${day.toLocaleString('en-US')}<`));
  }
  assert.match(text, /id="bans"/);
  assert.doesNotMatch(await page(lenient, '/docs/limits'), /id="bans"/);
});

test('the link of a deprecated operation leads to its section, which has the same dates', async () => {
  await using service = await testService();
  const { secret } = await service.issue();
  const deprecated = OPERATIONS.filter(({ deprecation }) => deprecation);
  assert.ok(deprecated.length > 0);
  for (const { id, path: template } of deprecated) {
    const response = await service.call(secret, template.replace(/\{\w+\}/, '1'));
    const target = /<([^>]+)>; rel="deprecation"/.exec(response.headers.get('link') ?? '')?.[1] ?? '';
    const [path = '', fragment] = splitAt(target, '#');
    const section = new RegExp(`<section id="${fragment}"[^]*?</section>`).exec(await page(service, path))?.[0] ?? '';
    assert.ok(section.includes(`<code>${id}</code>`));
    const sunset = new Date(response.headers.get('sunset') ?? '').toISOString().slice(0, 10);
    assert.ok(section.includes(`datetime="${sunset}"`));
  }
});

test('unstable and deprecated operations say so in their description', async () => {
  await using service = await testService();
  const contract = await json<{ paths: Record<string, Record<string, Record<string, string>>> }>(
    get(service, '/openapi.json'),
  );
  for (const { path, method, stability, deprecation } of OPERATIONS) {
    const operation = contract.paths[path]?.[method.toLowerCase()];
    assert.equal(operation?.['x-stability'], stability);
    if (stability) assert.ok(operation?.description?.toLowerCase().includes(`**${stability}**`), path);
    if (deprecation) assert.match(operation?.description ?? '', /\*\*Deprecated\*\* since [-\d]+, removed on [-\d]+/);
  }
});

test('/ redirects a browser to the documentation and gives programs an index', async () => {
  await using service = await testService();
  const browser = await get(service, '/', { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' });
  assert.deepEqual([browser.status, browser.headers.get('location')], [303, '/docs']);
  assert.equal(browser.headers.get('vary'), 'Accept');
  const links = await json<Record<string, string>>(get(service, '/', { accept: 'application/json' }));
  assert.equal(links.api, service.url);
  for (const [name, link] of Object.entries(links)) {
    if (name !== 'api') assert.equal((await get(service, new URL(link).pathname)).status, 200, link);
  }
});

test('the API catalog names the contract, the documentation and the health of the environment (RFC 9727)', async () => {
  await using service = await testService({
    ENVIRONMENT: 'staging',
    STAGING_BASE_URL: 'https://staging.example.org/v1',
  });
  const response = await get(service, '/.well-known/api-catalog');
  assert.match(response.headers.get('content-type') ?? '', /^application\/linkset\+json(;|$)/);
  const { linkset } = await json<{ linkset: [{ anchor: string } & Record<string, { href: string }[]>] }>(response);
  const [published] = linkset;
  assert.equal(published.anchor, 'https://staging.example.org/v1');
  const hrefs = (relation: string) => published[relation]?.map(({ href }) => href);
  assert.ok(hrefs('service-desc')?.includes('https://staging.example.org/openapi.json'));
  assert.deepEqual(hrefs('service-doc'), ['https://staging.example.org/docs']);
  assert.deepEqual(hrefs('status'), ['https://staging.example.org/readyz']);
});

test('security.txt is there when there is a contact, and never out of date (RFC 9116)', async () => {
  await using silent = await testService();
  assert.equal((await get(silent, '/.well-known/security.txt')).status, 404);
  await using service = await testService({ SECURITY_CONTACT: 'security@example.org' });
  const read = async () => (await get(service, '/.well-known/security.txt')).text();
  const expires = async () => Date.parse(/^Expires: (.+)$/m.exec(await read())?.[1] ?? '') / 1000;
  assert.match(await read(), /^Contact: mailto:security@example\.org$/m);
  assert.doesNotMatch(await read(), /Canonical/);
  const { unix } = service.clock.now();
  assert.equal(await expires(), unix + 365 * 86_400);
  service.clock.advance(86_400);
  assert.equal(await expires(), unix + 366 * 86_400);
  await using published = await testService({
    SECURITY_CONTACT: 'https://example.org/report',
    PRODUCTION_BASE_URL: 'https://api.example.org/v1',
  });
  const text = await (await get(published, '/.well-known/security.txt')).text();
  assert.match(text, /^Contact: https:\/\/example\.org\/report$/m);
  assert.match(text, /^Canonical: https:\/\/api\.example\.org\/\.well-known\/security\.txt$/m);
});

test('a security contact is an e-mail address, a mailto: or an https: address', () => {
  const contact = (value: string) =>
    readConfig({ flags: { SECURITY_CONTACT: value }, env: {}, file: {} }).securityContact;
  assert.equal(contact('mailto:security@example.org'), 'mailto:security@example.org');
  assert.equal(contact('security@example.org'), 'mailto:security@example.org');
  for (const wrong of ['security', 'http://example.org', 'javascript:alert(1)', 'mailto:', 'a@b.org\nExpires: never']) {
    assert.throws(() => contact(wrong), /SECURITY_CONTACT/, wrong);
  }
});

function origin(service: TestService): string {
  return new URL(service.url).origin;
}

function get(service: TestService, path: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(origin(service) + path, { headers: { connection: 'close', ...headers }, redirect: 'manual' });
}

async function page(service: TestService, path: string): Promise<string> {
  return (await get(service, path)).text();
}

function splitAt(text: string, separator: string): [string, string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}
