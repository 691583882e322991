import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';

/** Why tests that need something are left out, or false if it is there; on CI, where it has to be, it fails. */
export function leftOut(isThere: boolean, why: string): string | false {
  if (isThere) return false;
  assert.notEqual(process.env.CI, 'true', `${why}, and CI=true forbids leaving tests out`);
  return `${why}: the tests that need it are left out`;
}

/** Why tests that need programs are left out, or false. */
export function missingPrograms(...programs: readonly string[]): string | false {
  const missing = programs.filter((program) => spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0);
  return leftOut(missing.length === 0, `${missing} is not installed`);
}

/** Why tests that install packages are left out, or false; on CI `npm ci` has just succeeded. */
export function noRegistry(): string | false {
  const { status } = spawnSync('npm', ['ping'], { timeout: 20_000 });
  return leftOut(status === 0, 'the package registry does not answer');
}

/** For programs in Go that live for a second: to collect garbage on all cores takes a tenth of their processor time. */
export const SPARING = { ...process.env, GOMAXPROCS: '1', GOGC: '400' };
