import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { missingPrograms } from '../kit/deploy/programs.ts';

const SOURCE = fileURLToPath(new URL('failing-sync.c', import.meta.url));

/** Why syncs cannot be made to fail here, or false. */
export const noFailingSync: string | false =
  process.platform === 'linux' ? missingPrograms('cc') : 'only Linux preloads a library: syncs were not made to fail';

export interface FailingSync {
  /** The environment of a process whose syncs of a write-ahead log that holds the text fail when told to. */
  readonly env: Record<string, string>;
  /** From now on such a sync fails with EIO, or works again. */
  fail(): void;
  work(): void;
  /** The file that is there while syncs fail. */
  readonly flag: string;
  /** How many syncs failed since then. */
  failed(): number;
}

/**
 * Compiles the library that makes syncs fail into a folder. They fail from the transaction that writes the text on, and
 * not in what the service saves by itself before.
 */
export function failingSync(folder: string, text: string): FailingSync {
  const [library, flag] = [join(folder, 'failing-sync.so'), join(folder, 'syncs-fail')];
  const { status, stderr } = spawnSync('cc', ['-shared', '-fPIC', '-o', library, SOURCE, '-ldl'], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return {
    env: { LD_PRELOAD: library, FAIL_SYNC: flag, FAIL_SYNC_OF: text },
    fail: () => writeFileSync(flag, ''),
    flag,
    work: () => rmSync(flag),
    failed: () => statSync(flag).size,
  };
}
