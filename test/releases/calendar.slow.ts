import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { missingPrograms } from '../kit/deploy/programs.ts';

/**
 * Tests of recorded data pass on any later day: they read a record with the clock of the record. The other tests pass
 * under `faketime` too, but for the parts that run programs which libfaketime 0.9.10 breaks: Chromium, whose network
 * process ends; Redis, whose allocator asks for the time before the library is ready; and Python, whose `time.sleep`
 * never ends. Start those without `LD_PRELOAD`, and PostgreSQL with the clock of the tests.
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SHIFT = '+400d';
const RECORDED = [
  ...readdirSync(import.meta.dirname)
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => `test/releases/${name}`),
  'test/contract/history.test.ts',
];

/** Runs Node.js 400 days ahead, children included. Servers that run already keep their time. */
function runLater(...args: readonly string[]) {
  // The outer runner is told apart by this variable, which would have the inner one print for it.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const later = ['--exclude-monotonic', '-f', SHIFT, process.execPath, ...args];
  return spawnSync('faketime', later, { cwd: ROOT, env, encoding: 'utf8', maxBuffer: 100_000_000 });
}

test('tests of recorded data pass 400 days later', { skip: missingPrograms('faketime') }, () => {
  const { stdout: now } = runLater('--print', 'Date.now()');
  assert.equal(Math.round((Number(now) - Date.now()) / 86_400_000), 400, 'faketime shifts no clock of Node.js');
  const { status, stdout } = runLater('--import', './test/preload.js', '--test', '--test-reporter=spec', ...RECORDED);
  const passed = Number(/^ℹ pass (\d+)$/m.exec(stdout)?.[1]);
  assert.equal(status, 0, stdout.slice(stdout.indexOf('failing tests:')));
  assert.ok(passed >= RECORDED.length, `${passed} tests passed`);
});
