import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { findChromium, launchChromium } from '../kit/chromium.ts';
import { browseSignedIn } from '../kit/console/browsing.ts';
import { fillWithLife } from '../kit/console/life.ts';
import { testService } from '../kit/service.ts';

/** Times, numbers and the focus order on the console's pages, in a real browser. */

const found = findChromium();
const needsBrowser = 'missing' in found ? { skip: found.missing } : {};
let browser: Browser;

before(async () => {
  if ('executable' in found) browser = await launchChromium(found.executable);
});
after(() => browser?.close());

test('times are in the operator’s time zone, and in UTC on hover', needsBrowser, async () => {
  await using service = await testService();
  const life = await fillWithLife(service);
  await using browsing = await browseSignedIn(browser, service, { timezoneId: 'Asia/Kolkata' });
  const { page } = browsing;
  await page.goto(`${service.operatorUrl}/console/keys/${life.bannedKey}`);
  const until = page.locator('#ban time');
  assert.equal(await until.textContent(), '2026-01-01 17:34');
  assert.equal(await until.getAttribute('title'), '2026-01-01 12:04:10 UTC');
});

test('a chart has the numbers of its table, and says what its limit is', needsBrowser, async () => {
  await using service = await testService();
  const life = await fillWithLife(service);
  await using browsing = await browseSignedIn(browser, service);
  const { page } = browsing;
  await page.goto(`${service.operatorUrl}/console/keys/${life.bannedKey}`);
  assert.equal(await page.locator('#minutes-rows tr').count(), 55);
  const refused = (await page.locator('#minutes-rows td:nth-child(3)').allTextContents())
    .map((text) => Number(text.replaceAll(',', '')))
    .reduce((sum, count) => sum + count, 0);
  assert.ok(refused > 0);
  assert.equal(await page.textContent('#minutes .refused'), `${refused.toLocaleString('en-US')} refused`);
  assert.equal(await page.textContent('#minutes .limit'), 'limit 60');
  assert.equal(await page.textContent('#days .limit'), 'limit 1,000');
  assert.equal(await page.locator('#minutes canvas, #days canvas').count(), 2);
});

test('the keyboard reaches the content first, and everything on the page after it', needsBrowser, async () => {
  await using service = await testService();
  await fillWithLife(service);
  await using browsing = await browseSignedIn(browser, service);
  const { page } = browsing;
  await page.goto(`${service.operatorUrl}/console`);
  await page.keyboard.press('Tab');
  const focused = () => page.evaluate('document.activeElement.textContent.trim()');
  assert.equal(await focused(), 'Skip to the content');
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate('document.activeElement.id'), 'content');
  await page.keyboard.press('Tab');
  assert.equal(await focused(), 'Nightly reports');
  const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle');
  assert.equal(outline, 'solid', 'where the focus is can be seen');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.notice:has-text("The ban was lifted")');
});
