import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import type { TestService } from '../service.ts';
import { loginLink } from './visitor.ts';

export const PHONE = { width: 360, height: 780 };
export const DESKTOP = { width: 1280, height: 860 };
/** Ends a test that hangs, and times nothing: on one core a page may take ten seconds. */
const PATIENCE_MS = 30_000;
const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

export interface Browsing extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors and warnings on the browser's console, violations of the policy among them, and exceptions. */
  readonly complaints: string[];
}

export interface BrowsingOptions {
  readonly colorScheme?: 'light' | 'dark';
  readonly javaScriptEnabled?: boolean;
  readonly timezoneId?: string;
}

/** A browser window that remembers what the browser complains of. */
export async function browse(browser: Browser, options: BrowsingOptions = {}): Promise<Browsing> {
  const context = await browser.newContext({ viewport: DESKTOP, ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  // Its time passes as usual, and a test may pass some of it at once.
  await page.clock.install();
  const complaints: string[] = [];
  page.on('console', (message) => {
    const isMissing = message.text().includes('404 (Not Found)');
    if (['error', 'warning'].includes(message.type()) && !isMissing) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  return { page, context, complaints, [Symbol.asyncDispose]: () => context.close() };
}

/** Opens the link that `console login` prints, and presses the button. */
export async function browseSignedIn(browser: Browser, service: TestService, options?: BrowsingOptions) {
  const browsing = await browse(browser, options);
  await openConsole(browsing.page, (await loginLink(service)).link);
  return browsing;
}

export async function openConsole(page: Page, link: string): Promise<void> {
  await page.goto(link);
  await page.click('text=Open the console');
  await page.waitForSelector('h1:has-text("Overview")');
}

/** The rules of axe that look at colours: the others find in the dark what they find in the light. */
export const ABOUT_COLOURS = ['color-contrast', 'link-in-text-block'];

/** The rules of axe that look at the layout. */
export const ABOUT_WIDTH = ['scrollable-region-focusable', 'target-size'];

/** Accessibility violations on the page, as found by axe; of all rules, or of those named. */
export async function faults(page: Page, ...rules: string[]): Promise<string[]> {
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(AXE);
  // Selectors of elements, and elements that are right, take time and are not told.
  const options = { resultTypes: ['violations'], selectors: false, ...(rules.length > 0 && { runOnly: rules }) };
  const found = (await page.evaluate(`axe.run(${JSON.stringify(options)})`)) as {
    violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[];
  };
  return found.violations.flatMap(({ id, impact, nodes }) =>
    nodes.map((node) => `${id} (${impact}): ${node.html} ${node.failureSummary}`),
  );
}
