import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { OPERATIONS } from '../../src/http/operations.ts';
import { codeIn, emptyProject } from '../kit/client/project.ts';
import { manualClock } from '../kit/clock.ts';
import { testService } from '../kit/service.ts';

/** The samples of the reference, run as they are shown, in each language that this machine has. */

interface Runtime {
  readonly language: string;
  /** The program with its arguments; the file of the sample is appended. */
  readonly command: readonly [string, ...string[]];
  readonly file: string;
  /** Succeeds if the machine can run the samples. */
  readonly check: readonly [string, ...string[]];
}

const RUNTIMES: readonly Runtime[] = [
  { language: 'sh', command: ['sh', '-e'], file: 'sample.sh', check: ['curl', '--version'] },
  { language: 'ts', command: ['node'], file: 'sample.mts', check: ['node', '--version'] },
  { language: 'js', command: ['node'], file: 'sample.mjs', check: ['node', '--version'] },
  { language: 'py', command: ['python3'], file: 'sample.py', check: ['python3', '-c', 'import requests'] },
  { language: 'go', command: ['go', 'run'], file: 'sample.go', check: ['go', 'version'] },
];
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

const project = emptyProject();
before(async () => {
  const guide = readFileSync(new URL('../../src/http/docs/pages/get-started.md', import.meta.url), 'utf8');
  const [pack = '', install = ''] = codeIn(guide, 'Install the client', 'sh');
  await project.run('sh', ['-ec', pack], { cwd: project.checkout });
  await project.run('sh', ['-ec', install]);
});
after(() => project[Symbol.dispose]());

for (const { language, command, file, check } of RUNTIMES) {
  const [program, ...args] = command;
  const missing = spawnSync(check[0], check.slice(1)).status !== 0;
  const skip = missing && `${check.join(' ')} fails here; install it to run these samples`;
  test(`every sample in ${language} does what its operation promises`, { skip, timeout: 120_000 }, async () => {
    await using service = await testService({}, manualClock());
    const { secret } = await service.issue({ plan: 'business' });
    const text = await (await fetch(service.url.replace('/v1', '/docs/reference'))).text();
    for (const { id, method, path, success } of OPERATIONS) {
      const section = new RegExp(`<section id="${id}" class="operation"[\\s\\S]*?</section>`).exec(text)?.[0] ?? '';
      const [, shown = ''] =
        new RegExp(`data-language="${language}"><pre><code>([\\s\\S]*?)</code>`).exec(section) ?? [];
      project.write(file, `${textOf(shown)}\n`);
      const printed = await project.run(program, [...args, file], { env: { PET_CATALOG_KEY: secret } });
      const { status, route } = service.events.answered.at(-1) ?? {};
      assert.deepEqual([status, route], [success.status, `/v1${path}`], `${method} ${path}: ${printed}`);
      if (success.schema) assert.match(printed, /[[{]/, id);
    }
  });
}

test('every sample has one style: the key, the media type, then a key of its own for each create', async () => {
  await using service = await testService();
  const text = textOf(await (await fetch(service.url.replace('/v1', '/docs/reference'))).text());
  const order = /Authorization.*\n.*(?:Content-Type.*\n.*)?Idempotency-Key(?:: |['"]: ['"]|", ")([\w-]+)/g;
  const keys = [...text.matchAll(order)].map(([, key]) => key);
  // Our client makes its own.
  const creates = ['create-category-1', 'create-pet-1', 'place-order-1'];
  assert.deepEqual(
    keys,
    creates.flatMap((key) => Array(RUNTIMES.length - 1).fill(key)),
  );
  assert.match(text, /curl -X PATCH http/);
  assert.match(text, /^ {4}json=\{\n {8}"quantity": 5,\n {4}\},$/m);
  assert.match(text, /strings\.NewReader\(`\{"quantity":5\}`\)/);
  assert.doesNotMatch(text, /%2C/);
});

/** The text that a browser shows of HTML. */
function textOf(html: string): string {
  return html.replaceAll(/<[^>]+>/g, '').replaceAll(/&([\w#]+);/g, (_all, name: string) => ENTITIES[name] ?? '');
}
