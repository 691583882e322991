import assert from 'node:assert/strict';
import type { Browser } from 'playwright-core';
import { testService } from '../service.ts';
import { ABOUT_COLOURS, browseSignedIn, DESKTOP, draw, faults, PHONE } from './browsing.ts';
import { fillWithLife, type Life } from './life.ts';

/** Asserts that pages are accessible in the light and in the dark, fit a phone and run only their own scripts. */
export async function assertLooks(browser: Browser, pages: (life: Life) => [string, string][]): Promise<void> {
  await using service = await testService();
  const life = await fillWithLife(service);
  await using browsing = await browseSignedIn(browser, service, { colorScheme: 'light' });
  const { page, complaints } = browsing;
  for (const [name, path] of pages(life)) {
    await page.setViewportSize(DESKTOP);
    await page.goto(`${service.operatorUrl}/console${path}`);
    await draw(page, `${name}-light-${DESKTOP.width}`);
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
    await draw(page, `${name}-dark-${DESKTOP.width}`);
    assert.deepEqual(await faults(page, ...ABOUT_COLOURS), [], `${path} in the dark`);
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize(PHONE);
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), PHONE.width, `${path} is too wide`);
    await draw(page, `${name}-light-${PHONE.width}`);
    assert.doesNotMatch(await page.title(), /broken in$/);
  }
  for (const path of ['', `/keys/${life.bannedKey}`]) {
    await page.goto(`${service.operatorUrl}/console${path}`);
    assert.deepEqual(await faults(page), [], `${path} on a phone`);
  }
  assert.deepEqual(complaints, []);
}
