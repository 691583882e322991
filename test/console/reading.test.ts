import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { suiteBrowser } from '../kit/chromium.ts';
import { browseSignedIn } from '../kit/console/browsing.ts';
import { fillWithHistory, fillWithLife } from '../kit/console/life.ts';
import { testService } from '../kit/service.ts';

/** Times, numbers and the focus order on the console's pages, in a real browser. */

const { needsBrowser, browser } = suiteBrowser();

test('times are in the operator’s time zone, and in UTC on hover', needsBrowser, async () => {
  await using service = await testService();
  const life = await fillWithLife(service);
  await using browsing = await browseSignedIn(browser(), service, { timezoneId: 'Asia/Kolkata' });
  const { page } = browsing;
  await page.goto(`${service.operatorUrl}/console/keys/${life.bannedKey}`);
  const until = page.locator('#ban time');
  assert.equal(await until.textContent(), '2026-01-01 17:34');
  assert.equal(await until.getAttribute('title'), '2026-01-01 12:04:10 UTC');
});

test('a chart has the numbers of its table, and says what its limit is', needsBrowser, async () => {
  await using service = await testService();
  const life = await fillWithHistory(service);
  await using browsing = await browseSignedIn(browser(), service);
  const { page } = browsing;
  await page.goto(`${service.operatorUrl}/console/keys/${life.bannedKey}`);
  assert.equal(await page.locator('#requests-rows tr').count(), 55);
  const refused = (await page.locator('#requests-rows td:nth-child(4)').allTextContents())
    .map((text) => Number(text.replaceAll(',', '')))
    .reduce((sum, count) => sum + count, 0);
  assert.ok(refused > 0);
  assert.equal(await page.textContent('#requests-legend .refused'), `${refused.toLocaleString('en-US')} refused`);
  assert.equal(await page.textContent('#requests-legend .limit'), 'limit 60');
  // The last bar: each value of the step under the pointer, as the table has it.
  await page.hover('#requests svg', { position: await endOf(page, '#requests svg') });
  await page.waitForSelector('.tip span');
  const told = await page.locator('.tip span').allTextContents();
  assert.equal(await page.textContent('.tip strong'), '11:59 – 12:00');
  const [cells = ''] = await page.locator('#requests-rows tr').first().locator('td').allTextContents();
  assert.deepEqual(told, [`Served ${cells}`, 'Client errors 0', 'Refused 0', 'Server errors 0']);
  await page.goto(`${service.operatorUrl}/console/keys/${life.bannedKey}?range=30d`);
  assert.equal(await page.textContent('#requests-legend .limit'), 'limit 1,000');
  for (const [path, step, said] of [
    ['', 59.5 / 60, ['12:00 – 12:01', 'p50 –', 'p99 –']],
    ['', 58.5 / 60, ['11:59 – 12:00', 'p50 0.32 ms', 'p99 4.8 ms']],
    ['?range=30d', 29.5 / 30, ['2026-01-01 UTC', 'p50 0.32 ms', 'p99 4.8 ms']],
    ['?range=1y', 52.5 / 53, ['Week from 2025-12-29 UTC', 'p50 0.32 ms', 'p99 4.8 ms']],
  ] as const) {
    await page.goto(`${service.operatorUrl}/console${path}`);
    const { width = 0 } = (await page.locator('#durations svg').boundingBox()) ?? {};
    await page.hover('#durations svg', { position: { x: step * width, y: 20 } });
    await page.waitForSelector('.tip span');
    assert.deepEqual(await page.locator('.tip > *').allTextContents(), said);
  }
});

test('the keyboard reaches the content first, and everything on the page after it', needsBrowser, async () => {
  await using service = await testService();
  await fillWithLife(service);
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
  for (let link = 0; link < 5; link += 1) await page.keyboard.press('Tab');
  assert.equal(await focused(), 'Nightly reports');
  const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle');
  assert.equal(outline, 'solid', 'where the focus is can be seen');
  await page.keyboard.press('Tab');
  assert.equal(await focused(), 'Why was it refused?');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.waitForSelector('.notice:has-text("The ban was lifted")');
});

/** A place within the last but one of 60 bars. */
async function endOf(page: Page, selector: string): Promise<{ x: number; y: number }> {
  const { width = 0 } = (await page.locator(selector).boundingBox()) ?? {};
  return { x: (58.5 / 60) * width, y: 20 };
}
