import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { DatabaseNotOpened } from '../engine.ts';
import { PRIVATE_FILE_MODE } from './connection.ts';
import { claimLock, emptyLog, putInPlace } from './file.ts';
import { findPageDamage, hasLog } from './soundness.ts';
import { inspectLog } from './wal.ts';

const COUNTED = ['categories', 'pets', 'orders', 'api_keys'] as const;

/** What a database file holds, or why that cannot be told. */
export interface Contents {
  readonly damage?: string;
  /** How many rows each table has, by its name. */
  readonly rows: Readonly<Record<string, number>>;
  /** The highest id that a category has. */
  readonly lastCategory: number;
}

const NOTHING = { rows: {}, lastCategory: 0 };

/** What is left of a database, and of a backup to compare it with. */
export interface Salvage {
  /** The damage of the log, and how many of its transactions come before and after it. */
  readonly logDamage?: string;
  readonly commits: number;
  readonly behind: number;
  /** What the file holds with the log up to the damage. */
  readonly intact: Contents;
  readonly backup?: Contents & { readonly madeAt: Date };
}

/**
 * Finds out what a database file still holds, on a copy: the files themselves are only read. Writes that to the new
 * file `to` if one is named. No service may run on the database. Throws `DatabaseNotOpened`, also if what is left is
 * not a sound database that could be written.
 */
export function salvage(file: string, { backup, to }: { backup?: string; to?: string }): Salvage {
  for (const needed of [file, ...(backup === undefined ? [] : [backup])]) {
    if (!existsSync(needed)) throw new DatabaseNotOpened(`There is no file ${needed}`);
  }
  if (to !== undefined && existsSync(to)) throw new DatabaseNotOpened(`${to} exists already; name a new file`);
  using _claim = claimLock(file);
  const folder = mkdtempSync(join(to === undefined ? tmpdir() : dirname(resolve(to)), '.pet-catalog-repair-'));
  try {
    const copy = join(folder, 'copy.db');
    const { damage, commits, behind, intactBytes } = inspectLog(file);
    copyFileSync(file, copy, constants.COPYFILE_EXCL);
    if (commits > 0) writeFileSync(`${copy}-wal`, readFileSync(`${file}-wal`).subarray(0, intactBytes));
    emptyLog(copy);
    const intact = hasLog(copy) ? { damage: 'its log cannot be read', ...NOTHING } : readContents(copy);
    if (to !== undefined) {
      if (intact.damage !== undefined) {
        throw new DatabaseNotOpened(`Nothing was written: what is left of ${file} is damaged, too: ${intact.damage}`);
      }
      chmodSync(copy, PRIVATE_FILE_MODE);
      putInPlace(copy, to);
    }
    return {
      ...(damage !== undefined && { logDamage: damage }),
      commits,
      behind,
      intact,
      ...(backup !== undefined && { backup: { ...readContents(backup), madeAt: statSync(backup).mtime } }),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Leaves a file without a log as it was, and reads one with a log without moving that into the file. */
function readContents(file: string): Contents {
  const damage = findPageDamage(file);
  if (damage !== undefined) return { ...NOTHING, damage };
  try {
    using database = new DatabaseSync(file, { readOnly: hasLog(file) });
    const number = (sql: string) => Number(Object.values(database.prepare(sql).get() ?? {})[0] ?? 0);
    const rows = Object.fromEntries(COUNTED.map((table) => [table, number(`SELECT count(*) FROM ${table}`)]));
    return { rows, lastCategory: number('SELECT max(id) FROM categories') };
  } catch (error) {
    return { ...NOTHING, damage: (error as Error).message };
  }
}
