import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { DatabaseNotOpened } from '../engine.ts';
import { createPrivately, PRIVATE_FILE_MODE } from './connection.ts';
import { failureOf } from './failure.ts';
import {
  assertLogSound,
  assertMountedForWriting,
  assertSound,
  findDamage,
  findDamagedRows,
  hasLog,
} from './soundness.ts';

const SQLITE_BUSY = 5;
const IN_MEMORY = ':memory:';
/** `isClaimed` in another process holds the lock briefly. */
const CLAIM_WAIT_MS = 100;
const COPIED_BYTES_AT_ONCE = 1024 * 1024;

/**
 * Claims a database file for one service until disposed of, and checks its integrity. The claim is SQLite's lock on a
 * file beside the database, which the operating system releases even after a crash. Commands that may run beside the
 * service need no claim. Throws `DatabaseNotOpened`.
 */
export function claimFile(file: string): Disposable {
  if (file === IN_MEMORY) return { [Symbol.dispose]() {} };
  const claim = claimLock(file);
  try {
    assertSound(file);
    emptyLog(file);
  } catch (error) {
    claim.close();
    throw error;
  }
  return { [Symbol.dispose]: () => claim.close() };
}

/** Whether a service holds the claim of a database file. */
export function isClaimed(file: string): boolean {
  const lock = `${file}.lock`;
  if (file === IN_MEMORY || !existsSync(lock)) return false;
  try {
    using asked = new DatabaseSync(lock, { readOnly: true, timeout: 0 });
    asked.prepare('SELECT count(*) FROM sqlite_schema').all();
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    throw new DatabaseNotOpened(`Cannot read ${lock}: ${failureOf(file, error)}`, { cause: error });
  }
}

/**
 * Copies an existing database online and checks the copy's integrity. Replaces `to` only with `force`; a copy with
 * damaged rows goes to `to.damaged` instead. Throws `DatabaseNotOpened`.
 */
export async function backUp(file: string, to: string, { force }: { force: boolean }): Promise<void> {
  assertApart(to, file);
  if (!force && existsSync(to)) {
    throw new DatabaseNotOpened(`${to} is there already; name another file, or add --force to replace it`);
  }
  if (!existsSync(dirname(to)))
    throw new DatabaseNotOpened(`There is no folder ${dirname(to)} for the backup; make it`);
  assertLogSound(file);
  const unfinished = `${to}.unfinished`;
  let damaged: string[];
  try {
    rmSync(unfinished, { force: true });
    createPrivately(unfinished);
    using source = new DatabaseSync(file, { readOnly: true });
    await backup(source, unfinished);
    assertSound(unfinished, file);
    damaged = damagedRowsOf(unfinished);
    putInPlace(unfinished, damaged.length > 0 ? `${to}.damaged` : to);
  } catch (error) {
    rmSync(unfinished, { force: true });
    if (error instanceof DatabaseNotOpened) throw error;
    assertMountedForWriting(file);
    throw new DatabaseNotOpened(`Cannot back ${file} up to ${to}: ${failureOf(to, error)}`, { cause: error });
  }
  if (damaged.length === 0) return;
  throw new DatabaseNotOpened(
    `The database ${file} has damaged rows (${damaged.length}): the copy is ${to}.damaged, and \`pet-catalog doctor\` names them`,
  );
}

function damagedRowsOf(file: string): string[] {
  using database = new DatabaseSync(file);
  return findDamagedRows(database);
}

/**
 * Replaces a database that no service uses with a backup. Renames the old files and returns their new name, if there
 * were any. Throws `DatabaseNotOpened` if a service runs on the database or the backup is damaged.
 */
export function restore(from: string, file: string, now: number): string | undefined {
  if (!existsSync(from)) throw new DatabaseNotOpened(`There is no backup ${from}`);
  assertApart(from, file);
  const damage = findDamage(from);
  if (damage !== undefined) {
    throw new DatabaseNotOpened(`The backup ${from} is damaged: ${damage}; restore another one`);
  }
  using _claim = claimLock(file);
  const unfinished = `${file}.unfinished`;
  try {
    rmSync(unfinished, { force: true });
    copyPrivately(from, unfinished);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw new DatabaseNotOpened(`Cannot copy ${from} to ${file}: ${failureOf(file, error)}`, { cause: error });
  }
  const kept = existsSync(file) ? `${file}.replaced-${now}` : undefined;
  if (kept) {
    for (const part of ['', '-wal', '-shm'].filter((each) => existsSync(file + each))) {
      chmodSync(file + part, PRIVATE_FILE_MODE);
      renameSync(file + part, kept + part);
    }
  }
  putInPlace(unfinished, file);
  return kept;
}

/** Refuses a backup path that is the database itself or one of its files, which it would overwrite. */
function assertApart(backupFile: string, file: string): void {
  const ownFiles = ['', '-wal', '-shm', '.lock'].map((ending) => realPath(file + ending));
  if (!ownFiles.includes(realPath(backupFile))) return;
  throw new DatabaseNotOpened(`${backupFile} belongs to the database ${file}; name another file`);
}

function realPath(path: string): string {
  return existsSync(path) ? realpathSync(path) : resolve(path);
}

/** Copies a file to one of mode 0600. Node's own copy takes over the mode of the source. */
function copyPrivately(from: string, to: string): void {
  createPrivately(to);
  const [source, target] = [openSync(from, 'r'), openSync(to, 'r+')];
  const bytes = Buffer.alloc(COPIED_BYTES_AT_ONCE);
  try {
    for (let read = readSync(source, bytes); read > 0; read = readSync(source, bytes)) {
      for (let written = 0; written < read; ) written += writeSync(target, bytes, written, read - written);
    }
  } finally {
    closeSync(source);
    closeSync(target);
  }
}

/** Syncs a file and renames it into place, so that a power cut leaves either the old file or the new one. */
export function putInPlace(unfinished: string, file: string): void {
  syncToDisk(unfinished);
  renameSync(unfinished, file);
  syncToDisk(dirname(file));
}

function syncToDisk(path: string): void {
  const descriptor = openSync(path, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

/**
 * Moves a sound log into the file. Frames that an earlier process could not sync may exist only in the system's cache,
 * and later ones would be lost with them; frames torn by a crash must not stay behind new ones.
 */
export function emptyLog(file: string): void {
  if (!hasLog(file)) return;
  try {
    using database = new DatabaseSync(file, { timeout: 0 });
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch {
    // A read-only file is served for reading; any other error shows again when the file is opened.
  }
}

/** Keeps services away from a database file until closed. Throws `DatabaseNotOpened` if one runs on it. */
export function claimLock(file: string): DatabaseSync {
  assertMountedForWriting(file);
  try {
    createPrivately(`${file}.lock`);
    const claim = new DatabaseSync(`${file}.lock`, { timeout: CLAIM_WAIT_MS });
    claim.exec('BEGIN EXCLUSIVE');
    return claim;
  } catch (error) {
    throw new DatabaseNotOpened(
      isBusy(error)
        ? `Another service runs on the database ${file}: stop it, or set DATABASE_URL to another file`
        : `Cannot use the folder of the database ${file}: ${failureOf(file, error)}, or set DATABASE_URL to a writable place`,
      { cause: error },
    );
  }
}

function isBusy(error: unknown): boolean {
  return (error as { errcode?: number }).errcode === SQLITE_BUSY;
}
