import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { OPERATIONS } from '../../src/http/operations.ts';
import { codeIn, emptyProject } from '../kit/client/project.ts';
import { manualClock } from '../kit/clock.ts';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { type TestService, testService } from '../kit/service.ts';
import { textOf } from '../kit/text.ts';

/**
 * The guide, followed from an empty folder to a correct wait after a 429, and the samples of the reference and of the
 * guide, run as they are shown, in each language that this machine has.
 */

type Language = 'sh' | 'ts' | 'js' | 'py' | 'go';

interface Runtime {
  readonly language: Language;
  readonly label: string;
  /** The end of a sample's name. */
  readonly file: string;
  /** Succeeds if the machine can run the samples. */
  readonly check: readonly [string, ...string[]];
  /** What runs files of the project one after the other, in as few processes as it can, with MARK after each. */
  together(files: readonly string[]): readonly [string, ...string[]];
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
const IN_SHELL = `for file; do sh -e $file; echo; echo '${MARK}'; done`;
const togetherInNode: Runtime['together'] = (files) => ['node', '--input-type=module', '--eval', IN_NODE, ...files];
const RUNTIMES: readonly Runtime[] = [
  {
    language: 'sh',
    label: 'curl',
    file: 'sample.sh',
    check: ['curl', '--version'],
    together: (files) => ['sh', '-ec', IN_SHELL, 'sh', ...files],
  },
  {
    language: 'ts',
    label: 'TypeScript',
    file: 'sample.mts',
    check: ['node', '--version'],
    together: togetherInNode,
  },
  {
    language: 'js',
    label: 'JavaScript',
    file: 'sample.mjs',
    check: ['node', '--version'],
    together: togetherInNode,
  },
  {
    language: 'py',
    label: 'Python',
    file: 'sample.py',
    check: ['python3', '-c', 'import requests'],
    together: (files) => ['python3', '-c', IN_PYTHON, ...files],
  },
  {
    language: 'go',
    label: 'Go',
    file: 'sample.go',
    check: ['go', 'version'],
    together: togetherInGo,
  },
];

/** One program with a package of each file: to build and link a program takes as long as all samples take to run. */
function togetherInGo(files: readonly string[]): readonly [string, ...string[]] {
  const folder = mkdtempSync(join(project.path, 'go-'));
  const write = (name: string, code: string) => project.write(join(folder.slice(project.path.length + 1), name), code);
  for (const [index, file] of files.entries()) {
    mkdirSync(join(folder, `s${index}`));
    const code = readFileSync(join(project.path, file), 'utf8');
    const asPackage = (text: string) => text.replace(/^package main$/m, `package s${index}`);
    write(`s${index}/sample.go`, asPackage(code).replace(/^func main\(\)/m, 'func Main()'));
    if (!code.includes('call(')) continue;
    write(`s${index}/retries.go`, asPackage(readFileSync(join(project.path, 'retries.go'), 'utf8')));
  }
  write('go.mod', 'module samples\n');
  const imports = files.map((_, index) => `import "samples/s${index}"`);
  const calls = files.map((_, index) => `s${index}.Main(); fmt.Println("${MARK}")`);
  write('main.go', `package main\nimport "fmt"\n${imports.join('\n')}\nfunc main() {\n${calls.join('\n')}\n}\n`);
  return ['sh', '-c', 'cd "$0" && go run .', folder];
}

/** The pages of the guide whose samples are whole programs. */
const GUIDE = ['', '/limits', '/errors', '/paging', '/conditional', '/retries', '/recipes'];
/** The file by which the recipes have the function of the page of retries. */
const RETRIES: Readonly<Record<string, string>> = { js: 'retries.mjs', py: 'retries.py', go: 'retries.go' };
/** A pet of the second page: the first of them is sold by then, but not in TypeScript, whose first page is not run. */
const SECOND_PAGE = /^22 Rex$/m;
const SYNC = /^200 304 [45]$/m;
/** What the samples of the guide print, among other things. */
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

const WRITTEN_URL = 'http://127.0.0.1:8080/v1';
const STEPS = ['Create a category', 'Create a pet', 'Place an order', 'Meet the limit', 'Wait'];
const STORY = ['201 /v1/categories', '201 /v1/pets', '201 /v1/store/orders'];
const guide = readFileSync(new URL('../../src/http/docs/pages/get-started.md', import.meta.url), 'utf8');

const project = emptyProject();
before(async () => {
  const [pack = '', install = ''] = codeIn(guide, 'Install the client', 'sh');
  await project.run('sh', ['-ec', pack], { cwd: project.checkout });
  await project.run('sh', ['-ec', install]);
});
after(() => project[Symbol.dispose]());

test('the guide with curl', { skip: missingPrograms('bash', 'curl') }, async () => {
  await using service = await testService({}, manualClock());
  await using time = await waits(service);
  const { secret } = await service.issue();
  const steps = STEPS.flatMap((step) => codeIn(guide, step, 'sh'));
  assert.equal(steps.length, STEPS.length);
  const sleep = `sleep() { curl -s "${time.url}?seconds=$1"; }\n`;
  project.write('guide.sh', sleep + steps.join('\n').replaceAll(WRITTEN_URL, service.url));
  const printed = await project.run('bash', ['-e', 'guide.sh'], { env: { PET_CATALOG_KEY: secret } });
  assert.match(printed, /57 200\n\s*8 429$/m);
  assert.match(printed, /HTTP\/1\.1 200 OK/);
  const answers = answersOf(service);
  assert.deepEqual(answers.slice(0, 3), STORY);
  assert.deepEqual(answers.slice(-2), ['429 /v1/categories', '200 /v1/categories']);
  assert.deepEqual(time.waited, [60]);
});

test('the guide with TypeScript', async () => {
  await using service = await testService({}, manualClock());
  await using time = await waits(service);
  const { secret } = await service.issue();
  // Opens the minute, so that less than a deadline of the client remains of it.
  await service.call(secret, '/inventory');
  service.clock.advance(40);
  const steps = STEPS.flatMap((step) => codeIn(guide, step, 'ts'));
  assert.equal(steps.length, STEPS.length);
  project.write('example.mjs', steps.join('\n').replaceAll(WRITTEN_URL, service.url));
  project.write('turn-clock.mjs', TURN_CLOCK.replace('URL', time.url));
  const args = ['--import', './turn-clock.mjs', 'example.mjs'];
  const printed = await project.run('node', args, { env: { PET_CATALOG_KEY: secret } });
  assert.match(printed, /\{ id: 1, name: 'Dog' \}/);
  assert.match(printed, /rate_limit_exceeded 20\n\[ \{ id: 1, name: 'Dog' \} \]/);
  const answers = answersOf(service).slice(1);
  assert.deepEqual(answers.slice(0, 3), STORY);
  assert.deepEqual(answers.slice(-3), ['429 /v1/pets', '429 /v1/categories', '200 /v1/categories']);
  assert.equal(time.waited.length, 1);
  assert.ok(Math.abs((time.waited[0] ?? 0) - 20) <= 1, `it waited ${time.waited} s`);
});

for (const { language, file, check, together } of RUNTIMES) {
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
    const printed = await runTogether(together(files), secret);
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

for (const runtime of RUNTIMES) {
  const { language, label, file, check } = runtime;
  const missing = spawnSync(check[0], check.slice(1)).status !== 0;
  const skip = missing && `${check.join(' ')} fails here; install it to run these samples`;
  test(`every sample of the guide in ${label} runs`, { skip, timeout: 240_000 }, async () => {
    await using service = await testService({}, manualClock());
    const { secret } = await service.issue({ plan: 'business' });
    await create(service, secret, '/categories', { name: 'Dog' });
    // More than a page.
    for (let id = 1; id <= 21; id += 1) await create(service, secret, '/pets', { name: 'Rex', categoryId: 1 });
    const retries = await guideSamples(service, '/retries', runtime);
    const [call = ''] = RETRIES[language] ? retries : [];
    project.write(RETRIES[language] ?? 'none', call);
    const files: string[] = [];
    for (const page of GUIDE) {
      // The TypeScript of the first page is one program, which another test runs.
      if (page === '' && language === 'ts') continue;
      for (const code of await guideSamples(service, page, runtime)) {
        if (code === call) continue;
        const name = `${files.length}-${file}`;
        project.write(name, code);
        files.push(name);
      }
    }
    assert.ok(files.length >= 9, `only ${files.length} samples`);
    const printed = await runTogether(runtime.together(files), secret, service.url);
    for (const shown of SHOWN[language]) assert.match(printed, shown);
    assert.deepEqual(service.events.failures, []);
  });
}

test('a recipe that restocks keeps an order that comes between', { timeout: 120_000 }, async () => {
  for (const runtime of RUNTIMES) {
    const { language, label, file, check } = runtime;
    if (language === 'sh' || spawnSync(check[0], check.slice(1)).status !== 0) continue;
    await using service = await testService({}, manualClock());
    const { secret } = await service.issue({ plan: 'business' });
    await create(service, secret, '/categories', { name: 'Dog' });
    await create(service, secret, '/pets', { name: 'Rex', categoryId: 1 });
    await using between = await orderBefore(service, secret, 'PATCH');
    const [call = ''] = await guideSamples(service, '/retries', runtime);
    const code = (await guideSamples(service, '/recipes', runtime)).find((each) => each.includes('restock'));
    project.write(RETRIES[language] ?? 'none', call);
    project.write(file, `${code?.replaceAll(service.url, between.url)}`);
    await runTogether(runtime.together([file]), secret);
    const { quantity } = (await (await service.call(secret, '/inventory/1')).json()) as { quantity: number };
    assert.deepEqual([quantity, between.statuses], [5, [412, 200]], label);
  }
});

test('without the client, JavaScript, Python and Go wait as well, also until a date', async () => {
  let until = 0;
  let asDate = false;
  const early: number[] = [];
  await using server = await listening((request, response) => {
    assert.equal(request.headers.authorization, 'Bearer k');
    if (until > 0) {
      early.push(until - Date.now());
      [until, asDate] = [0, !asDate];
      return response.end('[]');
    }
    until = Math.ceil(Date.now() / 1_000 + 1) * 1_000;
    const seconds = `${Math.ceil((until - Date.now()) / 1_000)}`;
    return response.writeHead(429, { 'retry-after': asDate ? new Date(until).toUTCString() : seconds }).end();
  });
  for (const { language, file, check, together } of RUNTIMES) {
    if (!RETRIES[language] || spawnSync(check[0], check.slice(1)).status !== 0) continue;
    const [code = ''] = codeIn(guide, 'Wait', language);
    const files = ['seconds', 'date'].map((form) => `${form}-${file}`);
    for (const each of files) project.write(each, code.replaceAll(WRITTEN_URL, `${server.url}/v1`));
    const printed = await runTogether(together(files), 'k');
    assert.match(printed, new RegExp(`^((?:200 )?\\[\\]\\n?${MARK}\\n){2}$`), language);
  }
  // A timer of Node.js may be a millisecond early.
  assert.ok(early.length >= 2 && early.every((ms) => ms <= 2), `${early} ms too early`);
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

/** Waits of a client, which are shorter than its deadlines, turn its clock and that of the service. */
const TURN_CLOCK = `
  const { setTimeout } = globalThis;
  const now = performance.now.bind(performance);
  let turnedMs = 0;
  performance.now = () => now() + turnedMs;
  globalThis.setTimeout = (wake, ms, ...rest) => {
    if (!(ms >= 5_000 && ms < 30_000)) return setTimeout(wake, ms, ...rest);
    fetch('URL?seconds=' + Math.ceil(ms / 1_000)).then(() => {
      turnedMs += ms;
      wake(...rest);
    });
    return setTimeout(() => {}, 0);
  };
`;

/** A server that turns the clock of the service by the seconds that it is asked for. */
async function waits(service: TestService) {
  const waited: number[] = [];
  const server = await listening(({ url = '' }, response) => {
    const seconds = Number(new URL(url, 'http://localhost').searchParams.get('seconds'));
    waited.push(seconds);
    service.clock.advance(seconds);
    response.end();
  });
  return { ...server, waited };
}

function answersOf({ events }: TestService): string[] {
  return events.answered.map(({ status, route }) => `${status} ${route}`);
}

function runTogether([program, ...args]: readonly [string, ...string[]], secret: string, url = ''): Promise<string> {
  return project.run(program, args, { env: { PET_CATALOG_KEY: secret, PET_CATALOG_URL: url } });
}

/** The samples that a page of the guide shows in a language, in their order. */
async function guideSamples(service: TestService, page: string, { language, label }: Runtime) {
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
  const server = await listening(async (request, response) => {
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
  return { ...server, url: `${server.url}/v1`, statuses };
}

async function listening(listener: RequestListener): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
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
