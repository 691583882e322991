import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { OPERATIONS } from '../../src/http/operations.ts';
import { codeIn, emptyProject } from '../kit/client/project.ts';
import { manualClock } from '../kit/clock.ts';
import { type TestService, testService } from '../kit/service.ts';
import { textOf } from '../kit/text.ts';

/** The samples of the reference and of the guide, run as they are shown, in each language that this machine has. */

type Language = 'sh' | 'ts' | 'js' | 'py' | 'go';

interface Runtime {
  readonly language: Language;
  readonly label: string;
  /** The program with its arguments; the file of the sample is appended. */
  readonly command: readonly [string, ...string[]];
  readonly file: string;
  /** Runs the files that are appended, one after the other, in as few processes as it can, with MARK after each. */
  readonly together: readonly [string, ...string[]];
  /** Succeeds if the machine can run the samples. */
  readonly check: readonly [string, ...string[]];
}

/** Printed after each of several samples. */
const MARK = '@@@';
const IN_NODE = `for (const file of process.argv.slice(1)) {
  await import(process.cwd() + '/' + file);
  console.log('${MARK}');
}`;
const IN_PYTHON = `import runpy, sys
for file in sys.argv[1:]:
    runpy.run_path(file)
    print("${MARK}", flush=True)`;
const togetherInNode = ['node', '--input-type=module', '--eval', IN_NODE] as const;
const eachBy = (command: string) =>
  ['sh', '-ec', `for file; do ${command} $file; echo; echo '${MARK}'; done`, 'sh'] as const;
const RUNTIMES: readonly Runtime[] = [
  {
    language: 'sh',
    label: 'curl',
    command: ['sh', '-e'],
    file: 'sample.sh',
    together: eachBy('sh -e'),
    check: ['curl', '--version'],
  },
  {
    language: 'ts',
    label: 'TypeScript',
    command: ['node'],
    file: 'sample.mts',
    together: togetherInNode,
    check: ['node', '--version'],
  },
  {
    language: 'js',
    label: 'JavaScript',
    command: ['node'],
    file: 'sample.mjs',
    together: togetherInNode,
    check: ['node', '--version'],
  },
  {
    language: 'py',
    label: 'Python',
    command: ['python3'],
    file: 'sample.py',
    together: ['python3', '-c', IN_PYTHON],
    check: ['python3', '-c', 'import requests'],
  },
  {
    language: 'go',
    label: 'Go',
    command: ['go', 'run'],
    file: 'sample.go',
    together: eachBy('go run'),
    check: ['go', 'version'],
  },
];
/** The pages of the guide whose samples are whole programs. */
const GUIDE = ['', '/limits', '/errors', '/paging', '/conditional', '/retries', '/recipes'];
/** The file by which the recipes have the function of the page of retries. */
const RETRIES: Readonly<Record<string, string>> = { js: 'retries.mjs', py: 'retries.py', go: 'retries.go' };
/** What the samples of the guide print, among other things. */
/** A pet of the second page: the first of them is sold by then, but not in TypeScript, whose first page is not run. */
const SECOND_PAGE = /^22 Rex$/m;
const SYNC = /^200 304 [45]$/m;
const SHOWN: Readonly<Record<Language, readonly RegExp[]>> = {
  sh: [/^ +65 200$/m, /HTTP\/1\.1 304/, /HTTP\/1\.1 201/, /"quantity":5/, /^\{"plan":"business"/m],
  ts: [
    /^business \d+ \d+$/m,
    /^insufficient_stock /m,
    /^21 Rex$/m,
    /^304 1$/m,
    SYNC,
    /quantity: 11\b/,
    /^business null$/m,
  ],
  js: [/\{ '200': 65 \}/, SECOND_PAGE, /^304$/m, SYNC, /quantity: 10\b/, /^business null$/m],
  py: [/Counter\(\{200: 65\}\)/, SECOND_PAGE, /^304$/m, SYNC, /'quantity': 10\b/, /^business None$/m],
  go: [/^map\[200:65\]$/m, SECOND_PAGE, /^304$/m, SYNC, /"quantity":10\b/, /^\{"plan":"business"/m],
};

const project = emptyProject();
before(async () => {
  const guide = readFileSync(new URL('../../src/http/docs/pages/get-started.md', import.meta.url), 'utf8');
  const [pack = '', install = ''] = codeIn(guide, 'Install the client', 'sh');
  await project.run('sh', ['-ec', pack], { cwd: project.checkout });
  await project.run('sh', ['-ec', install]);
});
after(() => project[Symbol.dispose]());

for (const { language, together, file, check } of RUNTIMES) {
  const [program, ...args] = together;
  const missing = spawnSync(check[0], check.slice(1)).status !== 0;
  const skip = missing && `${check.join(' ')} fails here; install it to run these samples`;
  test(`every sample in ${language} does what its operation promises`, { skip, timeout: 120_000 }, async () => {
    await using service = await testService({}, manualClock());
    const { secret } = await service.issue({ plan: 'business' });
    const text = await (await fetch(service.url.replace('/v1', '/docs/reference'))).text();
    const files = OPERATIONS.map(({ id }) => {
      const section = new RegExp(`<section id="${id}" class="operation"[\\s\\S]*?</section>`).exec(text)?.[0] ?? '';
      const [, shown = ''] =
        new RegExp(`data-language="${language}"><pre><code>([\\s\\S]*?)</code>`).exec(section) ?? [];
      const name = `${id}-${file}`;
      project.write(name, `${textOf(shown)}\n`);
      return name;
    });
    const printed = await project.run(program, [...args, ...files], { env: { PET_CATALOG_KEY: secret } });
    const calls = service.events.answered.filter(({ route }) => route.startsWith('/v1'));
    assert.deepEqual(
      calls.map(({ status, route }) => [status, route]),
      OPERATIONS.map(({ path, success }) => [success.status, `/v1${path}`]),
      printed,
    );
    const each = printed.split(MARK);
    for (const [index, { id, success }] of OPERATIONS.entries())
      if (success.schema) assert.match(each[index] ?? '', /[[{]/, id);
  });
}

for (const { language, label, command, together, file, check } of RUNTIMES) {
  const missing = spawnSync(check[0], check.slice(1)).status !== 0;
  const skip = missing && `${check.join(' ')} fails here; install it to run these samples`;
  test(`every sample of the guide in ${label} runs`, { skip, timeout: 240_000 }, async () => {
    await using service = await testService({}, manualClock());
    const { secret } = await service.issue({ plan: 'business' });
    const env = { PET_CATALOG_KEY: secret, PET_CATALOG_URL: service.url };
    await create(service, secret, '/categories', { name: 'Dog' });
    // More than a page.
    for (let id = 1; id <= 21; id += 1) await create(service, secret, '/pets', { name: 'Rex', categoryId: 1 });
    const retries = await guideSamples(service, '/retries', { language, label });
    const others = RETRIES[language] ?? [];
    const [call = ''] = RETRIES[language] ? retries : [];
    project.write(RETRIES[language] ?? 'none', call);
    const files: string[] = [];
    for (const page of GUIDE) {
      // The TypeScript of the first page is one program, which another test runs.
      if (page === '' && language === 'ts') continue;
      for (const code of await guideSamples(service, page, { language, label })) {
        if (code === call) continue;
        const name = `${files.length}-${file}`;
        project.write(name, code);
        files.push(name);
      }
    }
    assert.ok(files.length >= 9, `only ${files.length} samples`);
    const printed: string[] = [];
    const run = async ([program, ...args]: readonly [string, ...string[]], ...given: string[]) =>
      printed.push(await project.run(program, [...args, ...given], { env }));
    const isGo = language === 'go';
    if (!isGo) await run(together, ...files);
    for (const name of isGo ? files : []) {
      const isCalling = readFileSync(join(project.path, name), 'utf8').includes('call(');
      await run(command, name, ...(isCalling ? [others].flat() : []));
    }
    for (const shown of SHOWN[language]) assert.match(printed.join('\n'), shown);
    assert.deepEqual(service.events.failures, []);
  });
}

test('a recipe that restocks keeps an order that comes between', { timeout: 120_000 }, async () => {
  for (const { language, label, command, file, check } of RUNTIMES) {
    const [program, ...args] = command;
    if (language === 'sh' || spawnSync(check[0], check.slice(1)).status !== 0) continue;
    await using service = await testService({}, manualClock());
    const { secret } = await service.issue({ plan: 'business' });
    await create(service, secret, '/categories', { name: 'Dog' });
    await create(service, secret, '/pets', { name: 'Rex', categoryId: 1 });
    await using between = await orderBefore(service, secret, 'PATCH');
    const [call = ''] = await guideSamples(service, '/retries', { language, label });
    const code = (await guideSamples(service, '/recipes', { language, label })).find((each) =>
      each.includes('restock'),
    );
    project.write(RETRIES[language] ?? 'none', call);
    project.write(file, `${code?.replaceAll(service.url, between.url)}`);
    const others = language === 'go' ? ['retries.go'] : [];
    await project.run(program, [...args, file, ...others], { env: { PET_CATALOG_KEY: secret } });
    const { quantity } = (await (await service.call(secret, '/inventory/1')).json()) as { quantity: number };
    assert.deepEqual([quantity, between.statuses], [5, [412, 200]], label);
  }
});

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
  // A shell such as zsh takes a bare question mark for a pattern.
  assert.match(text, /curl 'http:\S+\/v1\/inventory\?limit=20' \\$/m);
  assert.match(text, /^ {4}json=\{\n {8}"quantity": 5,\n {4}\},$/m);
  // The types of our client take no text for a number.
  assert.match(text, /catalog\.inventory\.list\(\{\n {2}limit: 20,\n\}\)/);
  assert.match(text, /strings\.NewReader\(`\{"quantity":5\}`\)/);
  assert.doesNotMatch(text, /%2C/);
});

/** The samples that a page of the guide shows in a language, in their order. */
async function guideSamples(
  service: TestService,
  page: string,
  { language, label }: Pick<Runtime, 'language' | 'label'>,
) {
  const html = await (await fetch(service.url.replace('/v1', `/docs${page}`))).text();
  const blocks = html.matchAll(
    /(?:<div data-language="(\w+)">|<figcaption>([^<]*)<\/figcaption>)<pre><code>([\s\S]*?)<\/code>/g,
  );
  return [...blocks].flatMap(([, tab, caption, code = '']) =>
    tab === language || caption === label ? [`${textOf(code)}\n`] : [],
  );
}

/** A proxy before the service that places an order before the first request of the method. */
async function orderBefore(service: TestService, secret: string, method: string) {
  const statuses: number[] = [];
  const server = createServer(async (request, response) => {
    if (request.method === method && statuses.length === 0) {
      await create(service, secret, '/store/orders', { petId: 1, quantity: 1 });
    }
    const { authorization = '', 'content-type': type, 'if-match': tag } = request.headers;
    const headers = { authorization, ...(type && { 'content-type': type }), ...(tag && { 'if-match': tag }) };
    const body = await text(request);
    const init = { method: `${request.method}`, headers, ...(body && { body }) };
    const answer = await fetch(service.url + `${request.url}`.replace('/v1', ''), init);
    if (request.method === method) statuses.push(answer.status);
    response.writeHead(answer.status, { etag: answer.headers.get('etag') ?? '' }).end(await answer.text());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    statuses,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function create(service: TestService, secret: string, path: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const response = await service.call(secret, path, { method: 'POST', headers, body: JSON.stringify(body) });
  assert.equal(response.status, 201);
}
