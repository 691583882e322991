import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Browser } from 'playwright-core';
import { startChromium } from '../test/kit/chromium.ts';
import { loginLink } from '../test/kit/console/visitor.ts';
import { temporaryFolder, testService } from '../test/kit/service.ts';

/**
 * Draws the pictures of the pages: the console after three quarters of an hour of requests, and the verdict on a client
 * that repeats a create without a key. All requests are sent and counted, by a clock whose minutes pass in seconds.
 */

const ROOT = new URL('..', import.meta.url);
const CONSOLE = fileURLToPath(new URL('docs/pictures/console.png', ROOT));
const VERDICT = fileURLToPath(new URL('referee/docs/report.png', ROOT));
const REFEREE = fileURLToPath(new URL('referee/bin/api-referee.js', ROOT));
const MINUTES = 45;
/** Usage is saved every five seconds, under the minute in which it is saved. */
const SAVED_MS = 5_200;
/** Requests of the shop in a minute that is neither busy nor quiet. */
const SHOP_RATE = 24;
/** Minutes from the end in which the other client ignores its limit. */
const HAMMERS_UNTIL = 4;

/** Reads, then repeats a create after each failure with no key to tell that it is the same one. */
const CLIENT = `
await fetch(process.env.REFEREE_URL + '/things').then((list) => list.text());
for (let left = 4; left > 0; left -= 1) {
  const sent = await fetch(process.env.REFEREE_URL + '/things', { method: 'POST', body: '{"name":"a"}' }).catch(() => {});
  if (sent?.ok) break;
  if (left === 1) process.exit(1);
  const seconds = Number(sent?.headers.get('retry-after') ?? 0);
  await new Promise((done) => setTimeout(done, 1000 * seconds + 100 * 2 ** (4 - left)));
}`;

const browser = await startChromium();
try {
  await drawConsole(browser);
  await drawVerdict(browser);
} finally {
  await browser.close();
}

async function drawConsole(browser: Browser): Promise<void> {
  await using service = await testService();
  const shop = await service.issue({ name: 'Web shop', plan: 'business' });
  const reports = await service.issue({ name: 'Nightly reports', plan: 'free' });
  for (const name of ['Dog', 'Cat', 'Rabbit'])
    await service.call(shop.secret, '/categories', { method: 'POST', body: JSON.stringify({ name }) });
  const page = await browser.newPage({ viewport: { width: 1280, height: 1120 } });
  await page.goto((await loginLink(service)).link);
  await page.click('text=Open the console');
  await page.waitForSelector('h1:has-text("Overview")');
  for (let left = MINUTES; left > 0; left -= 1) {
    const requests = Math.round(SHOP_RATE * (1 + Math.sin(left / 4) / 3));
    for (let i = 0; i < requests; i += 1) await service.call(shop.secret, i % 12 === 0 ? '/pets/9' : '/categories');
    const others = left <= HAMMERS_UNTIL ? 150 : 8;
    for (let i = 0; i < others; i += 1) await service.call(reports.secret, '/categories');
    await wait(SAVED_MS);
    if (left > 1) service.clock.advance(60);
  }
  await page.reload();
  // Above it the overview shows the settings and the disk of this machine.
  await page.evaluate(
    `[...document.querySelectorAll('h2')].find((each) => each.textContent.startsWith('Now'))?.scrollIntoView()`,
  );
  await page.screenshot({ path: CONSOLE });
}

async function drawVerdict(browser: Browser): Promise<void> {
  using folder = temporaryFolder();
  const api = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(201).end('{}'));
  }).listen(0, '127.0.0.1');
  await once(api, 'listening');
  const file = join(folder.path, 'verdict.html');
  const upstream = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
  const client = [process.execPath, '--input-type=module', '--eval', CLIENT];
  // Exit 1 is the verdict: a rule is broken.
  await new Promise((done) => {
    execFile(process.execPath, [REFEREE, 'client', '--upstream', upstream, '--html', file, '--', ...client], done);
  });
  api.close();
  const page = await browser.newPage({ viewport: { width: 1160, height: 800 } });
  await page.goto(pathToFileURL(file).href);
  await page.screenshot({ path: VERDICT });
}
