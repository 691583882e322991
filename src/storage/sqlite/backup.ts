import { chmodSync, existsSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { backup, type DatabaseSync } from 'node:sqlite';
import { realPath } from '../../stdx/real-path.ts';
import { DatabaseNotOpened } from '../engine.ts';
import { releaseNeeded } from '../migrate.ts';
import { claimFile } from './claim.ts';
import { appliedIn, findDamagedRows } from './contents.ts';
import { DatabaseDamaged, failureOf } from './failure.ts';
import { createPrivately, hasLog, isThere, PRIVATE_FILE_MODE, putInPlace, syncToDisk } from './files.ts';
import { findDamage, openToRead } from './open-to-read.ts';
import { movedAside, openChecked, restoringFile } from './open-to-write.ts';

/** The time that a restore waits for commands that read the database. */
const COMMANDS_WAIT_MS = 1_000;

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
  const target = realPath(to);
  const unfinished = `${target}.unfinished`;
  let damaged: string[];
  try {
    using source = openToRead(file);
    appliedIn(source.database, file);
    await copyTo(unfinished, source.database);
    using copy = openToRead(unfinished, { name: file });
    damaged = findDamagedRows(copy.database);
    putInPlace(unfinished, damaged.length > 0 ? `${target}.damaged` : target);
  } catch (error) {
    discard(unfinished);
    if (error instanceof DatabaseNotOpened) throw error;
    throw new DatabaseNotOpened(`Cannot back ${file} up to ${to}: ${failureOf(to, error)}`, { cause: error });
  }
  if (damaged.length === 0) return;
  throw new DatabaseNotOpened(
    `The database ${file} has damaged rows (${damaged.length}): the copy is ${to}.damaged, and \`pet-catalog doctor\` names them`,
  );
}

/**
 * Replaces a database that no service uses with a backup, and keeps the old one; returns the name of that, if there was
 * one. The new file is on the disk before anything else changes. A sound old one is then replaced at once, after its
 * log was moved into it. A damaged one is moved aside with its log: interrupted between the two there is no database,
 * and `openToWrite` says how to go on. Throws `DatabaseNotOpened` if a service runs on the database, or the backup is
 * damaged or of a later release.
 */
export async function restore(from: string, file: string, now: number): Promise<string | undefined> {
  assertApart(from, file);
  const copied = restoringFile(file);
  // What an interrupted restore left may be all that there is.
  const isCopy = realPath(from) === realPath(copied);
  using source = openBackup(from);
  const needed = releaseNeeded(appliedIn(source.database, from));
  if (needed)
    throw new DatabaseNotOpened(`The backup ${from} needs ${needed} or later: install that, or restore another`);
  using _claim = claimFile(file);
  try {
    if (!isCopy) await copyTo(copied, source.database);
    syncToDisk(copied);
    syncToDisk(dirname(file));
  } catch (error) {
    if (!isCopy) discard(copied);
    throw new DatabaseNotOpened(`Cannot copy ${from} to ${file}: ${failureOf(file, error)}`, { cause: error });
  }
  try {
    // Under the claim no service has the old one open.
    const isSound = isThere(file) && findDamage(file, { isAtRest: true }) === undefined;
    const kept = isSound ? await keepCopy(file, now) : moveAside(file, now);
    putInPlace(copied, file);
    return kept;
  } catch (error) {
    if (!isCopy && isThere(file)) discard(copied);
    if (error instanceof DatabaseNotOpened) throw error;
    throw new DatabaseNotOpened(`Cannot restore ${file}: ${failureOf(file, error)}`, { cause: error });
  }
}

/** Refuses a backup path that is the database itself or one of its files, which it would overwrite. */
function assertApart(backupFile: string, file: string): void {
  const ownFiles = ['', '-wal', '-shm', '.lock'].map((ending) => realPath(file + ending));
  if (!ownFiles.includes(realPath(backupFile))) return;
  throw new DatabaseNotOpened(`${backupFile} belongs to the database ${file}; name another file`);
}

function openBackup(from: string) {
  if (!isThere(from)) throw new DatabaseNotOpened(`There is no backup ${from}`);
  try {
    return openToRead(realPath(from), { name: from });
  } catch (error) {
    if (!(error instanceof DatabaseDamaged)) throw error;
    throw new DatabaseNotOpened(`The backup ${from} is damaged: ${error.damage}; restore another one`);
  }
}

/** Makes a private copy, whatever the mode of the source. */
async function copyTo(file: string, source: DatabaseSync): Promise<void> {
  discard(file);
  createPrivately(file);
  await backup(source, file);
}

/** Removes a copy, and the journal that SQLite leaves beside one for which the disk is too full. */
function discard(copy: string): void {
  for (const part of ['', '-journal']) rmSync(copy + part, { force: true });
}

/** Moves the log of a sound database into it, and copies it. */
async function keepCopy(file: string, now: number): Promise<string> {
  using database = openChecked(file, COMMANDS_WAIT_MS);
  const [moved] = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all();
  if (moved?.busy !== 0) throw inUse(file);
  const kept = freeName(file, now);
  const unfinished = `${file}.keeping`;
  try {
    await copyTo(unfinished, database);
    putInPlace(unfinished, kept);
  } catch (error) {
    discard(unfinished);
    throw error;
  }
  database.close();
  if (hasLog(file)) throw inUse(file);
  for (const part of ['-wal', '-shm']) rmSync(file + part, { force: true });
  return kept;
}

function inUse(file: string): DatabaseNotOpened {
  return new DatabaseNotOpened(`Another command uses the database ${file}: wait for its end`);
}

/**
 * Moves what is damaged aside, the file before its log: without the log it might look sound. A log that an interrupted
 * restore left goes to the file that it moved.
 */
function moveAside(file: string, now: number): string | undefined {
  const parts = ['', '-wal', '-shm'].filter((part) => existsSync(file + part));
  if (parts.length === 0) return undefined;
  const begun = parts.includes('') ? undefined : movedAside(file).find((moved) => !existsSync(`${moved}-wal`));
  const kept = begun ?? freeName(file, now);
  for (const part of parts) {
    chmodSync(file + part, PRIVATE_FILE_MODE);
    renameSync(file + part, kept + part);
  }
  syncToDisk(dirname(file));
  return kept;
}

function freeName(file: string, now: number): string {
  let moment = now;
  while (existsSync(`${file}.replaced-${moment}`)) moment += 1;
  return `${file}.replaced-${moment}`;
}
