import assert from 'node:assert/strict';
import { syncBuiltinESMExports } from 'node:module';
import os, { tmpdir } from 'node:os';
import { test } from 'node:test';
import { run } from '../../test/kit/process.ts';
import { DatabaseNotOpened } from '../storage/engine.ts';
import { operatorOf } from './invocation.ts';

test('a reason for which a command cannot begin is told alone, and an error of ours with its place', async () => {
  const failing = (thrown: unknown) => {
    const print = () => {
      throw thrown;
    };
    return run(['version'], { cwd: tmpdir(), invocation: { print } });
  };
  const told = (stderr: string) => ({ code: 1, stdout: '', stderr });
  assert.deepEqual(await failing(new DatabaseNotOpened('No database')), told('pet-catalog: No database\n'));
  assert.deepEqual(await failing('odd'), told('pet-catalog: odd\n'));
  const { code, stderr } = await failing(new Error('ours'));
  assert.equal(code, 1);
  assert.match(stderr, /^pet-catalog: Error: ours\n {4}at .*program\.test\.ts/);
});

test('an operator without a name is known by the number of the user', (t) => {
  t.mock.method(os, 'userInfo', () => {
    throw new Error('no name');
  });
  syncBuiltinESMExports();
  assert.deepEqual(operatorOf(undefined, {}), { actor: `uid ${process.getuid?.()}`, via: 'cli' });
  t.mock.restoreAll();
  syncBuiltinESMExports();
  const user = os.userInfo().username;
  assert.deepEqual(operatorOf(undefined, {}), { actor: user, via: 'cli' });
  // sudo and the environment name who it is; the system's user is kept beside a name that is a claim.
  assert.deepEqual(operatorOf(undefined, { SUDO_USER: 'bob' }), { actor: 'bob', via: 'cli', user });
  const env = { SUDO_USER: 'bob', PET_CATALOG_OPERATOR: 'carol' };
  assert.deepEqual(operatorOf(undefined, env), { actor: 'carol', via: 'cli', user });
  assert.deepEqual(operatorOf('dana', env), { actor: 'dana', via: 'cli', user });
  assert.throws(() => operatorOf(' ', env), { message: 'The name of an operator is 1 to 100 visible characters' });
});

test('an argument that is not UTF-8 is refused, since Node.js has put U+FFFD in its place', async () => {
  const { code, stderr } = await run(['keys', 'create', '--name', 'caf\uFFFD'], { cwd: tmpdir() });
  assert.deepEqual([code, stderr], [2, 'pet-catalog: an argument is not UTF-8; send it as UTF-8\n']);
});
