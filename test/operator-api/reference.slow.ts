import assert from 'node:assert/strict';
import { test } from 'node:test';
import { suiteBrowser } from '../kit/chromium.ts';
import { ABOUT_COLOURS, DESKTOP, draw, faults } from '../kit/console/browsing.ts';
import { testService } from '../kit/service.ts';

const PHONE = { width: 390, height: 844 };
const { needsBrowser, browser } = suiteBrowser();

test(
  'the reference of the operator API is accessible on a phone, and its colours are in the dark',
  needsBrowser,
  async () => {
    await using service = await testService();
    const page = await browser().newPage({ viewport: PHONE });
    await page.goto(`${service.operatorUrl}/docs`);
    assert.deepEqual(await faults(page), []);
    await page.emulateMedia({ colorScheme: 'dark' });
    for (const size of [DESKTOP, PHONE]) {
      await page.setViewportSize(size);
      await draw(page, `operator-docs-dark-${size.width}`);
      assert.deepEqual(await faults(page, ...ABOUT_COLOURS), []);
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), size.width);
    }
  },
);
