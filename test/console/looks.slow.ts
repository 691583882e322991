import assert from 'node:assert/strict';
import { test } from 'node:test';
import { suiteBrowser } from '../kit/chromium.ts';
import { browseSignedIn } from '../kit/console/browsing.ts';
import { fillWithLife, pagesOf } from '../kit/console/life.ts';
import { assertLooks } from '../kit/console/looks.ts';
import { testService } from '../kit/service.ts';

const { needsBrowser, browser } = suiteBrowser();

test(
  'every page is accessible in the light and the dark, fits a phone and runs only its own scripts',
  needsBrowser,
  () => assertLooks(browser(), { pages: pagesOf, inTheDark: true }),
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
