import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Contract, collections } from '../../collections/generate.ts';
import { STORY } from '../../collections/story.ts';
import { execute } from '../kit/client/package.ts';
import { runBruno } from '../kit/collections/bruno.ts';
import { runHttpFile } from '../kit/collections/http-file.ts';
import { runPostman } from '../kit/collections/postman.ts';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { json, temporaryFolder, testService } from '../kit/service.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDER = join(ROOT, 'collections');
const contract: Contract = JSON.parse(readFileSync(join(ROOT, 'openapi.json'), 'utf8'));
const made = collections(contract);
const story = STORY.map(({ operation, name = operation }) => name);

test('the collections match the story and the contract; `npm run collections` rewrites them', () => {
  const committed = readdirSync(FOLDER, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.(ts|md)$/.test(entry.name))
    .map((entry) => relative(FOLDER, join(entry.parentPath, entry.name)))
    .sort();
  assert.deepEqual(committed, [...made.keys()].sort());
  for (const [file, text] of made) assert.equal(readFileSync(join(FOLDER, file), 'utf8'), text, file);
});

test('the story has every operation of the contract', () => {
  const operations = Object.values(contract.paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  );
  assert.ok(operations.length >= 15);
  assert.deepEqual([...new Set(STORY.map(({ operation }) => operation))].sort(), operations.sort());
});

/** How a form of the story is run; resolves with the names of its requests. */
const RUNS: Readonly<Record<string, (variables: Record<string, string>) => Promise<string[]>>> = {
  'the .http file': (variables) => runHttpFile(made.get('pet-catalog.http') ?? '', variables),
  'the Postman collection': (variables) =>
    runPostman(JSON.parse(made.get('pet-catalog.postman_collection.json') ?? ''), variables),
  'the Bruno folder': (variables) => {
    const files = [...made].filter(([file]) => file.endsWith('.bru'));
    return runBruno(new Map(files.map(([file, text]) => [relative('bruno', file), text])), variables);
  },
};

for (const [form, run] of Object.entries(RUNS)) {
  test(`${form} tells the story as its assertions say, twice on the same database`, async () => {
    await using service = await testService();
    const { secret } = await service.issue({ plan: 'business' });
    const call = (path: string) => json<{ length: number }>(service.call(secret, path));
    for (const times of [1, 2]) {
      assert.deepEqual(await run({ base_url: service.url, PET_CATALOG_KEY: secret }), story);
      assert.deepEqual([(await call('/categories')).length, (await call('/pets')).length], [times, times]);
    }
  });
}

test('the Postman collection has the members that its format asks for', () => {
  const collection = JSON.parse(made.get('pet-catalog.postman_collection.json') ?? '');
  assert.equal(collection.info.schema, 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json');
  assert.equal(typeof collection.info.name, 'string');
  assert.equal(collection.auth.type, 'bearer');
  const variables = collection.variable.map(({ key }: { key: string }) => key);
  for (const folder of collection.item) {
    assert.equal(typeof folder.name, 'string');
    for (const { request, response } of folder.item) {
      assert.deepEqual(response, []);
      assert.match(request.method, /^[A-Z]+$/);
      assert.equal(request.url.raw, [...request.url.host, ...request.url.path].join('/'));
      for (const [, used = ''] of JSON.stringify(request).matchAll(/\{\{(\w+)\}\}/g)) {
        assert.ok(variables.includes(used), used);
      }
    }
  }
});

test('every file of the Bruno folder is made of blocks, and their names are those that Bruno knows', () => {
  const known = new RegExp(
    `^(${[
      ...['meta', 'auth', 'auth:bearer', 'get', 'post', 'patch', 'delete', 'headers', 'params:query', 'params:path'],
      ...['body:json', 'vars', 'vars:secret', 'vars:post-response', 'assert', 'docs'],
    ].join('|')})$`,
  );
  const files = [...made].filter(([file]) => file.endsWith('.bru'));
  assert.ok(files.length > STORY.length);
  for (const [file, text] of files) {
    const opened = [...text.matchAll(/^(\S+) [{[]$/gm)].map(([, name = '']) => name);
    const closed = text.match(/^[}\]]$/gm) ?? [];
    assert.equal(opened.length, closed.length, file);
    for (const name of opened) assert.match(name, known, file);
    for (const line of text.split('\n')) assert.match(line, /^$|^ {2}|^[}\]]$|^\S+ [{[]$/, `${file}: ${line}`);
  }
});

const readme = readFileSync(join(FOLDER, 'README.md'), 'utf8');
const commands = [...readme.matchAll(/^- \w+: `(.*npx --yes .*)`$/gm)].map(([, command = '']) => command);

for (const [program, named] of [
  ['newman', 'npx --yes newman@6'],
  ['bru', 'npx --yes @usebruno/cli@4'],
] as const) {
  test(`${program} runs the story by the line of the README, twice`, async (t) => {
    const [command, ...others] = commands.filter((each) => each.includes(named));
    assert.ok(command && others.length === 0);
    const missing = missingPrograms(program);
    if (missing) return t.skip(missing);
    using folder = temporaryFolder();
    await using service = await testService();
    const { secret } = await service.issue({ plan: 'business' });
    const line = `${command.replace(named, program)} --env-var base_url=${service.url}`;
    for (const times of [1, 2]) {
      const options = { cwd: FOLDER, folder: folder.path, env: { PET_CATALOG_KEY: secret } };
      const printed = await execute('sh', ['-c', line], options);
      for (const name of story) assert.ok(printed.includes(name), printed);
      assert.equal((await json<unknown[]>(service.call(secret, '/categories'))).length, times);
    }
  });
}
