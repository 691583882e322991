import { closeSync, existsSync, fchmodSync, mkdirSync, openSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { DatabaseNotOpened } from '../engine.ts';
import { failureOf } from './failure.ts';
import { assertLogSound, findReadOnlyMount } from './soundness.ts';

/** Earlier releases can corrupt a WAL under two writers (sqlite.org/wal.html, "WAL-reset bug"). */
const SQLITE_VERSION_MIN = [3, 51, 3] as const;
/** Only the user that runs the service may read its data. */
export const PRIVATE_FILE_MODE = 0o600;
const PRIVATE_FOLDER_MODE = 0o700;
export const IN_MEMORY = ':memory:';
/** How long opening waits for other processes that open or create the same file. */
const OPEN_TIMEOUT_MS = 5_000;
const STATEMENTS_MAX = 100;
const REOPEN_INTERVAL_MS = 1_000;
/** SQLITE_IOERR_FSYNC (sqlite.org/rescode.html). */
const FSYNC_FAILED = 1034;

/** Each pragma, with the value that it must read back as. */
const PRAGMAS: readonly (readonly [name: string, value: string, readBack: string | number])[] = [
  // Readers and the writer do not block each other, and a commit is one sequential write.
  ['journal_mode', 'WAL', 'wal'],
  // A commit returns after its fsync; with NORMAL a power cut could lose the last commits.
  ['synchronous', 'FULL', 2],
  ['foreign_keys', 'ON', 1],
];

/** A statement that is compiled once. Running it throws `LogNotSynced`, or SQLite's error. */
export interface PreparedStatement {
  all(values: readonly unknown[]): unknown[];
  /** Returns how many rows it inserted, changed or deleted. */
  run(values: readonly unknown[]): number;
  iterate(values: readonly unknown[]): Iterable<unknown>;
}

/** A sync of the log failed: whether the transaction is on the disk is not known. */
export class LogNotSynced extends Error {}
/** Nothing is written because an earlier sync of the log failed. */
export class WritesSuspended extends Error {}

/**
 * This process's connection to a database file. After a sync of the log that failed it writes nothing more: what the
 * disk holds is not known, and the system may report the next sync as done without having written what the failed one
 * left. Once a second it tries to move the log into the file and to sync that; then it opens the file anew, checks it
 * and writes again. Until then the log stays as it is.
 */
export class SqliteConnection {
  readonly #file: string;
  #database: DatabaseSync;
  #timeoutMs = OPEN_TIMEOUT_MS;
  #statements = new Map<string, PreparedStatement>();
  #reopening: NodeJS.Timeout | undefined;
  #opened = 1;

  /** Opens, or creates, the file with the pragmas verified. Throws `DatabaseNotOpened`. */
  constructor(file: string) {
    this.#file = file;
    try {
      if (file !== IN_MEMORY) {
        assertLogSound(file);
        createPrivately(file);
      }
      this.#database = openDatabase(file, this.#timeoutMs);
    } catch (error) {
      throw notOpened(file, error);
    }
  }

  /** How many times the file was opened. */
  get opened(): number {
    return this.#opened;
  }

  get isTransaction(): boolean {
    return this.#database.isTransaction;
  }

  /** From now on `Transactions` waits for locks by retrying: SQLite's own wait would block the event loop. */
  waitNoMore(): void {
    this.#timeoutMs = 0;
    this.#database.exec('PRAGMA busy_timeout = 0');
  }

  /** Throws `WritesSuspended`. */
  assertWritable(): void {
    if (this.#reopening) throw new WritesSuspended('Nothing is written until the log can be synced again');
  }

  /** A statement, cached while it is used often. */
  prepare(sql: string): PreparedStatement {
    const known = this.#statements.get(sql);
    if (known) return known;
    const prepared = this.#database.prepare(sql);
    const statement: PreparedStatement = {
      all: (values) => {
        try {
          return prepared.all(...(values as SQLInputValue[]));
        } catch (error) {
          throw this.#failed(error);
        }
      },
      run: (values) => {
        try {
          return Number(prepared.run(...(values as SQLInputValue[])).changes);
        } catch (error) {
          throw this.#failed(error);
        }
      },
      iterate: (values) => prepared.iterate(...(values as SQLInputValue[])),
    };
    for (const oldest of this.#statements.keys()) {
      if (this.#statements.size < STATEMENTS_MAX) break;
      this.#statements.delete(oldest);
    }
    this.#statements.set(sql, statement);
    return statement;
  }

  close(): void {
    clearTimeout(this.#reopening);
    this.#database.close();
  }

  #failed(error: unknown): unknown {
    if ((error as { errcode?: number }).errcode !== FSYNC_FAILED) return error;
    this.#reopenLater();
    return new LogNotSynced('The log of the database could not be synced to the disk', { cause: error });
  }

  #reopenLater(): void {
    clearTimeout(this.#reopening);
    this.#reopening = setTimeout(() => this.#reopen(), REOPEN_INTERVAL_MS).unref();
  }

  #reopen(): void {
    let fresh: DatabaseSync | undefined;
    try {
      assertLogSound(this.#file);
      // What was acknowledged is in the file then, written anew, and the log with what the failed sync left is empty.
      const [moved] = this.#database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all();
      if (moved?.busy !== 0) throw new Error('another process reads the log');
      fresh = openDatabase(this.#file, this.#timeoutMs);
      const damage = Object.values(fresh.prepare('PRAGMA quick_check(1)').get() ?? {})[0];
      if (damage !== 'ok') throw new Error(`the database is damaged: ${damage}`);
      this.#database.close();
    } catch {
      if (fresh?.isOpen) fresh.close();
      this.#reopenLater();
      return;
    }
    this.#database = fresh;
    this.#opened += 1;
    this.#statements = new Map();
    this.#reopening = undefined;
  }
}

/** Says why a file could not be opened. */
export function notOpened(file: string, error: unknown): DatabaseNotOpened {
  if (error instanceof DatabaseNotOpened) return error;
  const mount = findReadOnlyMount(file);
  const why = mount
    ? `${mount.finding}: ${mount.advice}`
    : `Cannot open the database ${file}: ${failureOf(file, error)}`;
  return new DatabaseNotOpened(why, { cause: error });
}

/**
 * Makes an empty file with mode 0600 whatever the umask, and the folders above it with 0700, unless the file is there.
 * SQLite gives the log and the index of a database the mode of the database. Throws what the system says.
 */
export function createPrivately(file: string): void {
  if (existsSync(file)) return;
  // Throws if the working folder was deleted; with `recursive`, mkdir would never return then.
  realpathSync.native('.');
  mkdirSync(dirname(file), { recursive: true, mode: PRIVATE_FOLDER_MODE });
  const descriptor = openSync(file, 'a', PRIVATE_FILE_MODE);
  fchmodSync(descriptor, PRIVATE_FILE_MODE);
  closeSync(descriptor);
}

function openDatabase(file: string, timeout: number): DatabaseSync {
  const database = new DatabaseSync(file, { timeout });
  try {
    assertVersion(database);
    for (const [name, value, readBack] of PRAGMAS) {
      database.exec(`PRAGMA ${name} = ${value}`);
      const found = Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];
      if (found !== readBack && file !== IN_MEMORY) throw new Error(`PRAGMA ${name} is ${found}, not ${readBack}`);
    }
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function assertVersion(database: DatabaseSync): void {
  const { version } = database.prepare('SELECT sqlite_version() AS version').get() as { version: string };
  const found = version.split('.').map(Number);
  for (const [index, wanted] of SQLITE_VERSION_MIN.entries()) {
    const part = found[index] ?? 0;
    if (part > wanted) return;
    if (part < wanted) throw new Error(`SQLite is ${version}; ${SQLITE_VERSION_MIN.join('.')} or later is needed`);
  }
}
