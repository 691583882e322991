import assert from 'node:assert/strict';
import { chmodSync, copyFileSync, existsSync, linkSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { realPath } from '../../stdx/real-path.ts';
import { DatabaseNotOpened } from '../engine.ts';
import { refusal } from '../migrate.ts';
import { claimFile, isClaimed } from './claim.ts';
import { appliedIn, countRows } from './contents.ts';
import { isSound, movedAside, openChecked, openSound, openToRead, restoringFile } from './database-file.ts';
import { DatabaseDamaged, failureOf } from './failure.ts';
import { createPrivately, hasLog, isThere, PRIVATE_FILE_MODE, putInPlace, syncToDisk } from './files.ts';
import { checkPages } from './page-check.ts';

/** The time that a restore waits for commands that read the database. */
const COMMANDS_WAIT_MS = 1_000;

/**
 * Copies an existing database, beside its service, into one file in rollback-journal form: reading that changes
 * nothing, and nothing beside it belongs to it. Checks every page of the copy. Replaces `to` only with `force`. Throws
 * `DatabaseNotOpened`.
 */
export function backUp(file: string, to: string, { force }: { force: boolean }): void {
  assertApart(to, file);
  if (!force && existsSync(to)) {
    throw new DatabaseNotOpened(`${to} is there already; name another file, or add --force to replace it`);
  }
  if (!existsSync(dirname(to)))
    throw new DatabaseNotOpened(`There is no folder ${dirname(to)} for the backup; make it`);
  const target = realPath(to);
  if (hasLog(target)) {
    throw new DatabaseNotOpened(
      `${to} is a database with a log, ${to}-wal, that would change the backup; name another file`,
    );
  }
  const unfinished = `${target}.unfinished`;
  try {
    using source = openToRead(file);
    appliedIn(source, file);
    copySound(unfinished, source, file);
    // Damage in the copy is that of the database.
    openSound(unfinished, { name: file }).close();
    putInPlace(unfinished, target);
  } catch (error) {
    discard(unfinished);
    if (error instanceof DatabaseNotOpened) throw error;
    throw new DatabaseNotOpened(`Cannot back ${file} up to ${to}: ${failureOf(to, error)}`, { cause: error });
  }
}

/**
 * Replaces a database that no service uses with a backup, and keeps the old one; returns the name of that, if there was
 * one. The new file is checked, compared with the backup, and on the disk before anything else changes. A sound old one
 * is then replaced at once, after its log was moved into it. A damaged one is moved aside with its log: interrupted
 * between the two there is no database, and `openToWrite` says how to go on. Throws `DatabaseNotOpened` if a service
 * runs on the database, or the backup is damaged or its tables are refused.
 */
export function restore(from: string, file: string, now: number): string | undefined {
  assertApart(from, file);
  const copied = restoringFile(file);
  // What an interrupted restore left may be all that there is.
  const isCopy = realPath(from) === realPath(copied);
  using source = openBackup(from);
  const refused = refusal(appliedIn(source, from));
  if (refused) throw new DatabaseNotOpened(`The tables of the backup ${from} ${refused.finding}: ${refused.advice}`);
  using _claim = claimFile(file);
  try {
    if (!isCopy) {
      copyTo(copied, source);
      using copy = openSound(copied);
      assert.deepEqual(countRows(copy), countRows(source), 'the copy has other rows');
    }
    syncToDisk(copied);
    syncToDisk(dirname(file));
  } catch (error) {
    if (!isCopy) discard(copied);
    throw new DatabaseNotOpened(`Cannot copy ${from} to ${file}: ${failureOf(file, error)}`, { cause: error });
  }
  try {
    const kept = isSound(file) ? keepOld(file, now) : moveAside(file, now);
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

function openBackup(from: string): DatabaseSync {
  if (!isThere(from)) throw new DatabaseNotOpened(`There is no backup ${from}`);
  if (isClaimed(realPath(from)))
    throw new DatabaseNotOpened(`A service runs on ${from}: copy it with \`pet-catalog backup\`, and restore that`);
  try {
    return openSound(realPath(from), { name: from });
  } catch (error) {
    if (!(error instanceof DatabaseDamaged)) throw error;
    throw new DatabaseNotOpened(`The backup ${from} is damaged: ${error.damage}; restore another one`);
  }
}

/**
 * Makes a private copy of one moment, whatever the mode of the source. The backup interface of SQLite would begin anew
 * at each commit of another process, without an end beside a busy service.
 */
function copyTo(file: string, source: DatabaseSync): void {
  discard(file);
  createPrivately(file);
  source.prepare('VACUUM INTO ?').run(file);
}

/** The same of a database that is not known to be sound: SQLite takes some damage for a full disk. */
function copySound(file: string, source: DatabaseSync, name: string): void {
  try {
    copyTo(file, source);
  } catch (error) {
    const damage = checkPages(source);
    throw damage === undefined ? error : new DatabaseDamaged(name, damage);
  }
}

/** Removes a copy, and the journal that SQLite leaves beside one for which the disk is too full. */
function discard(copy: string): void {
  for (const part of ['', '-journal']) rmSync(copy + part, { force: true });
}

/** Moves the log of a sound database into it, and gives it a second name, which it keeps when it is replaced. */
function keepOld(file: string, now: number): string {
  {
    using database = openChecked(file, COMMANDS_WAIT_MS);
    const [moved] = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all();
    if (moved?.busy !== 0) throw inUse(file);
  }
  if (hasLog(file)) throw inUse(file);
  for (const part of ['-wal', '-shm']) rmSync(file + part, { force: true });
  chmodSync(file, PRIVATE_FILE_MODE);
  const kept = freeName(file, now);
  try {
    linkSync(file, kept);
  } catch {
    // A file system without hard links.
    copyFileSync(file, kept);
    syncToDisk(kept);
  }
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
