import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readContract } from '../kit/contract.ts';
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
