import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { execute } from '../kit/client/package.ts';
import { codeIn } from '../kit/client/project.ts';
import { context } from '../kit/deploy/host.ts';
import { noRegistry } from '../kit/deploy/programs.ts';
import { temporaryFolder, testService } from '../kit/service.ts';

/** The client that the guide has generated of the contract. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const WRITTEN_URL = 'http://127.0.0.1:8080/v1';

const skip = noRegistry();
const folder = temporaryFolder();

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
