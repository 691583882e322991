import { open, stat } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import type { Connection, Database, Engine, Failure, Statement, Transaction } from '../engine.ts';
import { migrate, type Purpose } from '../migrate.ts';
import type { Tables } from '../sql/tables.ts';
import { CommitLost, LogNotSynced, SqliteConnection, WritesSuspended } from './connection.ts';
import { hasLog, IN_MEMORY, sizeOf } from './disk.ts';
import { notOpened } from './failure.ts';
import { openToRead, type Reader } from './open-to-read.ts';
import { openChecked, openToWrite } from './open-to-write.ts';

/** SQLite's own default. */
const AUTOCHECKPOINT_PAGES = 1_000;
const READ_AT_ONCE = 1_000;
/** Polling interval; another process's change must be seen within a second. */
const WATCH_INTERVAL_MS = 250;

/** BUSY, LOCKED: primary result codes (sqlite.org/rescode.html). */
const BUSY_CODES = new Set([5, 6]);
const FULL_CODE = 13;
/** READONLY, CANTOPEN, PROTOCOL: nothing was stored. */
const UNAVAILABLE_CODES = new Set([8, 14, 15]);
const IOERR = 10;
/**
 * The I/O errors that come before the last frame of a transaction is whole in the log: READ, SHORT_READ,
 * WRITE, RDLOCK, LOCK. After any other the log may hold it.
 */
const NOTHING_STORED = new Set([266, 522, 778, 2314, 3850]);

/** About what SQLite itself lets the log grow to before a commit checkpoints it. */
const LARGE_BYTES = 4 * 1024 * 1024;

/** A text instead of a file, so that the packed service needs no second entry. */
const CHECKPOINT = `
  const { DatabaseSync } = require('node:sqlite');
  const database = new DatabaseSync(require('node:worker_threads').workerData);
  database.exec('PRAGMA wal_checkpoint(PASSIVE)');
  database.close();
`;

/** Opens a database file for a purpose. Throws `DatabaseNotOpened`. */
export async function openSqlite(file: string, purpose: Purpose = 'migrate'): Promise<Engine> {
  const reader = purpose === 'read' && file !== IN_MEMORY ? openToRead(file) : undefined;
  const database = reader?.database ?? openToWrite(file, purpose);
  const connection = new SqliteConnection(file, database, { isWritable: !reader });
  const db = new SqliteDatabase(connection, { file, reader });
  try {
    if (purpose === 'serve') emptyLog(connection, file);
    await migrate(db, { int64: 'integer', purpose, lock });
  } catch (error) {
    await db.close();
    throw notOpened(file, error);
  }
  connection.waitNoMore();
  return {
    db,
    place: file,
    classify,
    lock,
    startLarge: () => db.startLarge(),
    reader: () => db.reader,
    finishLarge: () => db.finishLarge(),
    // Changes of other processes are found by polling.
    announce: async () => {},
    readAll: (_trx, table) => readAll(connection, table),
    watch: (look) => watch(connection, look),
    size: async () => sizeOf(file),
    assertInPlace: () => connection.assertInPlace(),
  };
}

/**
 * Moves the log that an earlier process left into the file. Frames that it could not sync may exist only in the cache
 * of the system, and later ones would be lost with them; frames torn by a crash must not stay behind new ones.
 */
function emptyLog(connection: SqliteConnection, file: string): void {
  if (!hasLog(file)) return;
  try {
    connection.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all([]);
  } catch {
    // On a full disk the service serves readers; any other error shows again at the first write.
  }
}

/** BEGIN IMMEDIATE has already taken the write lock. */
async function lock(): Promise<void> {}

function classify(error: unknown): Failure | undefined {
  if (error instanceof LogNotSynced || error instanceof CommitLost) return 'unknown';
  if (error instanceof WritesSuspended) return 'unavailable';
  const { errcode } = (error ?? {}) as { errcode?: unknown };
  if (typeof errcode !== 'number') return undefined;
  const code = errcode & 0xff;
  if (BUSY_CODES.has(code)) return 'busy';
  if (code === FULL_CODE) return 'full';
  if (code === IOERR) return NOTHING_STORED.has(errcode) ? 'unavailable' : 'unknown';
  return UNAVAILABLE_CODES.has(code) ? 'unavailable' : undefined;
}

async function* readAll(
  connection: SqliteConnection,
  table: keyof Tables,
): AsyncGenerator<Readonly<Record<string, unknown>>[]> {
  let rows: Readonly<Record<string, unknown>>[] = [];
  for (const row of connection.prepare(`select * from ${table}`).iterate([])) {
    rows.push(row as Readonly<Record<string, unknown>>);
    if (rows.length < READ_AT_ONCE) continue;
    yield rows;
    rows = [];
  }
  if (rows.length > 0) yield rows;
}

/** Polls `data_version`, which is nearly free and changes when another connection commits; only then calls `look`. */
function watch(connection: SqliteConnection, look: () => Promise<void>): () => Promise<void> {
  let seen = readVersion(connection);
  const timer = setInterval(() => {
    const found = readVersion(connection);
    if (found === undefined || found === seen) return;
    // Advance only after success, so that a failed look is retried.
    look().then(
      () => {
        seen = found;
      },
      () => {},
    );
  }, WATCH_INTERVAL_MS).unref();
  return async () => clearInterval(timer);
}

/**
 * The version of the file as one connection counts it. Undefined if the file cannot be read now: the next poll retries,
 * and reads report the error meanwhile.
 */
function readVersion(connection: SqliteConnection): string | undefined {
  try {
    const [row] = connection.prepare('PRAGMA data_version').all([]) as { data_version: number }[];
    return `${connection.opened} ${row?.data_version}`;
  } catch {
    return undefined;
  }
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
class SqliteDatabase implements Database {
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
