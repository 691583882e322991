import assert from 'node:assert/strict';
import { test } from 'node:test';
import { suiteBrowser } from '../kit/chromium.ts';
import { browseSignedIn, DESKTOP, draw, faults } from '../kit/console/browsing.ts';
import { fillWithLife, pagesOf } from '../kit/console/life.ts';
import { assertLooks } from '../kit/console/looks.ts';
import { testService } from '../kit/service.ts';

const { needsBrowser, browser } = suiteBrowser();

test(
  'every page is accessible in the light and the dark, fits a phone and runs only its own scripts',
  needsBrowser,
  () => assertLooks(browser(), pagesOf),
);

test('every page can be read with scripts off', needsBrowser, async () => {
  await using service = await testService();
  const life = await fillWithLife(service);
  await using browsing = await browseSignedIn(browser(), service, { javaScriptEnabled: false });
  const { page } = browsing;
  for (const [name, path] of pagesOf(life)) {
    await page.goto(`${service.operatorUrl}/console${path}`);
    assert.ok(await page.isVisible('h1'), name);
    assert.doesNotMatch(await page.title(), /broken in$/);
  }
});

test('every page of an empty console is accessible', needsBrowser, async () => {
  await using service = await testService();
  await using browsing = await browseSignedIn(browser(), service);
  for (const path of ['', '/keys', '/categories', '/pets', '/orders']) {
    await browsing.page.goto(`${service.operatorUrl}/console${path}`);
    await draw(browsing.page, `empty${path.replace('/', '-')}-light-${DESKTOP.width}`);
    assert.deepEqual(await faults(browsing.page), [], path);
  }
});
