import assert from 'node:assert/strict';
import { syncBuiltinESMExports } from 'node:module';
import os, { tmpdir } from 'node:os';
import { test } from 'node:test';
import { run } from '../../test/kit/process.ts';
import { LimiterNotOpened } from '../limits/limiter.ts';
import { systemOperator } from './invocation.ts';

test('a reason for which a command cannot begin is told alone, and an error of ours with its place', async () => {
  const failing = (thrown: unknown) => {
    const print = () => {
      throw thrown;
    };
    return run(['version'], { cwd: tmpdir(), invocation: { print } });
  };
  const told = (stderr: string) => ({ code: 1, stdout: '', stderr });
  assert.deepEqual(await failing(new LimiterNotOpened('No Redis')), told('pet-catalog: No Redis\n'));
  assert.deepEqual(await failing('odd'), told('pet-catalog: odd\n'));
  const { code, stderr } = await failing(new Error('ours'));
  assert.equal(code, 1);
  assert.match(stderr, /^pet-catalog: Error: ours\n {4}at .*program\.test\.ts/);
});

test('the name before a problem is red where stderr shows colours, whatever stdout does', async () => {
  const told = async (coloured: string) => {
    const hasColours = (stream: string) => stream === coloured;
    return (await run(['keys', 'make'], { cwd: tmpdir(), invocation: { hasColours } })).stderr;
  };
  const problem = 'There is no command make; see --help\n';
  assert.deepEqual(
    [await told('stderr'), await told('stdout')],
    [`\x1b[31mpet-catalog:\x1b[39m ${problem}`, `pet-catalog: ${problem}`],
  );
});

test('an operator without a name is known by the number of the user', (t) => {
  t.mock.method(os, 'userInfo', () => {
    throw new Error('no name');
  });
  syncBuiltinESMExports();
  assert.deepEqual(systemOperator(), { actor: `uid ${process.getuid?.()}`, via: 'cli' });
  t.mock.restoreAll();
  syncBuiltinESMExports();
  assert.deepEqual(systemOperator(), { actor: os.userInfo().username, via: 'cli' });
});
