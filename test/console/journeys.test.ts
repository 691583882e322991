import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { suiteBrowser } from '../kit/chromium.ts';
import { untilEqual, untilTrue } from '../kit/clock.ts';
import { browse, browseSignedIn, faults, openConsole } from '../kit/console/browsing.ts';
import { run, serveProcess } from '../kit/process.ts';
import { type TestService, temporaryFolder, testService } from '../kit/service.ts';
import { fillWithHistory, type Life } from './life.ts';

/** What operators come to the console for, clicked through and read in a real browser. */

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
  await page.waitForSelector('text=None in the last hour');
  assert.equal(await page.textContent('#requests-legend .served'), '0 served');
  assert.equal(await page.isVisible('#requests'), false, 'no empty axes');

  assert.equal((await fetch(url, { headers: { authorization: `Bearer ${secret}` } })).status, 200);
  // An export has what was counted stored, which else is done within five seconds.
  await page.request.get(`${new URL(link).origin}/console/owner/export?owner=`);
  await untilRefreshed(page, '#requests-legend .served:text-is("1 served")');
  await page.waitForSelector('#requests svg');

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
  await untilRefreshed(page, '#bans a:has-text("Hammer")');
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
  assert.deepEqual(await faults(page), []);

  await page.reload();
  await page.waitForSelector('h1:has-text("Shop")');
  assert.ok(!(await page.content()).includes(secret), 'a reload shows the key without its secret');
  assert.equal(await service.storage.keys.count({ now: 0 }), 1, 'and makes no other');

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

test('everything works with scripts off', needsBrowser, async () => {
  await using service = await testService();
  await fillWithHistory(service);
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

test(
  'the page of requests follows the traffic, marks what is new, and keeps what it shows while paused',
  needsBrowser,
  async () => {
    await using service = await testService();
    const { secret } = await service.issue({ name: 'shop' });
    const call = (id: string) => service.call(secret, '/pets', { headers: { 'x-request-id': id } });
    await call('first');
    await using browsing = await browseSignedIn(browser(), service);
    const { page, complaints } = browsing;
    await page.click('nav >> text=Requests');
    const shown = () => page.locator('#rows tbody tr td:last-child').allTextContents();
    const untilShown = (count: number) =>
      untilTrue(async () => {
        await page.clock.fastForward(REFRESH_MS);
        return (await shown()).length === count;
      }, `${count} requests`);
    assert.deepEqual(await shown(), ['first']);
    assert.equal(await page.textContent('#following'), 'New ones appear by themselves.');
    await call('second');
    await untilShown(2);
    assert.equal(await page.getAttribute('#rows tbody tr:has-text("second")', 'class'), 'new');
    assert.equal(await page.getAttribute('#rows tbody tr:has-text("first")', 'class'), null);

    await page.click('text=Pause');
    assert.equal(await page.textContent('#following'), 'Paused.');
    assert.equal(new URL(page.url()).search, '?paused=1');
    await call('third');
    const answered = page.waitForResponse((response) => response.url().includes('/console/requests'));
    await page.clock.fastForward(5 * REFRESH_MS);
    await page.click('text=Follow');
    await page.clock.fastForward(REFRESH_MS);
    assert.doesNotMatch((await answered).url(), /paused/, 'nothing was asked for while paused');
    assert.equal(new URL(page.url()).search, '');
    await untilShown(3);
    assert.deepEqual(await shown(), ['third', 'second', 'first']);
    assert.deepEqual(complaints, []);
  },
);

describe('on a service with a past', () => {
  let service: TestService;
  let life: Life;
  before(async () => {
    service = await testService();
    life = await fillWithHistory(service);
  });
  after(() => service[Symbol.asyncDispose]());

  test('times are in the operator’s time zone, and in UTC on hover', needsBrowser, async () => {
    await using browsing = await browseSignedIn(browser(), service, { timezoneId: 'Asia/Kolkata' });
    const { page } = browsing;
    await page.goto(`${service.operatorUrl}/console/keys/${life.bannedKey}`);
    const until = page.locator('#ban time');
    assert.equal(await until.textContent(), '2026-01-01 17:34');
    assert.equal(await until.getAttribute('title'), '2026-01-01 12:04:10 UTC');
  });

  test('a chart has the numbers of its table, and says what its limit is', needsBrowser, async () => {
    await using browsing = await browseSignedIn(browser(), service);
    const { page } = browsing;
    await page.goto(`${service.operatorUrl}/console/keys/${life.bannedKey}`);
    assert.equal(await page.textContent('#requests-legend .limit'), 'limit 60');
    // The last bar: each value of the step under the pointer, as the table has it.
    await page.hover('#requests svg', { position: await endOf(page, '#requests svg') });
    await page.waitForSelector('.tip span');
    const told = await page.locator('.tip span').allTextContents();
    assert.equal(await page.textContent('.tip strong'), '2026-01-01 11:59 – 12:00');
    const [cells = ''] = await page.locator('#requests-rows tr').first().locator('td').allTextContents();
    assert.deepEqual(told, [`Served ${cells}`, 'Client errors 0', 'Refused 0', 'Server errors 0']);
    await page.goto(`${service.operatorUrl}/console/keys/${life.bannedKey}?since=30d`);
    assert.equal(await page.textContent('#requests-legend .limit'), 'limit 1,000');
  });

  test('the keyboard reaches the content first, and everything on the page after it', needsBrowser, async () => {
    await using browsing = await browseSignedIn(browser(), service);
    const { page } = browsing;
    await page.goto(`${service.operatorUrl}/console`);
    await page.keyboard.press('Tab');
    const focused = () => page.evaluate('document.activeElement.textContent.trim()');
    assert.equal(await focused(), 'Skip to the content');
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate('document.activeElement.id'), 'content');
    await page.keyboard.press('Tab');
    assert.equal(await focused(), 'events');
    await page.keyboard.press('Tab');
    assert.equal(await focused(), 'Nightly reports');
    const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle');
    assert.equal(outline, 'solid', 'where the focus is can be seen');
    await page.keyboard.press('Tab');
    assert.equal(await focused(), 'Lift the ban');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.notice:has-text("The ban was lifted")');
  });
});

/** A place within the last but one of 60 bars. */
async function endOf(page: Page, selector: string): Promise<{ x: number; y: number }> {
  const { width = 0 } = (await page.locator(selector).boundingBox()) ?? {};
  return { x: (58.5 / 60) * width, y: 20 };
}

/** Lets the page refresh itself until it shows what is looked for. */
async function untilRefreshed(page: Page, selector: string): Promise<void> {
  await untilTrue(async () => {
    await page.clock.fastForward(REFRESH_MS);
    return page.isVisible(selector);
  }, selector);
}
