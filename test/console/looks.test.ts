import assert from 'node:assert/strict';
import { test } from 'node:test';
import { suiteBrowser } from '../kit/chromium.ts';
import { assertLooks } from '../kit/console/looks.ts';
import { signIn } from '../kit/console/visitor.ts';
import { testService } from '../kit/service.ts';

/** What the console looks like in a real browser, and what it runs; looks.slow.ts looks at every page. */

const { needsBrowser, browser } = suiteBrowser();

test('the overview, a list and a form are accessible, fit a phone and run only their own scripts', needsBrowser, () =>
  assertLooks(browser(), () => [
    ['overview', ''],
    ['keys', '/keys'],
    ['key-new', '/keys/new'],
  ]),
);

test('an empty console says what to do next', async () => {
  await using service = await testService();
  const operator = await signIn(service);
  const advice = {
    '': 'Create the first key',
    '/keys': 'Create the first key',
    '/categories': 'Import a file',
    '/pets': 'POST',
    '/orders': 'POST',
  };
  for (const [path, text] of Object.entries(advice)) {
    const [, empty = ''] = /class="empty"[^>]*>(.*?)<\/(?:div|section)>/s.exec(await operator.page(path)) ?? [];
    assert.ok(empty.includes(text), path);
  }
});
