import { test } from 'node:test';
import { suiteBrowser } from '../kit/chromium.ts';
import { DESKTOP } from '../kit/console/browsing.ts';
import { assertAnswered } from '../kit/console/questions.ts';

const { needsBrowser, browser } = suiteBrowser();

test('each question of an operator is answered within three clicks, at a desk', needsBrowser, () =>
  assertAnswered(browser(), { viewport: DESKTOP, colorScheme: 'light' }),
);
