import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { missingPrograms } from '../kit/deploy/programs.ts';

const SOURCE = fileURLToPath(new URL('stop-at.c', import.meta.url));

/** Why a process cannot be stopped at each of its calls here, or false. */
export const noStopping: string | false =
  process.platform === 'linux' ? missingPrograms('cc') : 'only Linux preloads a library: no call was stopped at';

interface Stop {
  /** The number of the call, from 1. */
  readonly at: number;
  readonly how: 'KILL' | 'EIO';
}

/** Runs a module's text in processes whose calls that change what is below a folder are counted, killed at, or fail. */
export function stopper(folder: string) {
  const [library, count] = [join(folder, 'stop-at.so'), join(folder, 'stop-at.count')];
  const compiled = spawnSync('cc', ['-shared', '-fPIC', '-o', library, SOURCE, '-ldl'], { encoding: 'utf8' });
  assert.equal(compiled.status, 0, compiled.stderr);
  const run = (text: string, below: string, stop?: Stop) =>
    spawnSync(process.execPath, ['--input-type=module', '--eval', text], {
      encoding: 'utf8',
      env: {
        PATH: process.env.PATH ?? '',
        LD_PRELOAD: library,
        STOP_BELOW: below,
        STOP_COUNT: count,
        ...(stop && { STOP_AT: `${stop.at}`, STOP_HOW: stop.how }),
      },
    });
  return {
    run,
    /** How many such calls a whole run makes. */
    calls(text: string, below: string): number {
      const { status, stderr } = run(text, below);
      assert.equal(status, 0, stderr);
      return Number(readFileSync(count, 'utf8'));
    },
  };
}
