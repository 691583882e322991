import assert from 'node:assert/strict';
import { chmodSync, copyFileSync, existsSync, linkSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import sql from 'sql-template-tag';
import type { Operator } from '../../catalog/audit.ts';
import { realPath } from '../../stdx/real-path.ts';
import type { Time } from '../../stdx/time.ts';
import { setProperty, takeAccess, validIn } from '../access.ts';
import { DatabaseNotOpened, type Transaction } from '../engine.ts';
import { refusal } from '../migrate.ts';
import { SqlStorage } from '../sql/storage.ts';
import { claimFile, isClaimed } from './claim.ts';
import { appliedIn, countRows, propertyOf } from './contents.ts';
import { isSound, movedAside, openChecked, openSound, openToRead, restoringFile } from './database-file.ts';
import { openSqlite } from './engine.ts';
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
export function backUp(file: string, to: string, { force, now }: { force: boolean; now: number }): void {
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
    noteMoment(unfinished, now);
    // Damage in the copy is that of the database.
    openSound(unfinished, { name: file }).close();
    putInPlace(unfinished, target);
  } catch (error) {
    discard(unfinished);
    throw failed(`Cannot back ${file} up to ${to}`, to, error);
  }
}

function failed(what: string, file: string, error: unknown): DatabaseNotOpened {
  if (error instanceof DatabaseNotOpened) return error;
  return new DatabaseNotOpened(`${what}: ${failureOf(file, error)}`, { cause: error });
}

/** Writes into a backup from when it is. Tables of an earlier release have no place for it. */
function noteMoment(backup: string, now: number): void {
  using database = new DatabaseSync(backup);
  if (propertyOf(database, 'id') === undefined) return;
  database.prepare("INSERT OR REPLACE INTO database_properties VALUES ('backed_up_at', ?)").run(`${now}`);
}

interface RestoreOptions {
  /** True if the backup may be of another database. */
  readonly isOther: boolean;
  readonly time: Time;
  readonly by: Operator;
}

export interface Restored {
  /** Where the replaced database is. */
  readonly kept: string | undefined;
  /** The moment of the backup, in Unix seconds, if access is that of the backup, and who then is let in. */
  readonly accessOf: number | undefined;
  readonly valid: readonly Record<'id' | 'name' | 'prefix', string>[];
}

/**
 * Replaces a database that no service uses with a backup, and keeps the old one. Access is taken from the old one if
 * that is sound and the same database. The new file is checked, compared with the backup, and on the disk before
 * anything else changes. A sound old one is then replaced at once, after its log was moved into it. A damaged one is
 * moved aside with its log: interrupted between the two there is no database, and `openToWrite` says how to go on.
 * Throws `DatabaseNotOpened` if a service runs on the database, or the backup is damaged, of a later release or, unless
 * `isOther`, of another database.
 */
export async function restore(from: string, file: string, options: RestoreOptions): Promise<Restored> {
  assertApart(from, file);
  const copied = restoringFile(file);
  // What an interrupted restore left may be all that there is.
  const isCopy = realPath(from) === realPath(copied);
  const { unix: now } = options.time.now();
  using source = openBackup(from);
  const refused = refusal(appliedIn(source, from));
  if (refused) throw new DatabaseNotOpened(`The tables of the backup ${from} ${refused.finding}: ${refused.advice}`);
  using _claim = claimFile(file);
  const isKept = isSound(file);
  const isSame = isKept && isSameDatabase(file, source, { from, ...options });
  const isReplaced = ['', '-wal'].some((part) => existsSync(file + part)) || movedAside(file).length > 0;
  const madeAt = propertyOf(source, 'backed_up_at') ?? statSync(from).mtimeMs / 1_000;
  const accessOf = isSame ? undefined : Math.floor(Number(madeAt));
  let valid: Restored['valid'];
  try {
    if (!isCopy) {
      copyTo(copied, source);
      using copy = openSound(copied);
      assert.deepEqual(countRows(copy), countRows(source), 'the copy has other rows');
    }
    source.close();
    using replaced = isSame ? openToRead(file) : undefined;
    valid = await prepare(copied, { ...options, backup: basename(from) }, async (trx) => {
      if (replaced) await takeAccess(trx, replaced);
      else if (isReplaced) await setProperty(trx, 'access_unchecked', `${accessOf}`);
    });
    syncToDisk(copied);
    syncToDisk(dirname(file));
  } catch (error) {
    if (!isCopy) discard(copied);
    throw failed(`Cannot copy ${from} to ${file}`, file, error);
  }
  try {
    const kept = isKept ? keepOld(file, now) : moveAside(file, now);
    putInPlace(copied, file);
    return { kept, accessOf, valid };
  } catch (error) {
    if (!isCopy && isThere(file)) discard(copied);
    throw failed(`Cannot restore ${file}`, file, error);
  }
}

/**
 * True if the database that is replaced is that of the backup, by its id or, where the backup has none, by every key of
 * the backup, and this release reads its tables. Throws `DatabaseNotOpened` if it is another one, unless `isOther`.
 */
function isSameDatabase(file: string, source: DatabaseSync, { from, isOther }: { from: string; isOther: boolean }) {
  if (isOther) return false;
  using replaced = openToRead(file);
  const [own, id] = [propertyOf(replaced, 'id'), propertyOf(source, 'id')];
  if (own !== undefined && id !== undefined && own !== id) {
    throw new DatabaseNotOpened(
      `The backup ${from} is of another database (${id}; ${file} is ${own}): add --other-database to put it, and its keys, in the place of ${file}`,
    );
  }
  if (Object.keys(countRows(replaced)).length === 0 || refusal(appliedIn(replaced, file))) return false;
  if (id !== undefined) return own === id;
  const [known, ids] = [replaced, source].map((each) => each.prepare('SELECT id FROM api_keys').all());
  const isKnown = new Set(known?.map(({ id }) => id));
  return ids?.every(({ id }) => isKnown.has(id)) === true;
}

/**
 * Brings the tables of a copy up to date, ends its sessions and login links, has its access set, and notes the restore.
 * Returns who is let in.
 */
async function prepare(
  copied: string,
  { time, by, backup }: Omit<RestoreOptions, 'isOther'> & { backup: string },
  setAccess: (trx: Transaction) => Promise<void>,
): Promise<Restored['valid']> {
  const engine = await openSqlite(copied, 'migrate');
  await using storage = new SqlStorage(engine, { time, categoriesMax: 0, categoriesBytesMax: 0 });
  await storage.transactions.transact(async (trx) => {
    await trx.run(sql`delete from console_sessions`);
    await trx.run(sql`delete from console_logins`);
    await trx.run(sql`delete from database_properties where name = 'backed_up_at'`);
    await setAccess(trx);
  });
  const { unix: now } = time.now();
  await storage.audit.addEvent({ at: now, event: 'database_restored', members: { backup } }, by);
  // Without a log, as a backup is: reading it then leaves nothing beside it.
  await engine.db.all(sql`pragma journal_mode = delete`);
  return await validIn(engine.db, now);
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

/** Removes a copy, and what SQLite leaves beside one that was not finished. */
function discard(copy: string): void {
  for (const part of ['', '-journal', '-wal', '-shm']) rmSync(copy + part, { force: true });
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
