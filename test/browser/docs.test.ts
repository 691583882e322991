import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import { suiteBrowser } from '../kit/chromium.ts';
import { ABOUT_COLOURS, faults } from '../kit/console/browsing.ts';
import { type TestService, testService } from '../kit/service.ts';
import { PHONE, tryOut, watchedPage } from './looks.ts';

/** The documentation, in a real browser. */

const { needsBrowser, browser } = suiteBrowser();
/** For tests that need neither settings nor an empty catalog of their own, so that it renders the pages once. */
const service = await testService();
// A page that stays open goes on taking its share of the machine.
afterEach(async () => {
  if (!needsBrowser.skip)
    await Promise.all(
      browser()
        .contexts()
        .map((context) => context.close()),
    );
});
after(() => service[Symbol.asyncDispose]());

test('a newcomer pastes a key, and tries operations that read, write and fail', needsBrowser, async () => {
  await using service = await testService();
  const { secret } = await service.issue();
  const { page, requests, complaints } = await watchedPage(browser());
  await page.goto(`${origin(service)}/docs/reference`);
  await page.fill('.key input', secret);
  assert.match((await page.textContent('[data-key-state]')) ?? '', /use this key/);

  const listed = await tryOut(page, 'listCategories');
  assert.deepEqual([listed.status, listed.body], ['200', '[]']);
  assert.equal(await page.evaluate('document.activeElement.textContent'), 'Send', 'the focus stays');
  const created = await tryOut(page, 'createCategory');
  assert.equal(created.status, '201');
  assert.equal(JSON.parse(created.body).id, 1);
  assert.match(created.gauges, /Minute\s*58 of 60 left, resets in \d+ s\s*Day\s*998 of 1,000 left, resets in 12 h$/);
  assert.match(created.folded, /location: \/v1\/categories\/1/);
  assert.match(created.folded, /curl '.*\/v1\/categories' \\\n {2}-H "Authorization: Bearer \$PET_CATALOG_KEY"/);
  service.clock.advance(10.5 * 3_600);
  const later = await tryOut(page, 'listCategories');
  assert.equal(JSON.parse(later.body).length, 1);
  assert.match(later.gauges, /Minute\s*59 of 60 left, resets in 60 s\s*Day\s*997 of 1,000 left, resets in 90 min$/);
  assert.equal((await tryOut(page, 'getCategory')).status, '200');
  assert.deepEqual(JSON.parse((await tryOut(page, 'listPets')).body), []);
  await page.fill('#try-getCategory [name="categoryId"]', '1/2?');
  assert.equal((await tryOut(page, 'getCategory')).status, '404');
  assert.equal(requests.at(-1), `${origin(service)}/v1/categories/1%2F2%3F`);

  const area = page.locator('#createCategory textarea');
  await area.fill('{"name":');
  await page.waitForSelector('#createCategory .mistake:has-text("The body is not JSON: ")', { state: 'visible' });
  assert.equal(await area.getAttribute('aria-invalid'), 'true');
  const sent = requests.length;
  await page.click('#createCategory button[type="submit"]');
  assert.equal(await page.evaluate('document.activeElement.tagName'), 'TEXTAREA');
  assert.equal(requests.length, sent);
  await area.fill('{"name":""}');
  assert.equal(await area.getAttribute('aria-invalid'), null);
  assert.ok(await page.isHidden('#createCategory .mistake'));
  const refused = await tryOut(page, 'createCategory');
  assert.deepEqual([refused.status, JSON.parse(refused.body).code], ['400', 'validation_failed']);

  const { secret: small } = await service.issue({ plan: 'enterprise', limits: { minute: 1, day: 10 } });
  await page.fill('.key input', small);
  assert.equal((await tryOut(page, 'listCategories')).status, '200');
  assert.equal((await tryOut(page, 'listCategories')).status, '429');
  const outcome = (await page.textContent('#listCategories .outcome')) ?? '';
  assert.ok(outcome.includes('Wait 60 s before the next request.'), outcome);

  await page.click('[data-key-forget]');
  assert.equal((await tryOut(page, 'listCategories')).status, '401');
  assert.deepEqual(
    complaints.filter((text) => !/40[014]|429/.test(text)),
    [],
  );
  assert.deepEqual(
    requests.filter((url) => !url.startsWith(`${origin(service)}/`)),
    [],
  );
});

test(
  'the samples have the pasted key on every page of the tab, a live one masked but copied whole',
  needsBrowser,
  async () => {
    const { secret } = await service.issue();
    const { page } = await watchedPage(browser());
    await page.goto(`${origin(service)}/docs/reference`);
    await page.fill('.key input', secret);
    for (const language of ['sh', 'ts', 'js', 'py', 'go']) {
      const sample = await page.textContent(`#createCategory [data-language="${language}"]`);
      assert.ok(sample?.includes('petcat_live_••••••••') && !sample.includes('PET_CATALOG_KEY'), sample ?? language);
    }
    assert.ok(!(await page.textContent('main'))?.includes(secret));
    await page.evaluate('navigator.clipboard.writeText = async (text) => { window.copied = text; }');
    await page.click('#createCategory .copy');
    assert.ok(`${await page.evaluate('window.copied')}`.includes(`Bearer ${secret}`));
    await page.goto(`${origin(service)}/docs`);
    assert.ok((await page.textContent('main'))?.includes('Bearer petcat_live_••••••••'));
    const staging = secret.replace('live', 'test');
    await page.goto(`${origin(service)}/docs/reference`);
    await page.fill('.key input', staging);
    assert.ok((await page.textContent('#createCategory'))?.includes(`Bearer ${staging}`));
    const { page: other } = await watchedPage(browser());
    await other.goto(`${origin(service)}/docs`);
    assert.ok(!(await other.textContent('main'))?.includes(secret));
  },
);

test('a chosen language holds for every sample, and does not move what is read', needsBrowser, async () => {
  // Samples stand between the texts there, so their heights count.
  const { page } = await watchedPage(browser(), { viewport: PHONE });
  await page.goto(`${origin(service)}/docs/reference`);
  await page.locator('#placeOrder .tabs').scrollIntoViewIfNeeded();
  const top = () => page.evaluate('document.querySelector("#placeOrder .tabs").getBoundingClientRect().top');
  // As in a browser that does not anchor its scrolling.
  await page.evaluate("document.documentElement.style.overflowAnchor = 'none'");
  const before = await top();
  await page.check('#placeOrder [value="go"]', { force: true });
  assert.ok(Math.abs(Number(await top()) - Number(before)) < 1, 'the samples moved');
  assert.ok(await page.isVisible('#createPet [data-language="go"]'));
  await page.reload();
  assert.ok(await page.isVisible('#listPets [data-language="go"]'));
  assert.ok(!(await page.isVisible('#listPets [data-language="sh"]')));
});

test('without scripts everything can be read, and nothing is shown that would not work', needsBrowser, async () => {
  const { page } = await watchedPage(browser(), { javaScriptEnabled: false });
  await page.goto(`${origin(service)}/docs/reference`);
  assert.ok(await page.isVisible('#createCategory [data-language="sh"]'));
  await page.check('#createCategory [value="py"]', { force: true });
  assert.ok(await page.isVisible('#createCategory [data-language="py"]'));
  assert.ok(await page.isVisible('noscript .note'));
  for (const scripted of ['.search', '.key', '.try >> nth=0']) assert.ok(!(await page.isVisible(scripted)), scripted);
  await page.setViewportSize(PHONE);
  assert.ok(!(await page.isVisible('.side nav')));
  await page.click('.menu');
  assert.ok(await page.isVisible('.side nav'));
});

test('an open page follows a changed hash, to an operation, a field or an error', needsBrowser, async () => {
  const { page } = await watchedPage(browser());
  const inView = (id: string) => {
    const top = `document.getElementById(${JSON.stringify(id)}).getBoundingClientRect().top`;
    return page.waitForFunction(`${top} >= 0 && ${top} < 200`);
  };
  await page.goto(`${origin(service)}/docs/reference#cancelOrder`);
  await inView('cancelOrder');
  for (const id of ['createPet', 'createPet.body.categoryId', 'listCategories']) {
    await page.evaluate(`location.assign('#${id}')`);
    await inView(id);
  }
  await page.waitForSelector('.side a[href$="#listCategories"][aria-current="true"]');
  await page.goto(`${origin(service)}/docs/errors`);
  await page.fill('#ui-filter', 'stock');
  assert.ok(!(await page.isVisible('#gone')) && (await page.isVisible('#insufficient_stock')));
  assert.match((await page.textContent('#ui-filtered')) ?? '', /^1 of \d+ codes$/);
  await page.evaluate("location.assign('#gone')");
  await page.waitForSelector('#gone', { state: 'visible' });
  await inView('gone');
});

test('the search finds pages, operations, fields and errors', needsBrowser, async () => {
  const { page } = await watchedPage(browser());
  await page.goto(`${origin(service)}/docs/limits`);
  const isFirst = async (words: string, path: string) => {
    await page.fill('#ui-search', words);
    await page.waitForSelector(`#ui-results li:first-child a[href="${path}"]`);
  };
  for (const keys of ['/', 'Control+k', 'Meta+k']) {
    await page.evaluate('document.activeElement.blur()');
    await page.keyboard.press(keys);
    assert.equal(await page.evaluate('document.activeElement.id'), 'ui-search', keys);
  }
  // What could not be loaded is asked for again.
  await page.route('**/docs/search.json', (route) => route.abort(), { times: 2 });
  for (const asking of [() => page.fill('#ui-search', 'order'), () => page.press('#ui-search', 'Escape')]) {
    const failed = page.waitForEvent('requestfailed');
    await asking();
    await failed;
    // By the answer to a later request the page knows of the failure.
    await page.evaluate("fetch('/livez').then((response) => response.text())");
  }
  await isFirst('place an order', '/docs/reference#placeOrder');
  await isFirst('shipDate', '/docs/reference#placeOrder.body.shipDate');
  await isFirst('insufficient_stock', '/docs/errors#insufficient_stock');
  await isFirst('stability', '/docs/versions#stability');
  await page.fill('#ui-search', 'retry after');
  await page.waitForSelector('#ui-results mark:has-text("Retry-After")');
  await isFirst('pagination', '/docs/paging');
  await isFirst('filter pets by category', '/docs/paging#filter');
  await isFirst('sandbox', '/docs/testing');
  await isFirst('idempotency', '/docs/errors#idempotency_key_reused');
  const places = await page
    .locator('#ui-results a')
    .evaluateAll((links) => links.map(({ href }) => new URL(href).pathname));
  assert.equal(places.filter((path) => path === '/docs/reference').length, 1, 'equal fields are one result');
  assert.ok(places.slice(0, 4).includes('/docs/retries'));
  await page.waitForSelector('#ui-found:text-is("12 results")', { state: 'attached' });
  await page.fill('#ui-search', 'backoff');
  await page.waitForSelector('#ui-found:text-is("1 result")', { state: 'attached' });
  await page.fill('#ui-search', 'zebra webhooks');
  await page.waitForSelector('#ui-results:has-text("Nothing found")');
  assert.equal(await page.textContent('#ui-found'), 'No results');
  await page.press('#ui-search', 'Escape');
  assert.ok(await page.isVisible('.side nav'));
  await isFirst('bans', '/docs/limits#bans');
  await page.press('#ui-search', 'ArrowDown');
  await page.keyboard.press('ArrowUp');
  assert.equal(await page.evaluate('document.activeElement.id'), 'ui-search', 'above the first result is the field');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/docs/limits#bans');
});

test('on a phone the open menu is accessible, in the light and in the dark', needsBrowser, async () => {
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page } = await watchedPage(browser(), { colorScheme, viewport: PHONE });
    await page.goto(`${origin(service)}/docs/limits`);
    await page.click('.menu');
    assert.deepEqual(await faults(page, ...(colorScheme === 'dark' ? ABOUT_COLOURS : [])), [], colorScheme);
  }
});

function origin(service: TestService): string {
  return new URL(service.url).origin;
}
