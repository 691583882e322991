import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];
const ARGUMENTS = [
  ...['--no-sandbox', '--headless', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
];

/**
 * Where the Chromium is that is installed on this machine, or why tests skip what needs it. With CI=true there must be
 * one.
 */
export function findChromium(): { executable: string } | { missing: string } {
  const folders = ['/usr/bin', ...(process.env.PATH ?? '').split(delimiter)];
  const executable = NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(existsSync);
  if (executable) return { executable };
  const missing = `there is no browser (${NAMES.join(', ')}) on this machine; install Chromium to run these tests`;
  if (process.env.CI === 'true') throw new Error(missing);
  process.stderr.write(`SKIPPED: ${missing}\n`);
  return { missing };
}

/** Starts a browser with background network traffic turned off. */
export function launchChromium(executable: string): Promise<Browser> {
  return chromium.launch({ executablePath: executable, args: ARGUMENTS });
}
