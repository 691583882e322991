import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { execute } from '../kit/client/package.ts';
import { codeIn } from '../kit/client/project.ts';
import { context } from '../kit/deploy/host.ts';
import { noRegistry } from '../kit/deploy/programs.ts';
import { temporaryFolder, testService } from '../kit/service.ts';

/** Clients that other generators make of the contract run one program: list, filter by ids, create, page, update. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PACKAGES = ['openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', '@hey-api/openapi-ts@0.99.0', 'orval@8.38.0'];
const WRITTEN_URL = 'http://127.0.0.1:8080/v1';
const URL_WHEN_GENERATED = 'http://service.example/v1';

/** The program, over what each generated client makes of the operations. */
const STORY = `
import assert from 'node:assert/strict';

export const baseUrl = process.env.PET_CATALOG_URL ?? '';
export const authorization = 'Bearer ' + process.env.PET_CATALOG_KEY;

interface Pet { readonly id: number; readonly name: string; readonly categoryId: number }
interface PetsQuery { ids?: number[]; categoryId?: number; limit?: number; cursor?: string }
type Found<T> = Promise<{ data?: T | undefined; response?: { status: number; headers: Headers } | undefined }>;

export interface Api {
  listCategories(): Found<readonly { id: number }[]>;
  createCategory(body: { name: string }, idempotencyKey: string): Found<{ id: number }>;
  createPet(body: { name: string; categoryId: number }, idempotencyKey: string): Found<Pet>;
  listPets(query: PetsQuery): Found<readonly Pet[]>;
  getInventory(petId: number): Found<{ quantity: number }>;
  updateInventory(petId: number, body: { quantity: number }, ifMatch: string): Found<{ quantity: number }>;
}

export async function story(api: Api): Promise<void> {
  const first = await api.createCategory({ name: 'Dog' }, 'category');
  assert.equal(first.response?.status, 201);
  const categoryId = first.data?.id ?? 0;
  assert.equal((await api.createCategory({ name: 'Dog' }, 'category')).data?.id, categoryId, 'a replay');
  assert.deepEqual((await api.listCategories()).data?.map(({ id }) => id), [categoryId]);

  const ids: number[] = [];
  for (const name of ['Rex', 'Max', 'Luna', 'Bella', 'Rocky']) {
    ids.push((await api.createPet({ name, categoryId }, name)).data?.id ?? 0);
  }
  const some = await api.listPets({ ids: [ids[0] ?? 0, ids[3] ?? 0, 999_999] });
  assert.deepEqual(some.data?.map(({ id }) => id), [ids[0], ids[3]]);

  const found: number[] = [];
  const sizes: number[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await api.listPets({ categoryId, limit: 2, ...(cursor !== undefined && { cursor }) });
    found.push(...(page.data ?? []).map(({ id }) => id));
    sizes.push(page.data?.length ?? 0);
    const [, next] = /[?&]cursor=([^>&]+)/.exec(page.response?.headers.get('Link') ?? '') ?? [];
    if (next === undefined) break;
    cursor = next;
  }
  assert.deepEqual([found, sizes], [ids, [2, 2, 1]]);

  const stock = await api.getInventory(ids[0] ?? 0);
  const tag = stock.response?.headers.get('ETag') ?? '';
  const raised = await api.updateInventory(ids[0] ?? 0, { quantity: (stock.data?.quantity ?? 0) + 5 }, tag);
  assert.deepEqual([raised.response?.status, raised.data?.quantity], [200, 6]);
  assert.equal((await api.updateInventory(ids[0] ?? 0, { quantity: 1 }, tag)).response?.status, 412, 'a stale tag');
  console.log('done');
}
`;

/** How each is generated, and its calls. */
const CLIENTS = {
  'openapi-fetch': {
    generate: [['openapi-typescript', 'openapi.json', '-o', 'schema.ts']],
    config: '',
    program: `
import createClient from 'openapi-fetch';
import type { paths } from './schema';
import { authorization, baseUrl, story } from './story';

const { GET, POST, PATCH } = createClient<paths>({ baseUrl, headers: { authorization } });
void story({
  listCategories: () => GET('/categories'),
  createCategory: (body, key) => POST('/categories', { body, params: { header: { 'Idempotency-Key': key } } }),
  createPet: (body, key) => POST('/pets', { body, params: { header: { 'Idempotency-Key': key } } }),
  listPets: (query) => GET('/pets', { params: { query } }),
  getInventory: (petId) => GET('/inventory/{petId}', { params: { path: { petId } } }),
  updateInventory: (petId, body, tag) =>
    PATCH('/inventory/{petId}', { body, params: { path: { petId }, header: { 'If-Match': tag } } }),
});
`,
  },
  'hey-api': {
    generate: [['openapi-ts', '-i', 'openapi.json', '-o', 'sdk', '-c', '@hey-api/client-fetch']],
    config: '',
    program: `
import { client } from './sdk/client.gen';
import * as sdk from './sdk/sdk.gen';
import { authorization, baseUrl, story } from './story';

client.setConfig({ baseUrl, headers: { authorization } });
void story({
  listCategories: () => sdk.listCategories(),
  createCategory: (body, key) => sdk.createCategory({ body, headers: { 'Idempotency-Key': key } }),
  createPet: (body, key) => sdk.createPet({ body, headers: { 'Idempotency-Key': key } }),
  listPets: (query) => sdk.listPets({ query }),
  getInventory: (petId) => sdk.getInventory({ path: { petId } }),
  updateInventory: (petId, body, tag) => sdk.updateInventory({ path: { petId }, body, headers: { 'If-Match': tag } }),
});
`,
  },
  orval: {
    generate: [['orval', '--config', 'orval.config.mjs']],
    config: `export default {
  pets: { input: './openapi.json', output: { target: './sdk/pets.ts', client: 'fetch', baseUrl: '${URL_WHEN_GENERATED}' } },
};
`,
    program: `
import * as sdk from './sdk/pets';
import { authorization, baseUrl, story } from './story';

const send = fetch;
globalThis.fetch = (url, init) => send(String(url).replace('${URL_WHEN_GENERATED}', baseUrl), init);
const headers = (more: Record<string, string> = {}) => ({ headers: { authorization, ...more } });
/** The answers as the story has them: data of a success alone. */
async function read<Data>(answer: Promise<{ data: unknown; status: number; headers: Headers }>) {
  const { data, ...response } = await answer;
  return { data: response.status < 300 ? (data as Data) : undefined, response };
}
void story({
  listCategories: () => read(sdk.listCategories(undefined, headers())),
  createCategory: (body, key) => read(sdk.createCategory(body, headers({ 'Idempotency-Key': key }))),
  createPet: (body, key) => read(sdk.createPet(body, headers({ 'Idempotency-Key': key }))),
  listPets: (query) => read(sdk.listPets(query, headers())),
  getInventory: (petId) => read(sdk.getInventory(petId, headers())),
  updateInventory: (petId, body, tag) => read(sdk.updateInventory(petId, body, headers({ 'If-Match': tag }))),
});
`,
  },
} as const;

const skip = noRegistry();
const folder = temporaryFolder();

before(() => {
  if (skip) return;
  writeFileSync(join(folder.path, 'package.json'), '{"private":true}');
  const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel', 'error', ...PACKAGES];
  execFileSync('npm', args, { cwd: folder.path, env: context(), stdio: 'pipe', timeout: 180_000 });
});
after(() => folder[Symbol.dispose]());

test('the client of the guide is generated, compiles and creates a category', { skip, timeout: 180_000 }, async () => {
  const guide = readFileSync(join(ROOT, 'src/http/docs/pages/get-started.md'), 'utf8');
  const [commands = ''] = codeIn(guide, 'Generate a client', 'sh');
  const [code = ''] = codeIn(guide, 'Generate a client', 'ts');
  await using service = await testService();
  const { secret } = await service.issue();
  const cwd = join(folder.path, 'guide');
  mkdirSync(cwd);
  writeFileSync(join(cwd, 'guide.mts'), code.replaceAll(WRITTEN_URL, service.url));
  const run = (command: string, args: readonly string[]) =>
    execute(command, args, { cwd, folder: folder.path, env: { PET_CATALOG_KEY: secret } });
  writeFileSync(join(cwd, 'package.json'), '{"private":true}');
  const served = commands.replace(WRITTEN_URL.replace('/v1', ''), service.url.replace('/v1', ''));
  await promisify(execFile)('sh', ['-ec', served], { cwd, env: context(), timeout: 180_000 });
  const options = ['--ignoreConfig', '--noEmit', '--strict', '--skipLibCheck', '--allowImportingTsExtensions'];
  const types = ['--types', 'node', '--typeRoots', join(ROOT, 'node_modules/@types')];
  await run('tsc', ['guide.mts', ...options, '--target', 'es2023', '--module', 'nodenext', ...types]);
  assert.equal(await run('node', ['guide.mts']), "{ id: 1, name: 'Cat' }\n");
});

for (const [name, { generate, config, program }] of Object.entries(CLIENTS)) {
  test(`a client generated by ${name} runs the program`, { skip, timeout: 180_000 }, async () => {
    const cwd = join(folder.path, name);
    mkdirSync(cwd);
    cpSync(join(ROOT, 'openapi.json'), join(cwd, 'openapi.json'));
    writeFileSync(join(cwd, 'orval.config.mjs'), config);
    writeFileSync(join(cwd, 'story.ts'), STORY);
    writeFileSync(join(cwd, 'program.ts'), program);
    const run = (command: string, args: readonly string[], env: Record<string, string> = {}) =>
      execute(command, args, { cwd, folder: folder.path, env });
    for (const [command, ...args] of generate) await run(join(folder.path, 'node_modules/.bin', command), args);
    const types = ['--types', 'node', '--typeRoots', join(ROOT, 'node_modules/@types')];
    const options = ['--strict', '--skipLibCheck', '--target', 'es2023', '--module', 'nodenext', '--outDir', 'out'];
    await run('tsc', ['program.ts', '--ignoreConfig', ...options, ...types]);
    await using service = await testService();
    const { secret } = await service.issue({ plan: 'business' });
    const printed = await run('node', ['out/program.js'], { PET_CATALOG_URL: service.url, PET_CATALOG_KEY: secret });
    assert.equal(printed, 'done\n');
  });
}
