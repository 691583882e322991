import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../../test/kit/folder.ts';
import { runAction } from './kit/action.ts';
import { things } from './kit/api.ts';
import { runIn } from './kit/fixtures.ts';
import { upstreamOf } from './kit/upstream.ts';

/** The package as somebody else installs it: alone in an empty folder, on every Node.js that is maintained. */

const HERE = fileURLToPath(new URL('..', import.meta.url));
const KIT = fileURLToPath(new URL('./kit', import.meta.url));
const BYTES_MAX = 500_000;
const DEPENDENCIES_MAX = 3;

const hasRegistry = spawnSync('npm', ['ping'], { timeout: 20_000 }).status === 0;
assert.ok(hasRegistry || process.env.CI !== 'true', 'the package registry does not answer');

describe('the package', { skip: !hasRegistry && 'the package registry does not answer' }, () => {
  const packed = temporaryFolder();
  let file = '';
  before(() => {
    execFileSync('npm', ['pack', '--pack-destination', packed.path], { cwd: HERE, stdio: 'ignore' });
    file = join(packed.path, readdirSync(packed.path).find((name) => name.endsWith('.tgz')) ?? '');
  });
  after(() => packed[Symbol.dispose]());

  test('is small', () => {
    assert.ok(statSync(file).size < BYTES_MAX, `${statSync(file).size} bytes`);
  });

  test('runs in the GitHub Action, and so does the commit of the action', async () => {
    using folder = temporaryFolder();
    const checkout = join(folder.path, 'checkout');
    const isSource = (path: string) => !/[/\\](node_modules|dist)$/.test(path);
    for (const name of ['package.json', 'package-lock.json', 'referee', 'client/package.json', 'runtime'])
      cpSync(join(HERE, '..', name), join(checkout, name), { recursive: true, filter: isSource });
    const start = `'${process.execPath}' '${join(KIT, 'api.ts')}'`;
    const program = 'fetch(process.env.REFEREE_URL + "/things", { method: "POST", body: "{}" }).then(() => {})';
    for (const given of [file, '']) {
      const { code, output, summary } = await runAction(
        { command: `node -e '${program}'`, start, args: 'ok', package: given },
        { workspace: folder.path, path: dirname(process.execPath), referee: join(checkout, 'referee') },
      );
      assert.equal(code, 0, output);
      assert.match(summary, /Exit 0: no rule is broken\.\n$/);
    }
    const installed = readdirSync(join(checkout, 'node_modules')).filter((name) => !/^(\.|node-)/.test(name));
    assert.deepEqual(installed, ['@pet-catalog', 'api-referee', 'commander']);
  });

  test('says in one line that a Node.js is too old', () => {
    using folder = temporaryFolder();
    const inFolder = { cwd: folder.path, encoding: 'utf8' as const };
    execFileSync('npm', ['init', '-y'], inFolder);
    execFileSync('npm', ['install', '--no-audit', '--no-fund', 'node@20', file], { ...inFolder, stdio: 'ignore' });
    const bin = join(folder.path, 'node_modules', '.bin');
    const { status, stderr } = spawnSync(join(bin, 'node'), [join(bin, 'api-referee'), '--version'], inFolder);
    assert.match(stderr, /^api-referee: Node\.js 22\.15 or later is needed, and this is 20\.[^\n]*\n$/);
    assert.equal(status, 2);
  });

  describe('its examples of tests pass', () => {
    const folder = temporaryFolder();
    before(() => {
      writeFileSync(join(folder.path, 'package.json'), '{"private":true,"type":"module"}');
      const packages = [file, 'vitest@4', 'jest@30', '@jest/globals@30'];
      const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...packages];
      execFileSync('npm', args, { cwd: folder.path, stdio: 'ignore' });
      cpSync(join(folder.path, 'node_modules', 'api-referee', 'examples', 'tests'), folder.path, { recursive: true });
    });
    after(() => folder[Symbol.dispose]());

    const hasPytest = spawnSync('python3', ['-m', 'pytest', '--version']).status === 0;
    for (const [runner, words, env, skip] of [
      ['node:test', [process.execPath, '--test', 'node.test.mjs'], {}, false],
      ['Vitest', ['npx', 'vitest', 'run', 'vitest.test.mjs'], {}, false],
      [
        'Jest',
        ['npx', 'jest', '--testMatch', '**/jest.test.mjs'],
        { NODE_OPTIONS: '--experimental-vm-modules' },
        false,
      ],
      ['pytest', ['python3', '-m', 'pytest', 'test_referee.py'], {}, !hasPytest && 'there is no pytest'],
    ] as const) {
      test(`under ${runner}`, { skip }, async () => {
        await using api = await upstreamOf(things());
        const { code, output } = await runIn(folder.path, words, { API_URL: api.url, ...env });
        assert.equal(code, 0, output);
        assert.match(output, /2 passed|pass 2/);
      });
    }
  });

  for (const version of ['22', '24', '26']) {
    test(`judges a client on Node.js ${version}, installed alone in an empty folder`, () => {
      using folder = temporaryFolder();
      const inFolder = { cwd: folder.path, encoding: 'utf8' as const };
      execFileSync('npm', ['init', '-y'], inFolder);
      execFileSync('npm', ['install', '--no-audit', '--no-fund', `node@${version}`, file], inFolder);
      const bin = join(folder.path, 'node_modules', '.bin');
      const node = join(bin, 'node');
      assert.match(execFileSync(node, ['--version'], inFolder), new RegExp(`^v${version}\\.`));
      const installed = readdirSync(join(folder.path, 'node_modules')).filter((name) => !/^(\.|node)/.test(name));
      assert.ok(installed.length <= DEPENDENCIES_MAX + 1, `${installed}`);
      const program = 'fetch(process.env.REFEREE_URL + "/things", { method: "POST", body: "{}" }).then(() => {})';
      // The API runs on the checkout's Node.js, which reads TypeScript.
      const api = `'${process.execPath}' '${join(KIT, 'api.ts')}'`;
      const args = ['api-referee', 'client', 'ok', '--start', api, '--json', '--', node, '-e', program];
      const env = { PATH: `${bin}:${process.env.PATH}` };
      const { stdout, stderr, status } = spawnSync('npx', ['--no-install', ...args], { ...inFolder, env });
      assert.equal(status, 0, stdout + stderr);
      assert.equal(JSON.parse(stdout).calls[0].kind, 'POST /api/things');
    });
  }
});
