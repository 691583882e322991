import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { DatabaseNotOpened } from '../engine.ts';
import { PRIVATE_FOLDER_MODE } from './engine.ts';
import { findWalDamage } from './wal.ts';

const SQLITE_BUSY = 5;
const IN_MEMORY = ':memory:';

/**
 * Claims a database file for one service, until disposed of or until the process ends in whatever way, and makes sure
 * that it is sound. The claim is a lock on a file beside it, held by SQLite itself, so that a crash leaves nothing
 * behind; commands that run beside the service do not need it. Throws `DatabaseNotOpened`.
 */
export function claimFile(file: string): Disposable {
  if (file === IN_MEMORY) return { [Symbol.dispose]() {} };
  const claim = lock(file);
  try {
    assertSound(file);
  } catch (error) {
    claim.close();
    throw error;
  }
  return { [Symbol.dispose]: () => claim.close() };
}

/** Copies the database, complete, while it is in use, and makes sure that the copy is sound. Replaces `to`. */
export async function backUp(file: string, to: string): Promise<void> {
  if (!existsSync(file)) throw new DatabaseNotOpened(`There is no database ${file}`);
  assertApart(to, file);
  const unfinished = `${to}.unfinished`;
  rmSync(unfinished, { force: true });
  const source = new DatabaseSync(file, { readOnly: true });
  try {
    await backup(source, unfinished);
  } finally {
    source.close();
  }
  assertSound(unfinished);
  putInPlace(unfinished, to);
}

/**
 * Puts a backup in the place of a database that no service uses. What was there is kept beside it, under the name that
 * is returned. Throws `DatabaseNotOpened` if a service runs on it, or the backup is damaged.
 */
export function restore(from: string, file: string, now: number): string | undefined {
  if (!existsSync(from)) throw new DatabaseNotOpened(`There is no backup ${from}`);
  assertApart(from, file);
  assertSound(from);
  using _claim = lock(file);
  const unfinished = `${file}.unfinished`;
  copyFileSync(from, unfinished);
  const kept = existsSync(file) ? `${file}.replaced-${now}` : undefined;
  if (kept) {
    for (const part of ['', '-wal', '-shm']) if (existsSync(file + part)) renameSync(file + part, kept + part);
  }
  putInPlace(unfinished, file);
  return kept;
}

/** A backup that is the database itself, or one of the files that belong to it, would destroy it. */
function assertApart(backupFile: string, file: string): void {
  const own = ['', '-wal', '-shm', '.lock'].map((ending) => realPath(file + ending));
  if (!own.includes(realPath(backupFile))) return;
  throw new DatabaseNotOpened(`${backupFile} belongs to the database ${file}; name another file`);
}

function realPath(path: string): string {
  return existsSync(path) ? realpathSync(path) : resolve(path);
}

/** Renames a file that is complete on disk, so that a power cut leaves the old one or the new one. */
function putInPlace(unfinished: string, file: string): void {
  syncToDisk(unfinished);
  renameSync(unfinished, file);
  syncToDisk(dirname(file));
}

function syncToDisk(path: string): void {
  const descriptor = openSync(path, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

function lock(file: string): DatabaseSync {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: PRIVATE_FOLDER_MODE });
    const claim = new DatabaseSync(`${file}.lock`, { timeout: 0 });
    claim.exec('BEGIN EXCLUSIVE');
    return claim;
  } catch (error) {
    const isHeld = (error as { errcode?: number }).errcode === SQLITE_BUSY;
    throw new DatabaseNotOpened(
      isHeld
        ? `Another service runs on the database ${file}: stop it, or set DATABASE_URL to another file`
        : `Cannot use the folder of the database ${file}: ${(error as Error).message}; set DATABASE_URL to a place that can be written`,
      { cause: error },
    );
  }
}

function assertSound(file: string): void {
  if (!existsSync(file)) return;
  const damage = findWalDamage(file) ?? findDamage(file);
  if (!damage) return;
  throw new DatabaseNotOpened(
    `The database ${file} is damaged: ${damage}; put a backup in its place with \`pet-catalog restore BACKUP\``,
  );
}

function findDamage(file: string): string | undefined {
  try {
    using database = new DatabaseSync(file, { timeout: 0 });
    const result = Object.values(database.prepare('PRAGMA quick_check(1)').get() ?? {})[0];
    return result === 'ok'
      ? undefined
      : String(result)
          .replaceAll(/[\s*]+/g, ' ')
          .trim();
  } catch (error) {
    return (error as Error).message;
  }
}
