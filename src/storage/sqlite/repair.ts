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
import { claimFile, isAtRest } from './claim.ts';
import { type Contents, contentsOf } from './contents.ts';
import { createPrivately, hasLog, PRIVATE_FILE_MODE, putInPlace } from './files.ts';
import { readSoundRows } from './sound-rows.ts';
import { inspectLog } from './wal.ts';

/** The remains of a database, and of a backup to compare it with. */
export interface Salvage {
  /** The damage of the log, and how many of its transactions come before and after it. */
  readonly logDamage?: string;
  readonly commits: number;
  readonly behind: number;
  /** The readable part: the file with the log up to the damage, or its rows one by one where pages are damaged. */
  readonly intact: Contents;
  /** The rows that could not be read, by table and number. */
  readonly lost: readonly string[];
  readonly backup?: Contents & { readonly madeAt: Date };
}

/**
 * Finds out what a database file still holds, on a copy: the files themselves are only read. Writes that to the new
 * file `to` if one is named. No service may run on the database. Throws `DatabaseNotOpened`, also if nothing is left.
 */
export function salvage(file: string, { backup, to }: { backup?: string; to?: string }): Salvage {
  for (const needed of [file, ...(backup === undefined ? [] : [backup])]) {
    if (!existsSync(needed)) throw new DatabaseNotOpened(`There is no file ${needed}`);
  }
  if (to !== undefined && existsSync(to)) throw new DatabaseNotOpened(`${to} exists already; name a new file`);
  const { damage, commits, behind, intactBytes } = inspectLog(file, { isAtRest: isAtRest(file) });
  using _claim = claimFile(file);
  const folder = mkdtempSync(join(to === undefined ? tmpdir() : dirname(resolve(to)), '.pet-catalog-repair-'));
  try {
    const copy = join(folder, 'copy.db');
    copyFileSync(file, copy, constants.COPYFILE_EXCL);
    if (commits > 0) writeFileSync(`${copy}-wal`, readFileSync(`${file}-wal`).subarray(0, intactBytes));
    const { found, lost, contents } = readWhatIsLeft(copy, join(folder, 'rescued.db'));
    if (to !== undefined) {
      if (found === undefined) {
        throw new DatabaseNotOpened(`Nothing was written: what is left of ${file} is damaged, too: ${contents.damage}`);
      }
      chmodSync(found, PRIVATE_FILE_MODE);
      putInPlace(found, to);
    }
    return {
      ...(damage !== undefined && { logDamage: damage }),
      commits,
      behind,
      intact: contents,
      lost,
      ...(backup !== undefined && { backup: { ...contentsOf(backup), madeAt: statSync(backup).mtime } }),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The remains, in the file `found` if there are any. */
function readWhatIsLeft(copy: string, rescued: string): Pick<Salvage, 'lost'> & { found?: string; contents: Contents } {
  if (!moveLog(copy)) return { contents: { damage: 'its log cannot be read', rows: {}, lastCategory: 0 }, lost: [] };
  const contents = contentsOf(copy);
  if (contents.damage === undefined) return { found: copy, contents, lost: [] };
  createPrivately(rescued);
  const lost = readSoundRows(copy, rescued);
  if (!lost) return { contents, lost: [] };
  return { found: rescued, contents: { ...contentsOf(rescued), damage: contents.damage }, lost };
}

function moveLog(copy: string): boolean {
  try {
    using database = new DatabaseSync(copy);
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch {
    // What is damaged beyond that has no log to move.
  }
  return !hasLog(copy);
}
