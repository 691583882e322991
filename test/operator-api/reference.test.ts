import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { suiteBrowser } from '../kit/chromium.ts';
import { readContract } from '../kit/contract.ts';
import { apiClient } from '../kit/operator.ts';
import { type TestService, testService } from '../kit/service.ts';

/** The reference of the operator API, at /docs of the operator listener. */

interface Contract {
  readonly paths: Record<string, Record<string, DescribedOperation>>;
}

interface DescribedOperation {
  readonly operationId: string;
  readonly requestBody?: object;
  readonly responses: Record<string, Described>;
}

interface Described {
  readonly content?: Record<string, { examples?: Record<string, unknown> }>;
}

const { needsBrowser, browser } = suiteBrowser();
/** One for all, so that it renders the page once. */
let service: TestService;

before(async () => {
  service = await testService();
});
after(() => service[Symbol.asyncDispose]());

test('it has every operation with its path, errors and samples, without a token and without scripts', async () => {
  const response = await fetch(`${service.operatorUrl}/docs/`);
  assert.equal(response.status, 200);
  const text = await response.text();
  const [intro = ''] = /<div class="intro">[\s\S]*?<section class="group"/.exec(text) ?? [];
  for (const [path, operations] of Object.entries(readContract<Contract>('operator-openapi.json').paths)) {
    for (const [method, { operationId, requestBody, responses }] of Object.entries(operations)) {
      const [section = ''] =
        new RegExp(`<section id="${operationId}" class="operation"[\\s\\S]*?</section>`).exec(text) ?? [];
      assert.ok(section.includes(`<code>/api/v1${path}</code>`), operationId);
      const errors = Object.values(responses).flatMap(({ content }) =>
        Object.keys(content?.['application/json']?.examples ?? {}),
      );
      assert.ok(errors.length > 0);
      for (const code of errors) {
        const shown = [intro, section].filter((part) => part.includes(`<code>${code}</code>`));
        // Operations with values name the error that tells of one that is wrong once more.
        const isTwice = code === 'validation_failed' && section.includes(`<code>${code}</code>`);
        assert.equal(shown.length, isTwice ? 2 : 1, `${operationId} ${code}`);
      }
      const isPlainPost = method === 'post' && !requestBody;
      assert.equal(section.includes('-X POST'), isPlainPost, `${operationId}: curl sends GET without a body`);
      const languages = [...section.matchAll(/<div data-language="(\w+)">([\s\S]*?)<\/div>/g)];
      assert.deepEqual(
        languages.map(([, language]) => language),
        ['sh', 'js', 'py', 'go'],
      );
      for (const [sample] of languages) {
        assert.ok(sample.includes(`${service.operatorUrl}/api/v1/`) && sample.includes('PET_CATALOG_TOKEN'), sample);
      }
    }
  }
  assert.ok(intro.includes('<code>missing_token</code>'), 'what every operation can answer is said once');
  assert.doesNotMatch(text, /PET_CATALOG_KEY|Any valid/);
});

test('it links to nothing that is not served there, and its policy allows no other origin', async () => {
  const response = await fetch(`${service.operatorUrl}/docs`);
  const text = await response.text();
  const ids = new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
  const links = new Set([...text.matchAll(/ (?:href|src)="([^"]+)"/g)].map(([, link = '']) => link));
  assert.ok(links.size > 20, `only ${links.size} links`);
  for (const link of links) {
    const { origin, pathname, hash } = new URL(link, `${service.operatorUrl}/docs`);
    assert.equal(origin, service.operatorUrl, link);
    if (hash) assert.ok(pathname === '/docs' && ids.has(hash.slice(1)), link);
    else assert.ok((await fetch(`${origin}${pathname}`)).ok, link);
  }
  const policy = response.headers.get('content-security-policy') ?? '';
  assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/);
  assert.doesNotMatch(policy, /unsafe|https?:|\*/);
});

test('it is compressed, and not sent again to a reader who has it', async () => {
  const get = (headers: Record<string, string>) => fetch(`${service.operatorUrl}/docs`, { headers });
  const first = await get({ 'accept-encoding': 'br' });
  assert.equal(first.headers.get('content-encoding'), 'br');
  const etag = first.headers.get('etag') ?? '';
  assert.match(etag, /^"/);
  const second = await get({ 'accept-encoding': 'br', 'if-none-match': etag });
  assert.deepEqual([second.status, await second.text()], [304, '']);
});

test('a pasted token fills the samples and tries an operation', needsBrowser, async () => {
  const { secret } = await apiClient(service, 'keys');
  const { page, complaints } = await openPage(service.operatorUrl);
  await page.fill('.key input', secret);
  assert.equal(
    await page.textContent('[data-key-state]'),
    'The samples and forms use this token. It stays in this tab.',
  );
  for (const language of ['sh', 'js', 'py', 'go']) {
    const sample = await page.textContent(`#createKey [data-language="${language}"]`);
    assert.ok(sample?.includes(secret) && !sample.includes('PET_CATALOG_TOKEN'), sample ?? language);
  }
  await page.click('#try-createKey > summary');
  await page.click('#try-createKey button[type="submit"]');
  await page.waitForSelector('#try-createKey .outcome h4:has-text("201")');
  const [curl = ''] = (await page.locator('#try-createKey .outcome details pre').allTextContents()).slice(-1);
  assert.match(curl, /"Authorization: Bearer \$PET_CATALOG_TOKEN"/);
  assert.deepEqual(complaints, []);
});

async function openPage(operatorUrl: string): Promise<{ readonly page: Page; readonly complaints: string[] }> {
  const page = await browser().newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.goto(`${operatorUrl}/docs`);
  return { page, complaints };
}
