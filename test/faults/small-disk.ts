import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

interface SmallDisk extends Disposable {
  readonly path: string;
  /** Throws if the system refuses. */
  remount(how: 'ro' | 'rw'): void;
}

/** A file system of some MiB in a folder of this name, or null, and the test skipped, where none can be mounted. */
export function smallDisk(t: TestContext, folder: string, { name = 'data', mebibytes = 1 } = {}): SmallDisk | null {
  const path = join(folder, name);
  mkdirSync(path, { recursive: true });
  const mount = (...args: string[]) => {
    const { status, stderr } = spawnSync('mount', [...args, path], { encoding: 'utf8' });
    return status === 0 ? undefined : stderr;
  };
  const why = mount('-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs');
  if (why !== undefined) {
    t.skip(`a small file system cannot be mounted here: ${why}`);
    return null;
  }
  return {
    path,
    remount(how) {
      const failed = mount('-o', `remount,${how}`);
      if (failed !== undefined) throw new Error(failed);
    },
    [Symbol.dispose]: () => spawnSync('umount', ['-l', path]),
  };
}
