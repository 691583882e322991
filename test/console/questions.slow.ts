import { test } from 'node:test';
import { suiteBrowser } from '../kit/chromium.ts';
import { DESKTOP } from '../kit/console/browsing.ts';
import { assertAnswered } from '../kit/console/questions.ts';

const PHONE = { width: 390, height: 844 };
const { needsBrowser, browser } = suiteBrowser();

test('each question of an operator is answered within three clicks, at a desk', needsBrowser, () =>
  assertAnswered(browser(), { viewport: DESKTOP, colorScheme: 'light' }),
);

test('each question of an operator is answered within three clicks, on a phone', needsBrowser, () =>
  assertAnswered(browser(), { viewport: PHONE, colorScheme: 'dark' }),
);
