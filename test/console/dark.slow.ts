import { test } from 'node:test';
import { suiteBrowser } from '../kit/chromium.ts';
import { assertLooks } from '../kit/console/looks.ts';

const { needsBrowser, browser } = suiteBrowser();

test('every page is accessible, fits a phone and runs only its own scripts, dark', needsBrowser, () =>
  assertLooks(browser(), 'dark'),
);
