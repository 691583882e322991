import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { type ApiKey, secretRecord } from '../../src/catalog/api-key.ts';
import { OPERATIONS } from '../../src/http/operations.ts';
import { codeIn, emptyProject } from '../kit/client/project.ts';
import { manualClock } from '../kit/clock.ts';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { httpServer } from '../kit/http-server.ts';
import { OPERATOR } from '../kit/operator.ts';
import { type TestService, testService } from '../kit/service.ts';
import { textOf } from './text.ts';

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
/** A pet of the second page. */
const SECOND_PAGE = /^21 Rex$/m;
const SYNC = /^200 304 [34]$/m;
/** What the samples of the guide print, among other things. */
const SHOWN: Readonly<Record<Language, readonly RegExp[]>> = {
  sh: [/HTTP\/1\.1 304/, /HTTP\/1\.1 201/, /"quantity":5/, /^\{"plan":"business"/m],
  ts: [
    /^business \d+ \d+$/m,
    /^insufficient_stock /m,
    SECOND_PAGE,
    /^304 1$/m,
    SYNC,
    /quantity: 11\b/,
    /^business null$/m,
  ],
  js: [/\{ '200': 65 \}/, SECOND_PAGE, /^304$/m, SYNC, /quantity: 11\b/, /^business null$/m],
  py: [/Counter\(\{200: 65\}\)/, SECOND_PAGE, /^304$/m, SYNC, /'quantity': 11\b/, /^business None$/m],
  go: [/^map\[200:65\]$/m, SECOND_PAGE, /^304$/m, SYNC, /"quantity":11\b/, /^\{"plan":"business"/m],
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
  const sleep = `sleep() { curl -s "${time.origin}?seconds=$1"; }\n`;
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
  project.write('turn-clock.mjs', TURN_CLOCK.replace('URL', time.origin));
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

for (const runtime of RUNTIMES) {
  const { language, label, file, check, together } = runtime;
  const missing = spawnSync(check[0], check.slice(1)).status !== 0;
  const skip = missing && `${check.join(' ')} fails here; install it to run these samples`;
  test(`the samples in ${label} run as they are shown`, { skip, timeout: 240_000 }, async (t) => {
    await using reference = await testService({}, manualClock());
    const { key, secret } = await reference.issue({ plan: 'business' });
    await using guided = await shop(key, secret);
    await using restocked = await shop(key, secret);
    await using between = await orderBefore(restocked, secret, 'PATCH');
    await using limited = await limiting(secret);
    const files: string[] = [];
    /** Adds a program, and says at which place its output is. */
    const add = (code: string) => {
      project.write(`${files.length}-${file}`, code);
      return files.push(`${files.length}-${file}`) - 1;
    };

    const ofReference = await samplesOfReference(reference, language);
    const [call = ''] = RETRIES[language] ? await samplesOfGuide(guided, '/retries', runtime) : [];
    project.write(RETRIES[language] ?? 'none', call);
    const ofGuide = (await Promise.all(GUIDE.map((page) => samplesOfGuide(guided, page, runtime)))).flat();
    const restock = (await samplesOfGuide(restocked, '/recipes', runtime)).find((code) => code.includes('restock'));
    const [wait] = RETRIES[language] ? codeIn(guide, 'Wait', language) : [];
    const places = {
      reference: ofReference.map(add),
      guide: ofGuide.filter((code) => code !== call).map(add),
      restock: language === 'sh' || add(`${restock?.replaceAll(restocked.url, between.url)}`),
      wait: wait ? ['seconds', 'date'].map(() => add(wait.replaceAll(WRITTEN_URL, `${limited.origin}/v1`))) : [],
    };
    const [program, ...args] = together(files);
    const env = { PET_CATALOG_KEY: secret, PET_CATALOG_URL: guided.url };
    const printed = (await project.run(program, args, { env })).split(MARK);

    await t.test('those of the reference do what their operations promise', () => {
      const calls = reference.events.answered.filter(({ route }) => route.startsWith('/v1'));
      assert.deepEqual(
        calls.map(({ status, route }) => [status, route]),
        OPERATIONS.map(({ path, success }) => [success.status, `/v1${path}`]),
        printed.join(MARK),
      );
      for (const [index, { id, success }] of OPERATIONS.entries())
        if (success.schema) assert.match(printed[places.reference[index] ?? -1] ?? '', /[[{]/, id);
    });

    await t.test('those of the guide print what they say', () => {
      assert.ok(places.guide.length >= 7, `only ${places.guide.length} samples`);
      const text = places.guide.map((place) => printed[place]).join('');
      for (const shown of SHOWN[language]) assert.match(text, shown);
      assert.deepEqual(guided.events.failures, []);
    });

    if (language === 'sh') return;
    await t.test('the recipe that restocks keeps an order that comes between', async () => {
      const { quantity } = (await (await restocked.call(secret, '/inventory/1')).json()) as { quantity: number };
      assert.deepEqual([quantity, between.statuses], [5, [412, 200]]);
    });

    if (!wait) return;
    await t.test('without the client it waits as long as Retry-After says, also until a date', () => {
      for (const place of places.wait) assert.match(printed[place] ?? '', /^\n?(?:200 )?\[\]\n?$/);
      // A timer of Node.js may be a millisecond early.
      assert.ok(limited.early.length === 2 && limited.early.every((ms) => ms <= 2), `${limited.early} ms too early`);
    });
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
  // A shell such as zsh takes a bare question mark for a pattern.
  assert.match(text, /curl 'http:\S+\/v1\/inventory\?limit=20' \\$/m);
  // The types of our client take no text for a number.
  assert.match(text, /catalog\.inventory\.list\(\{\n {2}limit: 20,\n\}\)/);
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
  const server = await httpServer(({ url = '' }, response) => {
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

/** The sample that the reference shows of each operation in a language. */
async function samplesOfReference(service: TestService, language: Language): Promise<string[]> {
  const text = await (await fetch(service.url.replace('/v1', '/docs/reference'))).text();
  return OPERATIONS.map(({ id }) => {
    const section = new RegExp(`<section id="${id}" class="operation"[\\s\\S]*?</section>`).exec(text)?.[0] ?? '';
    const [, shown = ''] = new RegExp(`data-language="${language}"><pre><code>([\\s\\S]*?)</code>`).exec(section) ?? [];
    return `${textOf(shown)}\n`;
  });
}

/** The samples that a page of the guide shows in a language, in their order. */
async function samplesOfGuide(service: TestService, page: string, { language, label }: Runtime) {
  // The samples of the first page are one program, which another test runs.
  if (page === '' && (language === 'ts' || language === 'sh')) return [];
  const html = await (await fetch(service.url.replace('/v1', `/docs${page}`))).text();
  const blocks = html.matchAll(
    /(?:<div data-language="(\w+)">|<figcaption>([^<]*)<\/figcaption>)<pre><code>([\s\S]*?)<\/code>/g,
  );
  return [...blocks].flatMap(([, tab, caption, code = '']) =>
    tab === language || caption === label ? [`${textOf(code)}\n`] : [],
  );
}

/** A service with this key, a category, and more pets than a page has. */
async function shop(key: ApiKey, secret: string): Promise<TestService> {
  const service = await testService({}, manualClock());
  await service.storage.keys.insert(key, secretRecord(secret), OPERATOR);
  await create(service, secret, '/categories', { name: 'Dog' });
  for (let id = 1; id <= 21; id += 1) await create(service, secret, '/pets', { name: 'Rex', categoryId: 1 });
  return service;
}

/** Refuses every other request until a whole second, first by seconds and then by a date; notes who is too early. */
async function limiting(secret: string) {
  let until = 0;
  const early: number[] = [];
  const server = await httpServer((request, response) => {
    assert.equal(request.headers.authorization, `Bearer ${secret}`);
    if (until > 0) {
      early.push(until - Date.now());
      until = 0;
      return response.end('[]');
    }
    until = Math.ceil(Date.now() / 1_000 + 1) * 1_000;
    const seconds = `${Math.ceil((until - Date.now()) / 1_000)}`;
    return response.writeHead(429, { 'retry-after': early.length > 0 ? new Date(until).toUTCString() : seconds }).end();
  });
  return { ...server, early };
}

/** A proxy before the service that places an order before the first request of the method. */
async function orderBefore(service: TestService, secret: string, method: string) {
  const statuses: number[] = [];
  const server = await httpServer(async (request, response) => {
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
  return { ...server, url: `${server.origin}/v1`, statuses };
}

async function create(service: TestService, secret: string, path: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const response = await service.call(secret, path, { method: 'POST', headers, body: JSON.stringify(body) });
  assert.equal(response.status, 201);
}
