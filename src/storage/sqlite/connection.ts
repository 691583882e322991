import { open } from 'node:fs/promises';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { type Database, DatabaseNotOpened, type Statement, type Transaction, type TransactionKind } from '../engine.ts';
import { DatabaseDamaged, isDamage } from './failure.ts';
import { IN_MEMORY } from './files.ts';
import { Integrity } from './integrity.ts';
import { Place } from './place.ts';

const STATEMENTS_MAX = 100;
/** SQLITE_IOERR_FSYNC (sqlite.org/rescode.html). */
const FSYNC_FAILED = 1034;
/** As many as SQLite itself lets the log have, where it checkpoints by itself. */
const CHECKPOINT_FRAMES = 1_000;
/** Commits from one look at the index to the next: it costs a tenth of a lone create. */
const LOOKED_EVERY = 16;

/** A statement that is compiled once. Running it throws `LogNotSynced`, `DatabaseDamaged`, or SQLite's error. */
export interface PreparedStatement {
  all(values: readonly unknown[]): unknown[];
  /** Returns how many rows it inserted, changed or deleted. */
  run(values: readonly unknown[]): number;
  iterate(values: readonly unknown[]): Iterable<unknown>;
}

/** A sync of the log failed: whether the transaction is on the disk is not known. */
export class LogNotSynced extends DatabaseNotOpened {}
/** Nothing is written any more, because the file is damaged, was removed or replaced, or could not be synced. */
export class WritesSuspended extends Error {}
/** The file was removed or replaced before a commit was done: the next start would not find it. */
export class CommitLost extends Error {}

/**
 * This process's connection to a database file. After a sync of the log that failed it writes nothing more: the system
 * may report the next sync as done without having written what the failed one left. The process has to end; the next
 * start reads what the disk holds.
 */
export class SqliteConnection {
  readonly file: string;
  readonly isWritable: boolean;
  readonly #database: DatabaseSync;
  /** True for a service, which holds the lock beside the file. */
  readonly #isService: boolean;
  readonly #goneMessage: string;
  readonly #place: Place | undefined;
  readonly #integrity?: Integrity;
  readonly #statements = new Map<string, PreparedStatement>();
  readonly #failure = Promise.withResolvers<LogNotSynced>();
  /** The frames in the log at the last look. */
  #frames = 0;
  #commits = 0;
  /** Why nothing is written any more. */
  #suspended: string | undefined;

  constructor(file: string, database: DatabaseSync, { isWritable = true, isService = false } = {}) {
    this.file = file;
    this.isWritable = isWritable;
    this.#database = database;
    this.#isService = isService;
    this.#goneMessage = `The database ${file}, its log or its lock was removed or replaced while the service runs: stop the service, then put the file back or restore a backup`;
    this.#place = isWritable && file !== IN_MEMORY ? new Place(file, { hasLock: isService }) : undefined;
    // A command is done soon, and leaves checkpoints to SQLite.
    if (!isService || !this.#place) return;
    this.#integrity = new Integrity(file);
    database.exec('PRAGMA wal_autocheckpoint = 0');
  }

  /** Fulfilled when this process has to end. */
  get failed(): Promise<LogNotSynced> {
    return this.#failure.promise;
  }

  get isTransaction(): boolean {
    return this.#database.isTransaction;
  }

  /** From now on `Transactions` waits for locks by retrying: SQLite's own wait would block the event loop. */
  waitNoMore(): void {
    this.#database.exec('PRAGMA busy_timeout = 0');
  }

  /** Throws `WritesSuspended` if a commit would be lost; `byEach`: by a look at each file. */
  assertWritable(byEach = false): void {
    if (this.#suspended !== undefined) throw new WritesSuspended(this.#suspended);
    if (this.#place?.isKept(byEach) === false) throw new WritesSuspended(this.#goneMessage);
    const isWhole = byEach ? this.#integrity?.look() : this.#integrity?.isWhole;
    if (isWhole !== false) return;
    const message = `The database ${this.file} or its log was cut or overwritten while the service runs: stop the service, then restore a backup`;
    throw new WritesSuspended(message);
  }

  /** Throws `CommitLost` if what was just committed went to a file that is no longer in its place. */
  assertKept(): void {
    if (this.#place?.isKept() === false) throw new CommitLost(this.#goneMessage);
  }

  /** From now on nothing is written, because damage was found. Returns the error that says so. */
  suspend(damage: string): Error {
    const error = new DatabaseDamaged(this.file, damage);
    this.#suspended ??= error.message;
    // A command ends with it; a service answers that it is unavailable, and serves what can be read.
    return this.#isService ? new WritesSuspended(error.message) : error;
  }

  /** The error that a failed sync of the log makes, with which this process has to end. */
  failSync(cause: unknown): LogNotSynced {
    const message = `The log of the database ${this.file} could not be synced to the disk: the last writes may or may not be stored; see dmesg, and move the database to another disk`;
    this.#suspended ??= message;
    const error = new LogNotSynced(message, { cause });
    this.#failure.resolve(error);
    return error;
  }

  /** A statement, cached while it is used often. */
  prepare(sql: string): PreparedStatement {
    const known = this.#statements.get(sql);
    if (known) return known;
    const prepared = this.#database.prepare(sql);
    const statement: PreparedStatement = {
      all: (values) => this.#attempt(() => prepared.all(...(values as SQLInputValue[]))),
      run: (values) => this.#attempt(() => Number(prepared.run(...(values as SQLInputValue[])).changes)),
      iterate: (values) => prepared.iterate(...(values as SQLInputValue[])),
    };
    for (const oldest of this.#statements.keys()) {
      if (this.#statements.size < STATEMENTS_MAX) break;
      this.#statements.delete(oldest);
    }
    this.#statements.set(sql, statement);
    return statement;
  }

  /** Sets whether commits sync the log. Not a prepared statement: this pragma acts when it is compiled. */
  syncCommits(on: boolean): void {
    this.#database.exec(`PRAGMA synchronous = ${on ? 'FULL' : 'NORMAL'}`);
  }

  /** Leaves file and log as they are if they were overwritten: a close would fold one into the other. */
  close(): void {
    if (this.#integrity?.mayCheckpoint() === false) return;
    this.#integrity?.[Symbol.dispose]();
    this.#database.close();
  }

  /**
   * Moves a long log into the file, as SQLite would with each commit if it were not told otherwise, but not if one of
   * them was overwritten. Looks before and after, and when the log begins, since what a checkpoint does to the file
   * looks like any other change.
   */
  checkpointIfLong(): void {
    this.#commits += 1;
    if (!this.#integrity || (this.#frames > 0 && this.#commits % LOOKED_EVERY > 0)) return;
    const { frames = 0, moved = 0 } = this.#integrity.index() ?? {};
    if (this.#frames === 0 || frames < this.#frames) this.#integrity.look();
    this.#frames = frames;
    if (frames < CHECKPOINT_FRAMES || moved === frames || !this.#integrity.mayCheckpoint()) return;
    try {
      this.prepare('PRAGMA wal_checkpoint(PASSIVE)').all([]);
    } catch {
      // On a full disk the log stays as it is.
    }
    this.#integrity.look();
  }

  #attempt<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if ((error as { errcode?: number }).errcode === FSYNC_FAILED) throw this.failSync(error);
      throw isDamage(error) ? this.suspend((error as Error).message) : error;
    }
  }
}

/** One connection to a file: a transaction has it to itself from its begin to its end, and everything else waits. */
export class SqliteDatabase implements Database {
  readonly #connection: SqliteConnection;
  readonly #inTransaction: Transaction = {
    isTransaction: true,
    all: async <Row>({ sql, values }: Statement) => this.#connection.prepare(sql).all(values) as Row[],
    run: async ({ sql, values }) => this.#connection.prepare(sql).run(values),
  };
  /** Fulfilled when the transaction under way has ended. */
  #underWay: Promise<void> | undefined;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
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
  async transaction<T>(work: (trx: Transaction) => Promise<T>, kind?: TransactionKind): Promise<T> {
    while (this.#underWay) await this.#underWay;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#underWay = promise;
    try {
      const { isWritable } = this.#connection;
      if (kind === 'unsynced') this.#connection.syncCommits(false);
      if (isWritable) this.#connection.assertWritable();
      this.#connection.prepare(isWritable ? 'begin immediate' : 'begin').run([]);
      const result = await work(this.#inTransaction);
      this.#connection.prepare('commit').run([]);
      this.#connection.assertKept();
      this.#connection.checkpointIfLong();
      return result;
    } catch (error) {
      // On a full disk SQLite has rolled back already; a second rollback would fail and hide the cause.
      if (this.#connection.isTransaction) this.#connection.prepare('rollback').run([]);
      throw error;
    } finally {
      this.#underWay = undefined;
      resolve();
      if (kind === 'unsynced') this.#connection.syncCommits(true);
    }
  }

  async sync(): Promise<void> {
    const { file } = this.#connection;
    if (file === IN_MEMORY) return;
    // Without a descriptor to spare, the next commit syncs it.
    await using log = await open(`${file}-wal`, 'r+').catch(() => undefined);
    await log?.datasync().catch((error) => {
      throw this.#connection.failSync(error);
    });
  }

  async close(): Promise<void> {
    this.#connection.close();
  }
}
