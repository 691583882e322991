import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { newApiKey, secretRecord } from '../../src/catalog/api-key.ts';
import { suiteBrowser } from '../kit/chromium.ts';
import { untilTrue } from '../kit/clock.ts';
import { browseSignedIn, DESKTOP } from '../kit/console/browsing.ts';
import { temporaryFolder, testService } from '../kit/service.ts';
import { addUsage } from '../kit/usage.ts';
import { fillWithHistory } from './life.ts';

/** The questions of an operator: which links lead from the overview to the sentence that answers each. */

const OWNERS = ['acme', 'globex', 'initech', 'umbrella'];
const CLICKS_MAX = 3;

/** A service with a past: sixty keys of four owners, one of them banned, a backup, an upgrade. */
async function busyService() {
  await using stack = new AsyncDisposableStack();
  const examine = async () => [{ check: 'database', status: 'ok', finding: 'It is sound' } as const];
  const service = stack.use(await testService({}, undefined, { examine }));
  // Calls of late would be stored as usage within five seconds, which moves what is read here.
  const life = await fillWithHistory(service);
  const { storage, clock, metrics } = service;
  const now = clock.now().unix;
  const leaked = { id: '', secret: '' };
  for (let index = 0; index < 56; index += 1) {
    const owner = OWNERS[index % OWNERS.length] ?? '';
    const wanted = { name: `${owner} shop ${index}`, plan: 'pro', owner, environment: 'production' } as const;
    const { key, secret } = newApiKey(wanted, now - 100_000 + index);
    await storage.keys.insert(key, secretRecord(secret), { actor: index % 2 ? 'dana' : 'sam', via: 'console' });
    const counts = { served: 100 + index, clientErrors: 0, refused: index === 13 ? 9_000 : 0, serverErrors: 0 };
    await addUsage(storage, now - 600, [{ keyId: key.id, ...counts, first: now - 600, last: now - 590 }]);
    if (index === 13) Object.assign(leaked, { id: key.id, secret });
  }
  metrics.categories.set(9);
  metrics.categoriesMax.set(100_000);
  metrics.diskFreeBytes.set(50 * 1024 ** 3);
  metrics.backupInterval.set(86_400);
  metrics.backupTime.set(now - 3 * 3_600);
  metrics.backupBytes.set(5 * 1024 ** 2);
  metrics.backupRestored.set(now - 2 * 3_600);
  service.events.waiting.push(
    { at: now - 90_000, event: 'started', members: { version: '0.1.0' } },
    { at: now - 9_000, event: 'stopping', members: {} },
    { at: now - 8_990, event: 'started', members: { version: '0.2.0' } },
  );
  const opened = stack.move();
  return { service, life, leaked, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** An operator at a page, who is counted what is clicked or entered. */
function operatorAt(page: Page) {
  let clicks = 0;
  const leadOn = async (act: Promise<unknown>) => {
    clicks += 1;
    await act;
    await page.waitForLoadState();
  };
  return {
    clicks: () => clicks,
    click: (name: string, within = 'body') =>
      leadOn(page.locator(within).locator(`a, button`).filter({ hasText: name, visible: true }).first().click()),
    async enter(label: string, text: string) {
      await page.getByLabel(label, { exact: true }).first().fill(text);
      await leadOn(page.keyboard.press('Enter'));
    },
    choose: (label: string, option: string) => page.getByLabel(label, { exact: true }).selectOption({ label: option }),
  };
}
type Operator = ReturnType<typeof operatorAt>;
type Viewport = Readonly<typeof DESKTOP>;
type Busy = Awaited<ReturnType<typeof busyService>>;

interface Question {
  readonly asked: string;
  /** What leads to the answer. */
  readonly path: (operator: Operator, busy: Busy & { readonly page: Page; readonly file: string }) => Promise<void>;
  /** The element that holds the answer, and the answer. */
  readonly answer: readonly [selector: string, text: RegExp][];
}

const QUESTIONS: readonly Question[] = [
  {
    asked: 'is it healthy, how full is it, and is there a backup that restores',
    path: async () => {},
    answer: [
      ['#health dd >> nth=0', /^up$/],
      ['#health dt:text("How full") + dd', /^9 of 100,000 categories; .*50 GiB free on its disk; .* descriptors$/],
      ['#health dt:text("Last backup") + dd', /^3 h old, 5 MiB, made and checked .*; one restored and compared .*/],
    ],
  },
  {
    asked: 'is there a newer release, and how is it installed',
    path: async () => {},
    answer: [
      [
        '#health dt:text("Version") + dd',
        /^\d+\.\d+\.\d+\. It does not look .*upgrade is a chapter of docs\/operations\.md\.$/,
      ],
    ],
  },
  {
    asked: 'did the upgrade happen',
    path: (operator) => operator.click('events', '#health'),
    answer: [['#timeline li >> nth=0', /Started, version 0\.2\.0; it was 0\.1\.0 before$/]],
  },
  {
    asked: 'why was this key refused at 11:53',
    path: (operator) => operator.enter('Request id, key or order', 'Nightly reports'),
    answer: [
      [
        '[aria-label="Refusals by minute"] tbody tr >> nth=-1',
        /11:52.* to 11:55.*probably over the limit of its minute.*1,760.*240/,
      ],
    ],
  },
  {
    asked: 'who made this key, and when was it last used',
    async path(operator, { leaked }) {
      await operator.enter('Request id, key or order', leaked.secret.slice(0, 16));
      await operator.click('globex shop 13', 'main');
    },
    answer: [
      ['dt:text("Created") + dd', /^2025-12-31 .* by dana console$/],
      ['dt:text("Last used") + dd', /^2026-01-01 11:50/],
    ],
  },
  {
    asked: 'which customer and which route are refused most',
    async path(operator) {
      await operator.click('', '#tiles .tile:nth-child(3)');
      await operator.click('by owner');
    },
    answer: [
      ['#busiest tbody tr >> nth=0', /^globex.*9,000/],
      ['#routes tbody tr >> nth=0', /^GET \/v1\/categories/],
    ],
  },
  {
    asked: 'what to do about a leaked key',
    async path(operator, { leaked, page }) {
      await operator.enter('Request id, key or order', leaked.secret);
      await operator.click('Rotate');
      await page.getByText('A key that leaked: not at all.').waitFor();
      await operator.choose('How long the old key still works', 'Not at all: the old key stops at once');
      await operator.click('Create the new key');
    },
    answer: [
      ['.secret label', /^API key of globex shop 13$/],
      ['.note', /^The old key no longer works\.$/],
    ],
  },
  {
    asked: 'what is wrong with this file of seven mistakes',
    async path(operator, { page, file }) {
      await operator.click('Categories', 'nav');
      await operator.click('Import');
      await page.setInputFiles('#file', file);
      await operator.click('Import', 'main form');
    },
    answer: [
      ['main [role=alert]', /7 records are invalid/],
      ['[aria-label="Invalid records"] tbody tr >> nth=6', /./],
    ],
  },
  {
    asked: 'who renamed Cat',
    async path(operator) {
      await operator.click('Audit', 'nav');
      await operator.enter('Changed from or to', 'Cat');
    },
    answer: [['[aria-label="Audit"] tbody tr >> nth=0', /operator console.*category\.rename.*name: Cat Cats/]],
  },
  {
    asked: 'lift the ban',
    path: (operator) => operator.click('Lift the ban'),
    answer: [
      ['.notice', /^The ban was lifted/],
      ['#spent p', /^Its limit is used up: requests are refused until /],
    ],
  },
];

/** Asserts that each question is answered within three clicks, and on the first screen of a desk. */
async function assertAnswered(
  browser: Browser,
  { viewport, colorScheme }: { readonly viewport: Viewport; readonly colorScheme: 'light' | 'dark' },
): Promise<void> {
  await using busy = await busyService();
  using folder = temporaryFolder();
  const file = join(folder.path, 'categories.csv');
  // Reading ends at a broken quote.
  const wrong = [',', 'Dog,x,y', '"",x', `${'n'.repeat(300)},x`, 'a\u0000b,x', ' ,x', '"Bad" quote,x'];
  writeFileSync(file, ['name,description', 'Fine,x', ...wrong, ''].join('\n'));
  await using browsing = await browseSignedIn(browser, busy.service, { colorScheme });
  const { page } = browsing;
  await page.setViewportSize(viewport);
  for (const { asked, path, answer } of QUESTIONS) {
    await page.goto(`${busy.service.operatorUrl}/console`);
    const operator = operatorAt(page);
    await path(operator, { ...busy, page, file });
    assert.ok(operator.clicks() <= CLICKS_MAX, `${asked}: ${operator.clicks()} clicks`);
    for (const [selector, text] of answer) {
      const found = page.locator(selector);
      // The page before may still be there.
      const said = async () => ((await found.count()) === 1 ? await found.textContent() : '') ?? '';
      const isSaid = async () => text.test((await said()).replaceAll(/\s+/g, ' ').trim());
      await untilTrue(() => isSaid().catch(() => false), `${asked}: ${text}`);
      const box = await found.boundingBox();
      const isOnFirstScreen = box !== null && box.y >= 0 && box.y + box.height <= viewport.height;
      assert.ok(viewport !== DESKTOP || isOnFirstScreen, `${asked}: ${selector} is at ${box?.y}`);
    }
  }
}

const PHONE = { width: 390, height: 844 };
const { needsBrowser, browser } = suiteBrowser();

test('each question of an operator is answered within three clicks, at a desk', needsBrowser, () =>
  assertAnswered(browser(), { viewport: DESKTOP, colorScheme: 'light' }),
);

test('each question of an operator is answered within three clicks, on a phone', needsBrowser, () =>
  assertAnswered(browser(), { viewport: PHONE, colorScheme: 'dark' }),
);
