import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { after, before } from 'node:test';
import { type Browser, chromium } from 'playwright-core';

/** In this order: the shell draws the same pages without a browser around them, for half of the processor time. */
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];
const ARGUMENTS = [
  ...['--no-sandbox', '--headless', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
];

/** The browser of a suite. */
export interface SuiteBrowser {
  /** The options of a test that needs it: it is skipped on a machine without one. */
  readonly needsBrowser: { readonly skip?: string };
  /** The browser, which runs from before the first test until after the last one. */
  browser(): Browser;
}

/** Has the suite that calls it start a browser, with background network traffic turned off, and close it. */
export function suiteBrowser(): SuiteBrowser {
  const found = findChromium();
  let browser: Browser | undefined;
  before(async () => {
    if ('executable' in found) browser = await launch(found.executable);
  });
  after(() => browser?.close());
  return {
    needsBrowser: 'missing' in found ? { skip: found.missing } : {},
    browser() {
      assert.ok(browser, 'a test without needsBrowser needs a browser');
      return browser;
    },
  };
}

/** Starts the browser of this machine, in UTC, without background network traffic. Throws if there is none. */
export async function startChromium(): Promise<Browser> {
  const found = findChromium();
  if ('missing' in found) throw new Error(found.missing);
  return launch(found.executable);
}

function launch(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: ARGUMENTS, env: { ...process.env, TZ: 'UTC' } });
}

/**
 * Where the Chromium is that is installed on this machine, or why tests skip what needs it. With CI=true there must be
 * one.
 */
function findChromium(): { executable: string } | { missing: string } {
  const folders = ['/usr/bin', ...(process.env.PATH ?? '').split(delimiter)];
  const executable = NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(existsSync);
  if (executable) return { executable };
  const missing = `there is no browser (${NAMES.join(', ')}) on this machine; install Chromium to run these tests`;
  if (process.env.CI === 'true') throw new Error(missing);
  process.stderr.write(`SKIPPED: ${missing}\n`);
  return { missing };
}
