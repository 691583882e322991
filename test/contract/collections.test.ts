import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { arazzoFile, type Contract, postmanFile } from '../../collections/generate.ts';
import { STORY } from '../../collections/story.ts';
import { execute } from '../kit/client/package.ts';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { json, temporaryFolder, testService } from '../kit/service.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDER = join(ROOT, 'collections');
const contract: Contract = JSON.parse(readFileSync(join(ROOT, 'openapi.json'), 'utf8'));
const made = postmanFile(contract);
const story = STORY.map(({ operation, name = operation }) => name);

test('the collections match the story and the contract; `npm run collections` rewrites them', () => {
  assert.equal(readFileSync(join(FOLDER, 'pet-catalog.arazzo.yaml'), 'utf8'), arazzoFile(contract));
  assert.equal(readFileSync(join(FOLDER, 'pet-catalog.postman_collection.json'), 'utf8'), made);
});

test('the story has every operation of the contract', () => {
  const operations = Object.values(contract.paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  );
  assert.ok(operations.length >= 15);
  assert.deepEqual([...new Set(STORY.map(({ operation }) => operation))].sort(), operations.sort());
});

const readme = readFileSync(join(FOLDER, 'README.md'), 'utf8');
const commands = [...readme.matchAll(/^- \w+: `(.*npx --yes .*)`$/gm)].map(([, command = '']) => command);

test('newman runs the story by the line of the README, twice', async (t) => {
  const [command, ...others] = commands;
  assert.ok(command && others.length === 0);
  const missing = missingPrograms('newman');
  if (missing) return t.skip(missing);
  using folder = temporaryFolder();
  await using service = await testService();
  const { secret } = await service.issue({ plan: 'business' });
  const line = `${command.replace('npx --yes newman@6', 'newman')} --env-var base_url=${service.url} -n 2`;
  const options = { cwd: FOLDER, folder: folder.path, env: { PET_CATALOG_KEY: secret } };
  const printed = await execute('sh', ['-c', line], options);
  for (const name of story) assert.ok(printed.split(name).length >= 3, printed);
  assert.equal((await json<unknown[]>(service.call(secret, '/categories'))).length, 2);
});

test('Redocly runs the story of the Arazzo file by the line of the README, twice', async () => {
  const [, command = ''] = /^- Arazzo .*: `npx --yes @redocly\/cli@2 (respect .*)`$/m.exec(readme) ?? [];
  assert.ok(command);
  using folder = temporaryFolder();
  await using service = await testService();
  const { secret } = await service.issue({ plan: 'business' });
  const twice = command.replace(/\S+\.arazzo\.yaml/, '$& $&');
  const line = `'${join(ROOT, 'node_modules/.bin/redocly')}' ${twice} --server catalog=${service.url}`;
  const env = { PET_CATALOG_KEY: secret, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const printed = await execute('sh', ['-c', line], { cwd: FOLDER, folder: folder.path, env });
  assert.equal(printed.split(`Steps: ${STORY.length} passed, ${STORY.length} total`).length, 3, printed);
  assert.equal((await json<unknown[]>(service.call(secret, '/categories'))).length, 2);
});
