import assert from 'node:assert/strict';
import { test } from 'node:test';
import { suiteBrowser } from '../kit/chromium.ts';
import { ABOUT_COLOURS, DESKTOP, faults } from '../kit/console/browsing.ts';
import { testService } from '../kit/service.ts';

const PHONE = { width: 390, height: 844 };
const { needsBrowser, browser } = suiteBrowser();

test(
  'the reference of the operator API is accessible at a desk, on a phone and in the dark',
  needsBrowser,
  async () => {
    await using service = await testService();
    const page = await browser().newPage();
    await page.goto(`${service.operatorUrl}/docs`);
    for (const [colorScheme, rules] of [
      ['light', []],
      ['dark', ABOUT_COLOURS],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      for (const size of [DESKTOP, PHONE]) {
        await page.setViewportSize(size);
        assert.deepEqual(await faults(page, ...rules), []);
        assert.equal(await page.evaluate('document.documentElement.scrollWidth'), size.width);
      }
    }
  },
);
