import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { suiteBrowser } from '../kit/chromium.ts';
import { untilEqual, untilTrue } from '../kit/clock.ts';
import { browse, browseSignedIn, DESKTOP, draw, faults, openConsole } from '../kit/console/browsing.ts';
import { fillWithLife } from '../kit/console/life.ts';
import { run, serveProcess } from '../kit/process.ts';
import { temporaryFolder, testService } from '../kit/service.ts';

/** What operators come to the console for, clicked through in a real browser. */

/** What the page waits between two refreshes. */
const REFRESH_MS = 3_000;
const { needsBrowser, browser } = suiteBrowser();

test('from the first start to a request on the chart: a link, a button and a line to paste', needsBrowser, async () => {
  using folder = temporaryFolder();
  await using service = await serveProcess(['--bootstrap', '--access-log', 'all'], { cwd: folder.path });
  const { stdout } = service.output;
  const link = /http:\S+\/console\/login\?token=\S+/.exec(stdout)?.[0] ?? '';
  const [, secret = '', url = ''] = /curl -H 'Authorization: Bearer (\S+)' (\S+)/.exec(stdout) ?? [];
  await using browsing = await browse(browser());
  const { page } = browsing;
  await openConsole(page, link);
  await page.waitForSelector('text=No requests with a key in the last hour');
  assert.equal(await page.textContent('#requests-legend .served'), '0 served');
  assert.equal(await page.isVisible('#requests'), false, 'no empty axes');

  assert.equal((await fetch(url, { headers: { authorization: `Bearer ${secret}` } })).status, 200);
  await untilRefreshed(page, '#requests-legend .served:text-is("1 served")');
  await page.waitForSelector('#requests svg');
  await page.waitForSelector('#busiest tbody th:has-text("bootstrap")');
  await page.click('nav >> text=Settings');
  assert.match((await page.textContent('tr:has-text("ACCESS_LOG")')) ?? '', /all\s*--access-log/);
  await draw(page, `settings-told-light-${DESKTOP.width}`);
  assert.deepEqual(await faults(page), []);

  await page.click('text=Sign out');
  const login = await run(['console', 'login', '--url', new URL(link).origin], { cwd: folder.path });
  await openConsole(page, login.stdout.trim());
  assert.doesNotMatch(service.output.stderr, /token=/, 'no login is in the log');
});

test('a ban appears without a reload, is explained, and is lifted with two clicks', needsBrowser, async () => {
  await using service = await testService({ BAN_AFTER_REFUSALS: '5' });
  const { secret } = await service.issue({ name: 'Hammer', plan: 'enterprise', limits: { minute: 2, day: 100 } });
  await using browsing = await browseSignedIn(browser(), service);
  const { page } = browsing;
  await page.waitForSelector('text=No key is banned');
  for (let request = 0; request < 20; request += 1) {
    await service.call(secret, '/categories');
    if (request === 3) service.clock.advance(3);
  }
  assert.equal(service.events.bans.length, 1);
  await page.click('#bans a:has-text("Hammer")');
  const panel = (await page.textContent('#ban')) ?? '';
  assert.match(panel, /Banned for another \d+ s/);
  assert.match(panel, /It was refused \d+ more times within a minute of a 429/);
  await page.click('text=Lift the ban');
  await page.waitForSelector('.notice:has-text("The ban was lifted")');
  service.clock.advance(60);
  await untilEqual(async () => (await service.call(secret, '/categories')).status, 200);
});

test('a key is created, copied, used, changed, rotated and revoked', needsBrowser, async () => {
  await using service = await testService();
  await using browsing = await browseSignedIn(browser(), service);
  const { page, context, complaints } = browsing;
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.click('text=Create the first key');
  await page.fill('#name', 'Shop');
  assert.equal(await page.isVisible('#limits\\.minute'), false, 'limits are for the enterprise plan');
  await page.selectOption('#plan', 'enterprise');
  await page.fill('#limits\\.minute', '9');
  await page.fill('#limits\\.day', '90');
  await page.click('button:has-text("Create the key")');
  await page.click('button:has-text("Copy")');
  await page.waitForSelector('#copied:has-text("Copied")');
  const secret = (await page.evaluate('navigator.clipboard.readText()')) as string;
  assert.equal((await service.call(secret, '/categories')).headers.get('x-ratelimit-limit'), '9');
  await draw(page, `secret-light-${DESKTOP.width}`);
  assert.deepEqual(await faults(page), []);

  await page.reload();
  await page.waitForSelector('h1:has-text("Shop")');
  assert.ok(!(await page.content()).includes(secret), 'a reload shows the key without its secret');
  assert.equal((await service.storage.keys.list()).length, 1, 'and makes no other');

  await page.click('.button:has-text("Change")');
  await page.selectOption('#plan', 'pro');
  await page.click('button:has-text("Save")');
  await page.waitForSelector('dd:has-text("pro: 300 a minute")');
  await page.click('.button:has-text("Rotate")');
  await page.selectOption('#grace', '0');
  await page.click('button:has-text("Create the new key")');
  const rotated = await page.inputValue('#secret');
  await untilEqual(async () => (await service.call(secret, '/categories')).status, 401);
  assert.equal((await service.call(rotated, '/categories')).status, 200);
  await page.click('text=Go to the key');
  await page.click('.button:has-text("Revoke")');
  await page.click('button:has-text("Revoke the key")');
  await page.waitForSelector('.badge:has-text("revoked")');
  await untilEqual(async () => (await service.call(rotated, '/categories')).status, 401);
  assert.deepEqual(complaints, []);
});

test('a file is imported, a category renamed and deleted, and the rest exported', needsBrowser, async () => {
  await using service = await testService();
  await using browsing = await browseSignedIn(browser(), service);
  const { page } = browsing;
  await page.click('nav >> text=Categories');
  await page.click('.empty >> text=Import a file');
  const buffer = Buffer.from(`name,description\n${'Dog,loyal\n'.repeat(2_000)}`);
  await page.setInputFiles('#file', { name: 'dogs.csv', mimeType: 'text/csv', buffer });
  await page.click('button:has-text("Import")');
  await page.waitForSelector('text=2,000 categories were imported');
  await page.click('text=Show the categories');
  assert.equal(await page.locator('tbody tr').count(), 50);
  await page.click('text=Next');
  await page.click('tbody a >> nth=0');
  await page.click('.button:has-text("Rename")');
  await page.fill('#name', 'Wolf');
  await page.click('button:has-text("Rename")');
  await page.waitForSelector('h1:has-text("Wolf")');
  await page.click('.button:has-text("Delete")');
  await page.click('button:has-text("Delete the category")');
  await page.waitForSelector('text=The category was deleted');
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('text=NDJSON')]);
  assert.equal(download.suggestedFilename(), 'categories.ndjson');
});

test('everything works with scripts off', needsBrowser, async () => {
  await using service = await testService();
  await fillWithLife(service);
  await using browsing = await browseSignedIn(browser(), service, { javaScriptEnabled: false });
  const { page } = browsing;
  assert.ok(await page.isVisible('text=Reload'));
  assert.ok(await page.isVisible('#requests svg'), 'the drawing of the server');
  await page.click('summary');
  assert.match((await page.textContent('#requests-rows')) ?? '', /2026-01-01 11:59 UTC/);
  await page.click('text=Lift the ban');
  await page.waitForSelector('.notice:has-text("The ban was lifted")');

  await page.click('nav >> text=Keys');
  await page.click('text=New key');
  await page.fill('#name', 'No scripts');
  await page.selectOption('#plan', 'enterprise');
  await page.fill('#limits\\.minute', '5');
  await page.fill('#limits\\.day', '50');
  await page.click('button:has-text("Create the key")');
  assert.equal((await service.call(await page.inputValue('#secret'), '/categories')).status, 200);
  assert.equal(await page.isVisible('button:has-text("Copy")'), false, 'a button that could do nothing is not there');

  await page.click('nav >> text=Categories');
  await page.click('text=Import a file');
  const file = { name: 'one.json', mimeType: 'application/json', buffer: Buffer.from('[{"name":"Owl"}]') };
  await page.setInputFiles('#file', file);
  await page.click('button:has-text("Import")');
  await page.waitForSelector('text=1 category was imported');
  await page.click('text=Sign out');
  await page.waitForSelector('h1:has-text("You are not signed in")');
});

test(
  'a page shows that the service does not respond, that it does again, that its session has ended',
  needsBrowser,
  async () => {
    await using service = await testService();
    await using browsing = await browseSignedIn(browser(), service);
    const { page } = browsing;
    assert.equal(await page.textContent('[data-refreshing]'), 'Updates automatically');
    const gone = await page.context().route('**/console', (route) => route.abort());
    await untilRefreshed(
      page,
      '#stale:text-matches("^Not updated since [-0-9]{10} [0-9:]{5}: the service does not respond")',
    );
    await gone.dispose();
    await untilTrue(async () => {
      await page.clock.fastForward(REFRESH_MS);
      return page.isHidden('#stale');
    });
    const now = service.clock.now().unix;
    for (const { id } of await service.storage.sessions.list(now)) {
      await service.storage.sessions.revoke(id, now, { actor: 'root', via: 'cli' });
    }
    await untilRefreshed(browsing.page, '#stale:has-text("Your session has ended")');
  },
);

test('a page that is left alone refreshes itself and does not keep its session open', needsBrowser, async () => {
  await using service = await testService();
  await using browsing = await browseSignedIn(browser(), service);
  service.clock.advance(3_599);
  const refreshing = browsing.page.waitForResponse((response) => response.url().endsWith('/console'));
  await browsing.page.clock.fastForward(REFRESH_MS);
  assert.equal((await refreshing).status(), 200);
  service.clock.advance(1);
  await untilRefreshed(browsing.page, '#stale:has-text("Your session has ended")');
});

/** Lets the page refresh itself until it shows what is looked for. */
async function untilRefreshed(page: Page, selector: string): Promise<void> {
  await untilTrue(async () => {
    await page.clock.fastForward(REFRESH_MS);
    return page.isVisible(selector);
  }, selector);
}
