import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { suiteBrowser } from '../kit/chromium.ts';
import { browseSignedIn, faults } from '../kit/console/browsing.ts';
import { type TestService, testService } from '../kit/service.ts';

/** Errors and narrow screens in the console, in a real browser. */

const PHONE = { width: 390, height: 844 };

const { needsBrowser, browser } = suiteBrowser();
describe('the console', needsBrowser, () => {
  let service: TestService;
  let page: Page;

  before(async () => {
    service = await testService();
    ({ page } = await browseSignedIn(browser(), service));
  });
  after(() => service[Symbol.asyncDispose]());

  test('a form shows all mistakes, accessibly, and each leads to its field', async () => {
    await page.setViewportSize(PHONE);
    await page.goto(`${service.operatorUrl}/console/keys/new`);
    await page.fill('#name', ' ');
    await page.selectOption('#plan', 'enterprise');
    for (const box of await page.locator('[name=scopes]').all()) await box.uncheck();
    // The browser would stop at the first one.
    await page.evaluate('document.querySelector("main form").noValidate = true');
    await page.click('main button.primary');
    await page.waitForSelector('.fault');
    assert.equal(await page.locator('.fault').count(), 3);
    assert.deepEqual(await faults(page), []);
    for (const field of ['name', 'limits', 'scopes']) {
      await page.click(`.mistake a[href="#${field}"]`);
      assert.equal(await page.locator(':target').getAttribute('id'), field);
      assert.ok(await page.locator(`#${field}-mistake`).isVisible(), field);
    }
  });

  test('on a phone the navigation is one row, with the current section in sight', async () => {
    await page.setViewportSize(PHONE);
    for (const path of ['', '/audit', '/nothing-here']) {
      await page.goto(`${service.operatorUrl}/console${path}`);
      const tops = await page
        .locator('.side li')
        .evaluateAll((items) => items.map((item) => item.getBoundingClientRect().top));
      assert.equal(new Set(tops).size, 1, `${path}: ${tops}`);
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), PHONE.width, path);
      assert.deepEqual(await faults(page), [], path);
      if (path === '/nothing-here') continue;
      const { x = -1, width = 0 } = (await page.locator('.side [aria-current]').boundingBox()) ?? {};
      assert.ok(x >= 0 && x + width <= PHONE.width, `${path}: ${x}`);
    }
  });

  test('a secret that is pasted into a search is in no address', async () => {
    const { key, secret } = await service.issue();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    for (const [path, field, found] of [
      ['', '.look-up input', `/keys/${key.id}`],
      ['/keys', '#q', `/keys?q=${key.prefix}`],
    ]) {
      await page.goto(`${service.operatorUrl}/console${path}`);
      await page.fill(`${field}`, `Bearer ${secret}`);
      await page.press(`${field}`, 'Enter');
      await page.waitForURL((address) => address.href.startsWith(`${service.operatorUrl}/console${found}`));
    }
    assert.deepEqual(
      asked.filter((address) => address.includes(secret.slice(0, 20))),
      [],
    );
  });

  test('from right to left nothing is wider than the screen', async () => {
    await service.issue();
    for (const width of [1280, PHONE.width]) {
      await page.setViewportSize({ width, height: PHONE.height });
      await page.goto(`${service.operatorUrl}/console/keys`);
      await page.evaluate("document.documentElement.dir = 'rtl'");
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width);
    }
  });

  test('the limits of a plan are whole on a phone', async () => {
    await page.setViewportSize(PHONE);
    await page.goto(`${service.operatorUrl}/console/keys/new`);
    const [needed, has] = (await page.evaluate(`(() => {
    const plan = document.querySelector('#plan');
    const { width } = plan.getBoundingClientRect();
    plan.style.width = 'max-content';
    return [plan.getBoundingClientRect().width, width];
  })()`)) as [number, number];
    assert.ok(needed <= has, `${needed} of ${has}`);
  });
});
