import assert from 'node:assert/strict';
import { test } from 'node:test';
import { suiteBrowser } from '../kit/chromium.ts';
import { ABOUT_COLOURS, browseSignedIn, DESKTOP, faults, PHONE } from '../kit/console/browsing.ts';
import { testService } from '../kit/service.ts';
import { fillWithLife, pagesOf } from './life.ts';

const { needsBrowser, browser } = suiteBrowser();
/** The width to which WCAG 2.2, success criterion 1.4.10, wants a page to fit. */
const NARROW = 320;

test(
  'every page is accessible in the light and the dark, fits a phone and runs only its own scripts',
  needsBrowser,
  async () => {
    await using service = await testService();
    const life = await fillWithLife(service);
    for (let index = 0; index < 30; index += 1) await service.issue({ owner: `partner-${index}-${'x'.repeat(200)}` });
    await using browsing = await browseSignedIn(browser(), service, { colorScheme: 'light' });
    const { page, complaints } = browsing;
    for (const [, path] of pagesOf(life)) {
      await page.setViewportSize(DESKTOP);
      await page.goto(`${service.operatorUrl}/console${path}`);
      assert.deepEqual(await faults(page), [], path);
      const cut = await page
        .locator('.cards')
        .evaluateAll((all) => all.map((each) => each.scrollWidth - each.clientWidth));
      assert.deepEqual(
        cut.filter((width) => width > 0),
        [],
        `a table of ${path} is cut off`,
      );
      await page.emulateMedia({ colorScheme: 'dark' });
      assert.deepEqual(await faults(page, ...ABOUT_COLOURS), [], `${path} in the dark`);
      await page.emulateMedia({ colorScheme: 'light' });
      await page.setViewportSize(PHONE);
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), PHONE.width, `${path} is too wide`);
      await page.setViewportSize({ ...PHONE, width: NARROW });
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), NARROW, `${path} at ${NARROW} px`);
      assert.doesNotMatch(await page.title(), /broken in$/);
    }
    for (const path of ['', `/keys/${life.bannedKey}`]) {
      await page.goto(`${service.operatorUrl}/console${path}`);
      assert.deepEqual(await faults(page), [], `${path} on a phone`);
    }
    assert.deepEqual(complaints, []);
  },
);

test('every page of an empty console is accessible', needsBrowser, async () => {
  await using service = await testService();
  await using browsing = await browseSignedIn(browser(), service);
  for (const path of ['', '/keys', '/categories', '/pets', '/orders']) {
    await browsing.page.goto(`${service.operatorUrl}/console${path}`);
    assert.deepEqual(await faults(browsing.page), [], path);
  }
});
