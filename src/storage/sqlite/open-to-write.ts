import { readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { DatabaseNotOpened } from '../engine.ts';
import type { Purpose } from '../migrate.ts';
import { isBusy } from './claim.ts';
import { DatabaseDamaged, notOpened, type Obstacle } from './failure.ts';
import { createPrivately, IN_MEMORY, isThere } from './files.ts';
import { missing, openToRead } from './open-to-read.ts';
import { inspectLog } from './wal.ts';

/** Earlier releases can corrupt a WAL under two writers (sqlite.org/wal.html, "WAL-reset bug"). */
const SQLITE_VERSION_MIN = '3.51.3';
/** The time that opening waits for other processes that open or create the same file. */
const OPEN_TIMEOUT_MS = 5_000;
const RETRY_MS = 5;

/** Each pragma, with the value that it must read back as. */
const PRAGMAS: readonly (readonly [name: string, value: string, readBack: string | number])[] = [
  // Readers and the writer do not block each other, and a commit is one sequential write.
  ['journal_mode', 'WAL', 'wal'],
  // A commit returns after its fsync; with NORMAL a power cut could lose the last commits.
  ['synchronous', 'FULL', 2],
  ['foreign_keys', 'ON', 1],
  // A log that grew while something read without an end is cut to this when it begins anew, or it would stay as it is.
  ['journal_size_limit', '67108864', 67_108_864],
];

/**
 * Opens a database file for writing, with the pragmas verified, after the checks of `openToRead`: opening alone may
 * move the log into the file. Throws `DatabaseDamaged` or `DatabaseNotOpened`, the latter also for a file with several
 * names and for one that a restore has still to put in place.
 */
export function openToWrite(file: string, purpose: Purpose): DatabaseSync {
  try {
    if (file === IN_MEMORY) return openChecked(file);
    if (isThere(file)) openToRead(file, purpose === 'serve' ? { isAtRest: true } : {})[Symbol.dispose]();
    else {
      assertNothingLeft(file);
      if (purpose === 'change') throw missing(file);
      createPrivately(file);
    }
    return openChecked(file);
  } catch (error) {
    throw notOpened(file, error);
  }
}

/** The same for a file that was checked before. Throws what SQLite or the system says. */
export function openChecked(file: string, timeout = OPEN_TIMEOUT_MS): DatabaseSync {
  const names = file === IN_MEMORY ? undefined : findOtherNames(file);
  if (names) throw new DatabaseNotOpened(`${names.finding}: ${names.advice}`);
  const database = new DatabaseSync(file, { timeout });
  try {
    assertVersion(database);
    for (const [name, value, readBack] of PRAGMAS) {
      execWhenFree(database, `PRAGMA ${name} = ${value}`, timeout);
      const found = Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];
      if (found !== readBack && file !== IN_MEMORY) throw new Error(`PRAGMA ${name} is ${found}, not ${readBack}`);
    }
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Runs a statement as soon as no other process is in its way. SQLite waits by itself, except where two processes move a
 * new file to the log at once: each would hold what the other waits for.
 */
function execWhenFree(database: DatabaseSync, statement: string, waitMs: number): void {
  const endsAt = performance.now() + waitMs;
  for (;;) {
    try {
      database.exec(statement);
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() >= endsAt) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}

/** Hard links: each name of a file would have a log of its own, without the commits in that of another. */
export function findOtherNames(file: string): Obstacle | undefined {
  const { nlink } = statSync(file);
  if (nlink === 1) return undefined;
  return {
    finding: `The file of the database ${file} has ${nlink} names (hard links), so it is not written to`,
    advice: `stop what uses it, and make it a file of its own: \`cp ${file} ${file}.own && mv ${file}.own ${file}\``,
  };
}

/** Refuses to begin anew where a database was: its log, or what a restore moved aside, is still there. */
export function assertNothingLeft(file: string): void {
  const { damage } = inspectLog(file);
  const [moved] = movedAside(file);
  if (moved === undefined) {
    if (damage !== undefined) throw new DatabaseDamaged(file, damage);
    return;
  }
  const copied = restoringFile(file);
  const end = isThere(copied)
    ? `end it with \`pet-catalog restore ${copied}\``
    : 'run `pet-catalog restore BACKUP` again';
  throw new DatabaseNotOpened(
    `There is no database ${resolve(file)}, but ${moved}, which a restore moved aside before it was interrupted: ${end}, or move that elsewhere to begin anew`,
  );
}

/** Where a restore writes the new file before it takes its place. */
export function restoringFile(file: string): string {
  return `${file}.restoring`;
}

/** The files that restores replaced, the newest first. */
export function movedAside(file: string): string[] {
  const folder = dirname(file);
  const prefix = `${basename(file)}.replaced-`;
  const names = isThere(folder) ? readdirSync(folder) : [];
  const found = names.filter((name) => name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)));
  return found
    .sort((one, other) => Number(other.slice(prefix.length)) - Number(one.slice(prefix.length)))
    .map((name) => join(folder, name));
}

function assertVersion(database: DatabaseSync): void {
  const { version } = database.prepare('SELECT sqlite_version() AS version').get() as { version: string };
  if (version.localeCompare(SQLITE_VERSION_MIN, 'en', { numeric: true }) >= 0) return;
  throw new Error(`SQLite is ${version}; ${SQLITE_VERSION_MIN} or later is needed`);
}
