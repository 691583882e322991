import assert from 'node:assert/strict';
import type { Browser } from 'playwright-core';
import { testService } from '../service.ts';
import { browseSignedIn, DESKTOP, draw, faults, PHONE } from './browsing.ts';
import { fillWithLife, pagesOf } from './life.ts';

/** Asserts that every page is accessible, fits a phone and runs only its own scripts. */
export async function assertLooks(browser: Browser, colorScheme: 'light' | 'dark'): Promise<void> {
  await using service = await testService();
  const life = await fillWithLife(service);
  await using browsing = await browseSignedIn(browser, service, { colorScheme });
  const { page, complaints } = browsing;
  for (const [name, path] of pagesOf(life)) {
    await page.setViewportSize(DESKTOP);
    await page.goto(`${service.operatorUrl}/console${path}`);
    await draw(page, `${name}-${colorScheme}-${DESKTOP.width}`);
    assert.deepEqual(await faults(page), [], path);
    const cut = await page
      .locator('.cards')
      .evaluateAll((all) => all.map((each) => each.scrollWidth - each.clientWidth));
    assert.deepEqual(
      cut.filter((width) => width > 0),
      [],
      `a table of ${path} is cut off`,
    );
    await page.setViewportSize(PHONE);
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), PHONE.width, `${path} is too wide`);
    await draw(page, `${name}-${colorScheme}-${PHONE.width}`);
    assert.doesNotMatch(await page.title(), /broken in$/);
  }
  for (const path of ['', `/keys/${life.bannedKey}`]) {
    await page.goto(`${service.operatorUrl}/console${path}`);
    assert.deepEqual(await faults(page), [], `${path} on a phone`);
  }
  assert.deepEqual(complaints, []);
}
