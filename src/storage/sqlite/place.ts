import { type Stats, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** The resolution of a folder's time on the coarsest file systems, and more. */
const SETTLED_MS = 3_000;

/**
 * The place of a database file that this process writes to, with its log and, for a service, its lock: notices that one
 * of them was removed or replaced, so that the next start, or another one, would work on other files.
 */
export class Place {
  readonly #folder: string;
  readonly #seen: Map<string, Stats | undefined>;
  /** The folder when all was in place, if its time was old enough to show any later change of a name in it. */
  #settled: Stats | undefined;

  constructor(file: string, { hasLock }: { hasLock: boolean }) {
    this.#folder = dirname(resolve(file));
    const parts = ['', '-wal', ...(hasLock ? ['.lock'] : [])];
    this.#seen = new Map(parts.map((part) => [file + part, statSync(file + part, { throwIfNoEntry: false })]));
  }

  /**
   * True while the files are those that were seen first; `byEach`: by a look at each. Costlier: a look at the log makes
   * the next sync write the time of its change too. What may not be looked at counts as gone.
   */
  isKept(byEach = false): boolean {
    try {
      const folder = statSync(this.#folder);
      const isSettled = isSame(folder, this.#settled) && folder.ctimeMs === this.#settled?.ctimeMs;
      return (isSettled && !byEach) || this.#look(folder);
    } catch {
      return false;
    }
  }

  #look(folder: Stats): boolean {
    this.#settled = undefined;
    for (const [path, before] of this.#seen) {
      const now = statSync(path, { throwIfNoEntry: false });
      if (before && !isSame(now, before)) return false;
      // The log appears with the first write.
      if (now) this.#seen.set(path, now);
    }
    if (Date.now() - folder.ctimeMs > SETTLED_MS) this.#settled = folder;
    return true;
  }
}

function isSame(one: Stats | undefined, other: Stats | undefined): boolean {
  return one !== undefined && one.ino === other?.ino && one.dev === other.dev;
}
