import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { emptyProject } from '../kit/client/project.ts';
import { testService } from '../kit/service.ts';

/** The package as it would be published: packed, looked at, installed in an empty project, used and type-checked. */

const GZIPPED_BYTES_MAX = 8_000;
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DOCUMENTED_URL = 'http://127.0.0.1:8080/v1';
const STRICT = {
  ...{ strict: true, noEmit: true, module: 'nodenext', target: 'es2023', lib: ['es2023', 'dom', 'dom.iterable'] },
  // Only those of TypeScript itself, which are most of the work, and not those of the package.
  skipDefaultLibCheck: true,
  ...{ exactOptionalPropertyTypes: true, types: [], noUncheckedIndexedAccess: true, verbatimModuleSyntax: true },
};

const documentation = readFileSync(join(ROOT, 'client/README.md'), 'utf8');
const examples = [...documentation.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code);
const commands = [...documentation.matchAll(/^```sh\n(.*?)\n```$/gms)].map(([, command = '']) => command);

const project = emptyProject();
const installed = join(project.path, 'node_modules/@pet-catalog/client');
const { version } = JSON.parse(readFileSync(join(ROOT, 'client/package.json'), 'utf8'));
const tarball = join(project.checkout, '..', `pet-catalog-client-${version}.tgz`);

before(async () => {
  const [pack = '', install = '', ...others] = commands;
  assert.deepEqual(others, []);
  await project.run('sh', ['-c', pack], { cwd: project.checkout });
  project.write('package.json', '{"name":"scratch","private":true,"type":"module"}');
  await project.run('sh', ['-c', install]);
});
after(() => project[Symbol.dispose]());

test('the package holds one file for import, one for require, a map, declarations, README and license', () => {
  const files = readdirSync(installed, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);
  assert.deepEqual(files.filter((file) => !/\.d\.c?ts$/.test(file)).sort(), [
    'LICENSE',
    'README.md',
    'package.json',
    'pet-catalog.cjs',
    'pet-catalog.js',
    'pet-catalog.js.map',
  ]);
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  assert.deepEqual([manifest.dependencies, manifest.peerDependencies], [undefined, undefined]);
  assert.deepEqual(readdirSync(join(project.path, 'node_modules')).sort(), ['.package-lock.json', '@pet-catalog']);
});

test('the JavaScript, gzipped as it is shipped, is at most 8 kB', () => {
  const scripts = readdirSync(join(installed, 'dist')).filter((file) => file.endsWith('.js'));
  const sizes = scripts.map((file) => gzipSync(readFileSync(join(installed, 'dist', file)), { level: 9 }).length);
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  assert.ok(bytes > 1_000 && bytes <= GZIPPED_BYTES_MAX, `${bytes} bytes`);
});

test('publint finds no problem', async () => {
  const { buffer, byteOffset, byteLength } = readFileSync(tarball);
  const packed = buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
  const { messages, pkg } = await publint({ pack: { tarball: packed }, strict: true });
  assert.deepEqual(
    messages.map((message) => formatMessage(message, pkg)),
    [],
  );
});

test('the types are correct for every way to resolve them: node10, node16 in both formats, bundler', async () => {
  const { buffer, byteOffset, byteLength } = readFileSync(tarball);
  const packed = createPackageFromTarballData(new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength));
  const analysis = await checkPackage(packed);
  assert.ok(analysis.types);
  assert.deepEqual(analysis.problems, []);
});

test('require gives the same exports as import, and both map stack traces to the source', async () => {
  /** The line and the column, from 1, at which the code begins. */
  const placeOf = (file: string, code: string) => {
    const [before = '', after] = readFileSync(join(ROOT, 'client/src', file), 'utf8').split(code);
    assert.ok(after, `${file} has no ${code}`);
    const lines = before.split('\n');
    return `${lines.length}:${(lines.at(-1) ?? '').length + 1}`;
  };
  const run = (code: string, type: string) =>
    project.run('node', ['--enable-source-maps', `--input-type=${type}`, '--eval', code]);
  const show = `
    console.log(Object.keys(client).sort().join());
    try {
      new client.PetCatalog({ baseUrl: 'http://127.0.0.1', apiKey: 'x' });
    } catch ({ stack }) {
      console.log(stack);
    }`;
  const imported = await run(`import * as client from '@pet-catalog/client';${show}`, 'module');
  const required = await run(`const client = require('@pet-catalog/client');${show}`, 'commonjs');
  for (const printed of [imported, required]) {
    assert.match(printed, /^ApiError,ConnectionError,PetCatalog,PetCatalogError,TimeoutError\n/);
    for (const [file, code] of [
      ['transport.ts', 'new TypeError(`baseUrl must'],
      ['pet-catalog.ts', 'new Transport(options)'],
    ] as const) {
      assert.ok(printed.includes(`/client/src/${file}:${placeOf(file, code)})`), printed);
    }
  }
});

test('a strict project without the types of Node.js compiles against it, and every example of the README runs', async () => {
  await using service = await testService();
  const { secret } = await service.issue({ plan: 'business' });
  const files = examples.map((code, index) => {
    assert.ok(code.includes(DOCUMENTED_URL), 'an example names another address');
    project.write(`example-${index + 1}.ts`, code.replaceAll(DOCUMENTED_URL, service.url));
    return `example-${index + 1}.ts`;
  });
  project.write('consumer.ts', CONSUMER);
  project.write('environment.d.ts', 'declare const process: { env: Record<string, string> };');
  const config = { compilerOptions: STRICT, files: [...files, 'consumer.ts', 'environment.d.ts'] };
  project.write('tsconfig.json', JSON.stringify(config));
  await project.run('tsc', ['-p', '.']);
  const printed: string[] = [];
  for (const file of files) printed.push(await project.run('node', [file], { env: { PET_CATALOG_KEY: secret } }));
  assert.match(printed[0] ?? '', /^\{ id: 1, name: 'Dog', description: 'Loyal, social, needs walks' \}$/m);
  assert.deepEqual(service.events.failures, []);
});

test('the first example runs on every other Node.js from 20 on that is installed', async (t) => {
  const others = (process.env.PATH ?? '')
    .split(delimiter)
    .map((directory) => join(directory, 'node'))
    .filter((node) => !node.includes('node_modules') && existsSync(node))
    .map((node) => ({ node, version: execFileSync(node, ['--version'], { encoding: 'utf8' }).trim() }))
    .filter(({ version }) => version !== process.version && Number(/^v(\d+)/.exec(version)?.[1]) >= 20)
    .filter(({ version }, index, all) => all.findIndex((other) => other.version === version) === index);
  if (others.length === 0) return t.skip('there is no other Node.js from 20 on here; install one to run this test');
  await using service = await testService();
  const { secret } = await service.issue();
  project.write('first.mjs', examples[0]?.replaceAll(DOCUMENTED_URL, service.url) ?? '');
  const env = { PET_CATALOG_KEY: secret };
  for (const { node } of others) assert.match(await project.run(node, ['first.mjs'], { env }), /name: 'Dog'/);
});

/** What a consumer may rely on. `@ts-expect-error` marks what must not compile. */
const CONSUMER = `
import {
  ApiError,
  type ApiResponse,
  type Category,
  type ErrorCode,
  type NewPet,
  type Page,
  PetCatalog,
  type PetStatus,
  type Plan,
} from '@pet-catalog/client';

const catalog = new PetCatalog({ baseUrl: new URL('https://pets.example/v1'), apiKey: 'petcat_live_x', pace: true });
export const list: Promise<Page<Category>> = catalog.categories.list({ limit: undefined }, { timeoutMs: 5 });
export const pet: NewPet = { name: 'Rex', categoryId: 1, status: undefined };
export const full: Promise<ApiResponse<void>> = catalog.orders.cancel(1).withResponse();
export const plan: Plan = 'pro';
export const status: PetStatus = 'sold';
// @ts-expect-error the size of a page is for pages()
catalog.pets.all({ status, limit: 5 });
// @ts-expect-error a status out of the closed set
catalog.pets.list({ status: 'lost' });
// @ts-expect-error a name is required
catalog.categories.create({ description: 'no name' });
// @ts-expect-error an idempotency key is for creates
catalog.categories.get(1, { idempotencyKey: 'x' });

export function describe(error: unknown): string | Date {
  if (!(error instanceof ApiError)) return 'other';
  if (error.code === 'key_banned') return error.retryAt;
  if (error.code === 'unavailable') return error.retryAt ?? 'soon';
  if (error.code === 'not_found') {
    const never: undefined = error.retryAfter;
    return String(never);
  }
  // @ts-expect-error a code that does not exist
  if (error.code === 'no_such_code') return 'never';
  const code: ErrorCode = error.code;
  // @ts-expect-error what was dealt with above is no longer possible
  const dealt: 'key_banned' = error.code;
  return code + dealt;
}
`;
