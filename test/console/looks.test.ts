import assert from 'node:assert/strict';
import { test } from 'node:test';
import { suiteBrowser } from '../kit/chromium.ts';
import { browseSignedIn, DESKTOP, draw, faults } from '../kit/console/browsing.ts';
import { onePerAddress } from '../kit/console/life.ts';
import { assertLooks } from '../kit/console/looks.ts';
import { testService } from '../kit/service.ts';

/** What the console looks like in a real browser, and what it runs. */

const { needsBrowser, browser } = suiteBrowser();

test('a page of each address is accessible, fits a phone and runs only its own scripts', needsBrowser, () =>
  assertLooks(browser(), { pages: onePerAddress, inTheDark: false }),
);

test('an empty console says what to do next', needsBrowser, async () => {
  await using service = await testService();
  await using browsing = await browseSignedIn(browser(), service);
  const { page } = browsing;
  const advice = {
    '': 'Create the first key',
    '/keys': 'Create the first key',
    '/categories': 'Import a file',
    '/pets': 'POST',
    '/orders': 'POST',
  };
  for (const [path, text] of Object.entries(advice)) {
    await page.goto(`${service.operatorUrl}/console${path}`);
    assert.ok((await page.textContent('.empty'))?.includes(text), path);
    await draw(page, `empty${path.replace('/', '-')}-light-${DESKTOP.width}`);
    assert.deepEqual(await faults(page), [], path);
  }
});
