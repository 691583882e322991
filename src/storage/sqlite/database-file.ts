import { readdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { DatabaseNotOpened } from '../engine.ts';
import type { Purpose } from '../migrate.ts';
import { isAtRest, isBusy } from './claim.ts';
import { DatabaseDamaged, findFileMount, findReadOnlyMount, notOpened } from './failure.ts';
import { createPrivately, IN_MEMORY, isThere, sizeOf } from './files.ts';
import { checkPages } from './page-check.ts';
import { findDamage } from './wal.ts';

/** The time that opening waits for other processes that open or create the same file. */
const OPEN_TIMEOUT_MS = 5_000;
const RETRY_MS = 5;
/** So much is checked within a second, on a slow disk too. */
const CHECKED_AT_ONCE_BYTES = 64 * 1024 * 1024;

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

interface ReadOptions {
  /** The operator's name for the file. */
  readonly name?: string;
  /** True if no service has the file open, where the caller knows. */
  readonly isAtRest?: boolean;
}

/**
 * Opens a database file for reading, after a look at its log and its size, which changes no byte. Throws
 * `DatabaseDamaged` or `DatabaseNotOpened`.
 */
export function openToRead(file: string, { name = file, ...options }: ReadOptions = {}): DatabaseSync {
  try {
    lookForDamage(file, { name, ...options });
    if (!isThere(file)) throw missing(name);
    using opening = new DisposableStack();
    const database = opening.use(new DatabaseSync(file, { readOnly: true, timeout: OPEN_TIMEOUT_MS }));
    database.prepare('SELECT count(*) FROM sqlite_schema').get();
    opening.move();
    return database;
  } catch (error) {
    throw notOpened(file, error, name);
  }
}

/** The same, after a check of every page. */
export function openSound(file: string, options: ReadOptions = {}): DatabaseSync {
  const { name = file } = options;
  const database = openToRead(file, options);
  try {
    const damage = checkPages(database);
    if (damage !== undefined) throw new DatabaseDamaged(name, damage);
    return database;
  } catch (error) {
    database.close();
    throw notOpened(file, error, name);
  }
}

/** True if a file that no service has open is there and undamaged. Throws `DatabaseNotOpened` if it cannot be read. */
export function isSound(file: string): boolean {
  if (!isThere(file)) return false;
  try {
    openSound(file, { isAtRest: true }).close();
    return true;
  } catch (error) {
    if (error instanceof DatabaseDamaged) return false;
    throw error;
  }
}

/**
 * Opens a database file for writing, with the pragmas verified, after the look of `openToRead`: opening alone may move
 * the log into the file. For a service every page is checked too, unless that takes more than a second. Throws
 * `DatabaseDamaged` or `DatabaseNotOpened`, the latter also for a file that a restore has still to put in place.
 */
export function openToWrite(file: string, purpose: Purpose): DatabaseSync {
  try {
    if (file === IN_MEMORY) return openChecked(file);
    const mount = findReadOnlyMount(file);
    if (mount) throw new DatabaseNotOpened(`${mount.finding}: ${mount.advice}`);
    if (isThere(file)) {
      const isAtRest = purpose === 'serve' ? { isAtRest: true } : {};
      if (purpose === 'serve' && !isLarge(file)) openSound(file, isAtRest).close();
      else lookForDamage(file, isAtRest);
    } else {
      assertNothingLeft(file);
      if (purpose === 'change') throw missing(file);
      createPrivately(file);
    }
    return openInPlace(file);
  } catch (error) {
    throw notOpened(file, error);
  }
}

/** Opening waits for a restore that is under way, which puts another file in the place of the one that is opened. */
function openInPlace(file: string): DatabaseSync {
  const { ino } = statSync(file);
  const database = openChecked(file);
  if (statSync(file, { throwIfNoEntry: false })?.ino === ino) return database;
  database.close();
  throw new DatabaseNotOpened(`The database ${file} was replaced while it was opened: run this again`);
}

/** True if the check of every page may take more than a second. */
export function isLarge(file: string): boolean {
  return sizeOf(file).databaseBytes > CHECKED_AT_ONCE_BYTES;
}

/** The same for a file that was checked before. Throws what SQLite or the system says. */
export function openChecked(file: string, timeout = OPEN_TIMEOUT_MS): DatabaseSync {
  using opening = new DisposableStack();
  const database = opening.use(new DatabaseSync(file, { timeout }));
  for (const [name, value, readBack] of PRAGMAS) {
    execWhenFree(database, `PRAGMA ${name} = ${value}`, timeout);
    const found = Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];
    if (found !== readBack && file !== IN_MEMORY) throw new Error(`PRAGMA ${name} is ${found}, not ${readBack}`);
  }
  opening.move();
  return database;
}

/** Throws if the log, or the size of the file, shows damage, or if the file is mounted without its folder. */
function lookForDamage(file: string, { name = file, ...known }: ReadOptions = {}): void {
  const mount = findFileMount(file);
  if (mount) throw new DatabaseNotOpened(`${mount.finding}: ${mount.advice}`);
  const damage = findDamage(file, { isAtRest: known.isAtRest ?? isAtRest(file) });
  if (damage !== undefined) throw new DatabaseDamaged(name, damage);
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

/** The error that names a database file that is not there. */
export function missing(file: string): DatabaseNotOpened {
  return new DatabaseNotOpened(
    `There is no database ${resolve(file)}; run this in the folder of the service, or name its database with DATABASE_URL or --database-url`,
  );
}

/** Refuses to begin anew where a database was: its log, or what a restore moved aside, is still there. */
export function assertNothingLeft(file: string): void {
  const [moved] = movedAside(file);
  if (moved === undefined) {
    lookForDamage(file);
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
