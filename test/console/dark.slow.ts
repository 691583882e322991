import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { findChromium, launchChromium } from '../kit/chromium.ts';
import { assertLooks } from '../kit/console/looks.ts';

const found = findChromium();
const needsBrowser = 'missing' in found ? { skip: found.missing } : {};
let browser: Browser;

before(async () => {
  if ('executable' in found) browser = await launchChromium(found.executable);
});
after(() => browser?.close());

test('every page is accessible, fits a phone and runs only its own scripts, dark', needsBrowser, () =>
  assertLooks(browser, 'dark'),
);
