import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { findChromium, launchChromium } from '../kit/chromium.ts';
import { ABOUT_COLOURS, faults } from '../kit/console/browsing.ts';
import { json, type TestService, testService } from '../kit/service.ts';

/** The documentation, and the API called by a script of another site, in a real browser. */

const OWN_PAGES = ['/docs/errors', '/docs/limits', '/docs/deprecations'];
const PHONE = { width: 390, height: 844 };
const DESKTOP = { width: 1280, height: 900 };

const found = findChromium();
const needsBrowser = 'missing' in found ? { skip: found.missing } : {};
let browser: Browser;

before(async () => {
  if ('executable' in found) browser = await launchChromium(found.executable);
});
after(() => browser?.close());

test('a newcomer pastes a key and tries an operation that reads and one that writes', needsBrowser, async () => {
  await using service = await testService();
  const { secret } = await service.issue();
  const { page, requests, complaints } = await watchedPage();
  await page.goto(`${origin(service)}/docs`);
  await page.fill('#key', secret);

  assert.deepEqual(await tryOut(page, 'listCategories'), { status: '200', body: '[]' });
  const created = await tryOut(page, 'createCategory');
  assert.equal(created.status, '201');
  assert.equal(JSON.parse(created.body).id, 1);
  assert.equal(JSON.parse((await tryOut(page, 'listCategories')).body).length, 1);

  await page.fill('#key', '');
  assert.equal((await tryOut(page, 'listCategories')).status, '401');
  assert.deepEqual(
    complaints.filter((text) => !text.includes('401')),
    [],
  );
  assert.deepEqual(
    requests.filter((url) => !url.startsWith(`${origin(service)}/`)),
    [],
  );
});

test('the reference marks what is beta, experimental or deprecated, and when it ends', needsBrowser, async () => {
  await using service = await testService();
  const { page } = await watchedPage();
  await page.goto(`${origin(service)}/docs`);
  const badge = (tag: string, id: string) => page.locator(`#operations-${tag}-${id} .badge`).allTextContents();
  await page.waitForSelector('.opblock');
  assert.deepEqual(await badge('categories', 'getCategory'), ['experimental']);
  assert.deepEqual(await badge('store', 'cancelOrder'), ['beta']);
  assert.deepEqual(await badge('pets', 'getPet'), ['deprecated, ends 2030-12-05']);
  assert.deepEqual(await badge('categories', 'listCategories'), []);
});

test('the pages are accessible and fit a phone, light and dark', needsBrowser, async () => {
  await using service = await testService();
  const { secret } = await service.issue();
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page, complaints } = await watchedPage({ colorScheme });
    const rules = colorScheme === 'dark' ? ABOUT_COLOURS : [];
    for (const path of [...OWN_PAGES, '/docs']) {
      await page.setViewportSize(DESKTOP);
      await page.goto(origin(service) + path);
      if (path === '/docs') await page.fill('#key', secret);
      if (path === '/docs') assert.equal((await tryOut(page, 'createCategory')).status, '201');
      assert.deepEqual(await faults(page, ...rules), [], `${path}, ${colorScheme}`);
      await page.setViewportSize(PHONE);
      const width = await page.evaluate('document.documentElement.scrollWidth');
      assert.equal(width, PHONE.width, `${path} is too wide for a phone`);
    }
    assert.deepEqual(complaints, []);
    await page.close();
  }
});

test(
  'a page of an allowed origin may call the API and read its limits; the preflight costs nothing',
  needsBrowser,
  async () => {
    await using site = await otherSite();
    await using service = await testService({ CORS_ORIGINS: site.origin });
    const { secret } = await service.issue();
    const page = await browser.newPage();
    await page.goto(site.origin);
    const create = await callFrom(page, `${service.url}/categories`, secret, { name: 'Dog' });
    assert.deepEqual([create.status, create.headers['x-ratelimit-limit']], [201, '60']);
    assert.equal(create.headers['x-ratelimit-remaining'], '59');
    assert.equal(create.headers.location, '/v1/categories/1');
    assert.ok(create.headers['x-request-id'] && create.headers['ratelimit-policy']);
    const list = await callFrom(page, `${service.url}/categories`, secret);
    assert.deepEqual([list.status, list.headers['x-ratelimit-remaining']], [200, '58']);
    assert.ok(list.headers.etag);
    const refused = await callFrom(page, `${service.url}/categories`, 'no key');
    assert.deepEqual([refused.status, refused.headers['x-ratelimit-limit']], [401, '0']);
    const state = await json<{ day: { remaining: number } }>(service.call(secret, '/rate_limit'));
    assert.equal(state.day.remaining, 998);
  },
);

test(
  'a page of any other origin is refused by the browser, and so is every one without CORS_ORIGINS',
  needsBrowser,
  async () => {
    await using site = await otherSite();
    for (const settings of [{}, { CORS_ORIGINS: 'https://shop.example' }]) {
      await using service = await testService(settings);
      const { secret } = await service.issue();
      const page = await browser.newPage();
      await page.goto(site.origin);
      await assert.rejects(callFrom(page, `${service.url}/categories`, secret), /Failed to fetch/);
      await assert.rejects(callFrom(page, `${service.url}/categories`, secret, { name: 'Dog' }), /Failed to fetch/);
      assert.deepEqual(await json(service.call(secret, '/categories')), []);
      await page.close();
    }
  },
);

interface WatchedPage {
  readonly page: Page;
  /** Every address that the page asked for. */
  readonly requests: string[];
  /** Errors and warnings on the console, violations of the policy among them, and exceptions. */
  readonly complaints: string[];
}

async function watchedPage(options: { colorScheme?: 'light' | 'dark' } = {}): Promise<WatchedPage> {
  const page = await browser.newPage({ viewport: DESKTOP, ...options });
  const requests: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith('data:')) requests.push(request.url());
  });
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  return { page, requests, complaints };
}

async function open(page: Page, id: string): Promise<string> {
  const block = `[id^="operations-"][id$="-${id}"]`;
  await page.waitForSelector(block);
  if (!(await page.isVisible(`${block} .execute`))) await page.click(`${block} .opblock-summary-control`);
  await page.waitForSelector(`${block} .execute`);
  return block;
}

/** Opens an operation, sends it as it is, and reads the answer that is shown. */
async function tryOut(page: Page, id: string): Promise<{ status: string; body: string }> {
  const block = await open(page, id);
  const answered = page.waitForResponse((response) => new URL(response.url()).pathname.startsWith('/v1/'));
  await page.click(`${block} .execute`);
  const status = String((await answered).status());
  const shown = `${block} .live-responses-table`;
  await page.waitForSelector(`${shown} .response-col_status:has-text("${status}")`);
  const body = await page.textContent(`${shown} .response-col_description pre`);
  return { status, body: body ?? '' };
}

/** A call made by a script of the page that is open. */
function callFrom(page: Page, url: string, secret: string, body?: object) {
  return page.evaluate(
    async ([address, key, text]) => {
      const headers = { authorization: `Bearer ${key}`, ...(text && { 'content-type': 'application/json' }) };
      const response = await fetch(address, { headers, ...(text && { method: 'POST', body: text }) });
      return { status: response.status, headers: Object.fromEntries(response.headers) as Record<string, string> };
    },
    [url, secret, body ? JSON.stringify(body) : ''] as const,
  );
}

/** A site of its own that holds one empty page. */
async function otherSite(): Promise<AsyncDisposable & { readonly origin: string }> {
  const server = createServer((_request, response) => response.end('<!doctype html><title>A shop</title>'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function origin(service: TestService): string {
  return new URL(service.url).origin;
}
