import { existsSync, mkdtempDisposableSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where databases outlive no process: syncing them to a disk took a sixth of the processor time of a test. */
export const IN_MEMORY = existsSync('/dev/shm') && freeBytes('/dev/shm') > 1e9 ? '/dev/shm' : tmpdir();

/** A folder that is removed with the test. */
export const temporaryFolder = (above = tmpdir()) => mkdtempDisposableSync(join(above, 'pet-catalog-'));

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
