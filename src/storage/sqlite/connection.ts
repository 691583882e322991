import { type Stats, statSync } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import type { Connection, Database, Statement, Transaction } from '../engine.ts';
import { IN_MEMORY } from './files.ts';
import type { Reader } from './open-to-read.ts';
import { openChecked } from './open-to-write.ts';
import { inspectLog } from './wal.ts';

const STATEMENTS_MAX = 100;
const REOPEN_INTERVAL_MS = 1_000;
/** SQLITE_IOERR_FSYNC (sqlite.org/rescode.html). */
const FSYNC_FAILED = 1034;
/** SQLite's own default. */
const AUTOCHECKPOINT_PAGES = 1_000;
/** About what SQLite itself lets the log grow to before a commit checkpoints it. */
const LARGE_BYTES = 4 * 1024 * 1024;

/** A text instead of a file, so that the packed service needs no second entry. */
const CHECKPOINT = `
  const { DatabaseSync } = require('node:sqlite');
  const database = new DatabaseSync(require('node:worker_threads').workerData);
  database.exec('PRAGMA wal_checkpoint(PASSIVE)');
  database.close();
`;

/** A statement that is compiled once. Running it throws `LogNotSynced`, or SQLite's error. */
export interface PreparedStatement {
  all(values: readonly unknown[]): unknown[];
  /** Returns how many rows it inserted, changed or deleted. */
  run(values: readonly unknown[]): number;
  iterate(values: readonly unknown[]): Iterable<unknown>;
}

/** A sync of the log failed: whether the transaction is on the disk is not known. */
export class LogNotSynced extends Error {}
/** Nothing is written because an earlier sync of the log failed, or because the file was removed or replaced. */
export class WritesSuspended extends Error {}
/** The file was removed or replaced before a commit was done: the next start would not find it. */
export class CommitLost extends Error {}

/**
 * This process's connection to a database file. After a sync of the log that failed it writes nothing more: what the
 * disk holds is not known, and the system may report the next sync as done without having written what the failed one
 * left. Once a second it tries to move the log into the file and to sync that; then it opens the file anew, checks it
 * and writes again. Until then the log stays as it is.
 */
export class SqliteConnection {
  readonly #file: string;
  readonly #isWritable: boolean;
  #database: DatabaseSync;
  #timeoutMs: number | undefined;
  #statements = new Map<string, PreparedStatement>();
  #reopening: NodeJS.Timeout | undefined;
  #opened = 1;
  /** The file that was opened, and its log, once that was seen. */
  #place: Stats | undefined;
  #log: Stats | undefined;

  constructor(file: string, database: DatabaseSync, { isWritable = true } = {}) {
    this.#file = file;
    this.#isWritable = isWritable && file !== IN_MEMORY;
    this.#database = database;
    this.#findPlace();
  }

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

  assertWritable(): void {
    if (this.#reopening) throw new WritesSuspended('Nothing is written until the log can be synced again');
    this.assertInPlace();
  }

  /** Throws `WritesSuspended` if commits would be lost, because the file or its log was removed or replaced. */
  assertInPlace(): void {
    if (!this.#isInPlace()) throw new WritesSuspended(this.#goneMessage());
  }

  /** Throws `CommitLost` if what was just committed went to a file that is no longer in its place. */
  assertKept(): void {
    if (!this.#isInPlace()) throw new CommitLost(this.#goneMessage());
  }

  #isInPlace(): boolean {
    if (!this.#isWritable) return true;
    const log = statSync(`${this.#file}-wal`, { throwIfNoEntry: false });
    this.#log ??= log;
    return isSame(this.#place, statSync(this.#file, { throwIfNoEntry: false })) && isSame(this.#log, log);
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

  #findPlace(): void {
    if (!this.#isWritable) return;
    this.#place = statSync(this.#file, { throwIfNoEntry: false });
    this.#log = undefined;
  }

  #goneMessage(): string {
    return `The file ${this.#file} or its log was removed or replaced while the service runs: stop the service, then put the file back or restore a backup`;
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
      const { damage } = inspectLog(this.#file);
      if (damage !== undefined) throw new Error(damage);
      this.assertInPlace();
      // What was acknowledged is in the file then, written anew, and the log with what the failed sync left is empty.
      const [moved] = this.#database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all();
      if (moved?.busy !== 0) throw new Error('another process reads the log');
      fresh = openChecked(this.#file, this.#timeoutMs);
      const found = Object.values(fresh.prepare('PRAGMA quick_check(1)').get() ?? {})[0];
      if (found !== 'ok') throw new Error(`the database is damaged: ${found}`);
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
    this.#findPlace();
  }
}

function isSame(one: Stats | undefined, other: Stats | undefined): boolean {
  return one !== undefined && one.ino === other?.ino && one.dev === other.dev;
}

/** Statements in a transaction, or beside one on a connection of its own. */
function statementsOn(connection: SqliteConnection): Transaction {
  return {
    isTransaction: true,
    all: async <Row>({ sql, values }: Statement) => connection.prepare(sql).all(values) as Row[],
    run: async ({ sql, values }) => connection.prepare(sql).run(values),
  };
}

/** One connection to a file: a transaction has it to itself from its begin to its end, and everything else waits. */
export class SqliteDatabase implements Database {
  readonly #connection: SqliteConnection;
  readonly #file: string;
  /** The options that the file was opened with if it is only read. */
  readonly #opened: Reader | undefined;
  readonly #inTransaction: Transaction;
  /** Fulfilled when the transaction under way has ended. */
  #underWay: Promise<void> | undefined;
  /** A second connection, opened for the first large transaction: the first one is busy until its end. */
  #second: SqliteConnection | undefined;
  /** The connection for reads beside a large transaction. */
  reader: Connection | undefined;
  #isLarge = false;
  #checkpointing = Promise.resolve();

  constructor(connection: SqliteConnection, { file, reader }: { file: string; reader: Reader | undefined }) {
    this.#connection = connection;
    this.#file = file;
    this.#opened = reader;
    this.#inTransaction = statementsOn(connection);
  }

  async all<Row>(statement: Statement): Promise<Row[]> {
    while (this.#underWay) await this.#underWay;
    return this.#inTransaction.all(statement);
  }

  async run(statement: Statement): Promise<number> {
    while (this.#underWay) await this.#underWay;
    return this.#inTransaction.run(statement);
  }

  /** Takes the write lock when it begins, where a retry is easy, instead of midway. Every one sees a snapshot. */
  async transaction<T>(work: (trx: Transaction) => Promise<T>): Promise<T> {
    while (this.#underWay) await this.#underWay;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#underWay = promise;
    try {
      if (!this.#opened) this.#connection.assertWritable();
      this.#connection.prepare(this.#opened ? 'begin' : 'begin immediate').run([]);
      const result = await work(this.#inTransaction);
      this.#commit();
      return result;
    } catch (error) {
      this.#rollback();
      throw error;
    } finally {
      this.#underWay = undefined;
      resolve();
    }
  }

  startLarge(): void {
    if (this.#file === IN_MEMORY) return;
    if (!this.#second) {
      this.#second = new SqliteConnection(this.#file, openChecked(this.#file));
      this.#second.waitNoMore();
    }
    this.reader = statementsOn(this.#second);
  }

  /** Syncs a large log ahead of the commit, and leaves the checkpoint after it to a thread. */
  async finishLarge(): Promise<void> {
    await this.#checkpointing;
    this.#isLarge = await syncLargeLog(this.#file);
    if (this.#isLarge) this.#checkpointEvery(0);
  }

  async close(): Promise<void> {
    await this.#checkpointing;
    this.#second?.close();
    this.#connection.close();
    this.#opened?.[Symbol.dispose]();
  }

  #commit(): void {
    this.#connection.prepare('commit').run([]);
    this.#connection.assertKept();
    this.reader = undefined;
    if (!this.#isLarge) return;
    this.#isLarge = false;
    this.#checkpointing = checkpointInThread(this.#file).then(() => this.#checkpointEvery(AUTOCHECKPOINT_PAGES));
  }

  /** On a full disk SQLite has rolled back already; a second rollback would fail and hide the cause. */
  #rollback(): void {
    if (this.#isLarge) this.#checkpointEvery(AUTOCHECKPOINT_PAGES);
    this.#isLarge = false;
    this.reader = undefined;
    if (this.#connection.isTransaction) this.#connection.prepare('rollback').run([]);
  }

  #checkpointEvery(pages: number): void {
    this.#connection.prepare(`PRAGMA wal_autocheckpoint = ${pages}`).all([]);
  }
}

/**
 * Writes the log of a database to the disk without holding up the event loop, if it is large, so that the commit that
 * follows has little left to write. Returns whether it is.
 */
async function syncLargeLog(databaseFile: string): Promise<boolean> {
  const file = `${databaseFile}-wal`;
  const { size } = await stat(file).catch(() => ({ size: 0 }));
  if (size < LARGE_BYTES) return false;
  await using log = await open(file, 'r+');
  await log.datasync();
  return true;
}

/** Checkpoints a database in a thread of its own. A failure is left to the next checkpoint. */
function checkpointInThread(databaseFile: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const thread = new Worker(CHECKPOINT, { eval: true, workerData: databaseFile });
  thread.on('error', () => {});
  thread.on('exit', () => resolve());
  return promise;
}
