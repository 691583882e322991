import assert from 'node:assert/strict';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { GUIDE, pathOf } from '../../src/http/docs/site.ts';
import { ABOUT_COLOURS, ABOUT_WIDTH, faults } from '../kit/console/browsing.ts';
import type { TestService } from '../kit/service.ts';

/** Every page of the documentation, by its name in the address. */
export const PAGES = ['', ...Object.keys(GUIDE).filter((file) => pathOf(file) !== '/docs'), 'reference'];

export const PHONE = { width: 390, height: 844 };
const DESKTOP = { width: 1280, height: 900 };

/** Asserts that pages of the documentation are accessible, in the light and the dark, and show all that they hold. */
export async function assertLegible(
  browser: Browser,
  service: TestService,
  pages: readonly string[],
  { origin } = new URL(service.url),
): Promise<void> {
  const { secret } = await service.issue();
  const { page, complaints } = await watchedPage(browser);
  for (const name of pages) {
    await page.setViewportSize(DESKTOP);
    await page.goto(`${origin}/docs${name && '/'}${name}`);
    if (name === 'reference') {
      await page.fill('.key input', secret);
      assert.equal((await tryOut(page, 'createCategory')).status, '201');
    }
    for (const [colorScheme, size, rules] of [
      ['light', DESKTOP, []],
      ['dark', DESKTOP, ABOUT_COLOURS],
      ['light', PHONE, ABOUT_WIDTH],
    ] as const) {
      const where = `${name || 'guide'}-${colorScheme}-${size.width}`;
      await page.setViewportSize(size);
      await page.emulateMedia({ colorScheme });
      assert.deepEqual(await faults(page, ...rules), [], where);
      assert.equal(await page.evaluate('document.documentElement.scrollWidth'), size.width, `${where} is too wide`);
      assert.deepEqual(await page.evaluate(CUT), [], where);
    }
  }
  assert.deepEqual(complaints, []);
}

/** Elements, other than form fields, that hold more than they show. */
const CUT = `[...document.querySelectorAll('main *, .side *')]
  .filter((each) => each.checkVisibility() && !each.closest('.unseen') && !/^(INPUT|SELECT|TEXTAREA|METER)$/.test(each.tagName))
  .filter((each) => each.clientWidth > 0 && each.scrollWidth > each.clientWidth + 1)
  .map((each) => each.outerHTML.slice(0, 100))`;

/** Opens an operation's form, sends it as it is, and reads what is shown of the answer. */
export async function tryOut(page: Page, id: string) {
  const form = page.locator(`#try-${id}`);
  if (!(await form.locator('form').isVisible())) await form.locator('> summary').click();
  // The last outcome stays until the next one is there.
  await form.locator('.outcome h4').evaluateAll((all) => {
    for (const each of all) each.classList.add('last');
  });
  const answered = page.waitForResponse((response) => new URL(response.url()).pathname.startsWith('/v1/'));
  await form.locator('button[type="submit"]').click();
  const status = String((await answered).status());
  await form.locator(`.outcome h4:not(.last):has-text("${status}")`).waitFor();
  const texts = async (selector: string) => (await form.locator(selector).allTextContents()).join('\n');
  return {
    status,
    body: await texts('.outcome > .sample pre'),
    gauges: await texts('.outcome .gauges'),
    folded: await texts('.outcome details pre'),
  };
}

/** A page, and what it asks for or complains of. */
export interface WatchedPage {
  readonly page: Page;
  /** Every address that the page asked for. */
  readonly requests: string[];
  /** Errors and warnings on the console, violations of the policy among them, and exceptions. */
  readonly complaints: string[];
}

/** Opens a page that remembers what it asks for and complains of. */
export async function watchedPage(browser: Browser, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const page = await browser.newPage({ viewport: DESKTOP, ...options });
  const requests: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith('data:')) requests.push(request.url());
  });
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  return { page, requests, complaints };
}
