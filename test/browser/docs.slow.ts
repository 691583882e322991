import { test } from 'node:test';
import { suiteBrowser } from '../kit/chromium.ts';
import { assertLegible } from '../kit/docs/looks.ts';
import { testService } from '../kit/service.ts';

const { needsBrowser, browser } = suiteBrowser();

test('every page of the documentation is accessible in the dark as well', needsBrowser, async () => {
  await using service = await testService();
  await assertLegible(browser(), service, { isDark: () => true });
});
