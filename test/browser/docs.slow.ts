import { test } from 'node:test';
import { suiteBrowser } from '../kit/chromium.ts';
import { testService } from '../kit/service.ts';
import { assertLegible, PAGES } from './looks.ts';

const { needsBrowser, browser } = suiteBrowser();

test('every page of the documentation is accessible, and shows everything that it holds', needsBrowser, async () => {
  await using service = await testService();
  await assertLegible(browser(), service, PAGES);
});

test('so is the reference of the operator API', needsBrowser, async () => {
  await using service = await testService();
  await assertLegible(browser(), service, [''], new URL(service.operatorUrl));
});
