import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { execute, packClient } from '../kit/client/package.ts';
import { temporaryFolder, testService } from '../kit/service.ts';

/** The package as it would be published: packed, looked at, installed in an empty project, used and type-checked. */

const GZIPPED_BYTES_MAX = 6_300;
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TYPES = join(ROOT, 'node_modules/@types');
const DOCUMENTED_URL = 'http://127.0.0.1:8080/v1';
const STRICT = {
  ...{ strict: true, noEmit: true, module: 'nodenext', target: 'es2023', lib: ['es2023', 'dom', 'dom.iterable'] },
  ...{ exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, verbatimModuleSyntax: true },
};

const folder = temporaryFolder();
const project = join(folder.path, 'project');
const installed = join(project, 'node_modules/@pet-catalog/client');
let tarball: string;

before(async () => {
  tarball = await packClient(folder.path);
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{"name":"scratch","private":true,"type":"module"}');
  await execute('npm', ['install', '--no-audit', '--no-fund', tarball], { cwd: project, folder: folder.path });
});
after(() => folder[Symbol.dispose]());

test('the package holds one JavaScript file, its declarations, README and license, and needs no other package', () => {
  const files = readdirSync(installed, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);
  assert.deepEqual(files.filter((file) => !file.endsWith('.d.ts')).sort(), [
    'LICENSE',
    'README.md',
    'package.json',
    'pet-catalog.js',
  ]);
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  assert.deepEqual([manifest.dependencies, manifest.peerDependencies], [undefined, undefined]);
  assert.deepEqual(Object.keys(manifest.exports['.']), ['types', 'default']);
  assert.deepEqual(readdirSync(join(project, 'node_modules')).sort(), ['.package-lock.json', '@pet-catalog']);
});

test('the JavaScript, gzipped as it is shipped, is at most 6.3 kB', () => {
  const scripts = readdirSync(join(installed, 'dist')).filter((file) => file.endsWith('.js'));
  const sizes = scripts.map((file) => gzipSync(readFileSync(join(installed, 'dist', file)), { level: 9 }).length);
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  assert.ok(bytes > 1_000 && bytes <= GZIPPED_BYTES_MAX, `${bytes} bytes`);
});

test('everything that the package exports is explained', () => {
  const exported = ['pet-catalog', 'contract', 'errors', 'options'].flatMap((module) => {
    const lines = readFileSync(join(installed, `dist/${module}.d.ts`), 'utf8').split('\n');
    return lines
      .map((line, index) => ({ line, before: lines[index - 1] ?? '' }))
      .filter(({ line }) => /^export (declare )?(class|interface|const|function|type \w+ =)/.test(line));
  });
  assert.ok(exported.length >= 25, `only ${exported.length} exports`);
  const silent = exported.filter(({ before }) => !before.endsWith('*/'));
  assert.deepEqual(silent, []);
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

test('the types are correct for every way of import except require, which an ESM package lacks', async () => {
  const { buffer, byteOffset, byteLength } = readFileSync(tarball);
  const packed = createPackageFromTarballData(new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength));
  const analysis = await checkPackage(packed);
  assert.ok(analysis.types);
  const problems = analysis.problems.filter(
    (problem) => !('resolutionKind' in problem && ['node10', 'node16-cjs'].includes(problem.resolutionKind)),
  );
  assert.deepEqual(problems, []);
});

test('a strict project compiles against it, and the errors narrow', { timeout: 60_000 }, async () => {
  writeFileSync(join(project, 'consumer.ts'), CONSUMER);
  await typeCheck('consumer', ['consumer.ts'], { types: [] });
});

const documentation = readFileSync(new URL('../../client/README.md', import.meta.url), 'utf8');
const examples = [...documentation.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code);

test('the first example of the README has five lines, and there are more', () => {
  const lines = examples[0]?.split('\n').filter((line) => line !== '');
  assert.ok(lines && lines.length <= 5, 'the first example is longer');
  assert.ok(examples.length >= 6);
});

test('every example of the README compiles and runs', { timeout: 100_000 }, async () => {
  await using service = await testService();
  const { secret } = await service.issue({ plan: 'business' });
  const files = examples.map((code, index) => {
    assert.ok(code.includes(DOCUMENTED_URL), 'an example names another address');
    const file = `example-${index + 1}.ts`;
    writeFileSync(join(project, file), code.replaceAll(DOCUMENTED_URL, service.url));
    return file;
  });
  await typeCheck('examples', files, { types: ['node'], typeRoots: [TYPES] });
  const env = { PET_CATALOG_KEY: secret };
  const printed: string[] = [];
  for (const file of files) {
    printed.push(await execute('node', [file], { cwd: project, folder: folder.path, env }));
  }
  assert.match(printed[0] ?? '', /\[ \{ id: 1, name: 'Dog', description: 'Loyal, social, needs walks' \} \]/);
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
  writeFileSync(join(project, 'first.mjs'), examples[0]?.replaceAll(DOCUMENTED_URL, service.url) ?? '');
  for (const { node } of others) {
    const env = { PET_CATALOG_KEY: secret };
    assert.match(await execute(node, ['first.mjs'], { cwd: project, folder: folder.path, env }), /name: 'Dog'/);
  }
});

async function typeCheck(name: string, files: readonly string[], options: object): Promise<void> {
  const config = { compilerOptions: { ...STRICT, ...options }, files };
  writeFileSync(join(project, `tsconfig.${name}.json`), JSON.stringify(config));
  await execute('tsc', ['-p', `tsconfig.${name}.json`], { cwd: project, folder: folder.path });
}

/** What a consumer may rely on. `@ts-expect-error` marks what must not compile. */
const CONSUMER = `
import { ApiError, type Category, type ErrorCode, type NewPet, type Page, PetCatalog } from '@pet-catalog/client';

const catalog = new PetCatalog({ baseUrl: new URL('https://pets.example/v1'), apiKey: 'petcat_live_x', pace: true });
export const list: Promise<Page<Category>> = catalog.categories.list({ limit: undefined }, { timeoutMs: 5 });
export const pet: NewPet = { name: 'Rex', categoryId: 1, status: undefined };
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
