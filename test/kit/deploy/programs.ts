import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';

/** Why tests that need programs are skipped, or false; on CI a missing one is a failure instead. */
export function missingPrograms(...programs: readonly string[]): string | false {
  const missing = programs.filter((program) => spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0);
  if (missing.length === 0) return false;
  assert.notEqual(process.env.CI, 'true', `${missing} is not installed, and CI=true forbids leaving tests out`);
  return `${missing} is not installed: these tests are left out`;
}

/** Why tests that install packages are skipped, or false; on CI, where `npm ci` has just succeeded, it is a failure. */
export function noRegistry(): string | false {
  const { status } = spawnSync('npm', ['ping'], { timeout: 20_000 });
  if (status === 0) return false;
  assert.notEqual(
    process.env.CI,
    'true',
    'the package registry does not answer, and CI=true forbids leaving tests out',
  );
  return 'the package registry does not answer: the tests that install packages are left out';
}
