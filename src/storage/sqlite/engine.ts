import {
  type DatabaseConnection,
  type Dialect,
  Kysely,
  SqliteAdapter,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type Transaction,
} from 'kysely';
import type { Engine, Failure } from '../engine.ts';
import { migrate } from '../migrate.ts';
import type { Tables } from '../sql/tables.ts';
import { checkpointInThread, syncLargeLog } from './checkpoint.ts';
import { IN_MEMORY, LogNotSynced, notOpened, SqliteConnection, WritesSuspended } from './connection.ts';

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
 * Of the I/O errors those that come before the last frame of a transaction is whole in the log: READ, SHORT_READ,
 * WRITE, RDLOCK, LOCK. After any other the log may hold it.
 */
const NOTHING_STORED = new Set([266, 522, 778, 2314, 3850]);

/**
 * Opens, or creates, a database file with the pragmas verified and the tables up to date. Throws `DatabaseNotOpened`.
 */
export async function openSqlite(file: string): Promise<Engine> {
  const connection = new SqliteConnection(file);
  const driver = new ImmediateSqliteDriver(connection, file);
  const db = new Kysely<Tables>({ dialect: dialectOn(driver) });
  await migrate(db, { int64: 'integer', lockWriters }).catch((error) => {
    throw notOpened(file, error);
  });
  connection.waitNoMore();
  return {
    db,
    place: file,
    classify,
    lockWriters,
    startLarge: () => driver.startLarge(),
    reader: () => driver.reader,
    finishLarge: () => driver.finishLarge(),
    // Changes of other processes are found by polling.
    announce: async () => {},
    readAll,
    watch: (look) => watch(connection, look),
  };
}

/** BEGIN IMMEDIATE has already taken the write lock. */
async function lockWriters(): Promise<void> {}

function dialectOn(driver: SqliteDriver): Dialect {
  return {
    createAdapter: () => new TransactionalSqliteAdapter(),
    createDriver: () => driver,
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

function classify(error: unknown): Failure | undefined {
  if (error instanceof LogNotSynced) return 'unknown';
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
  trx: Transaction<Tables>,
  table: keyof Tables,
): AsyncGenerator<Readonly<Record<string, unknown>>[]> {
  let rows: Readonly<Record<string, unknown>>[] = [];
  for await (const row of trx.selectFrom(table).selectAll().stream()) {
    rows.push(row);
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

/** SQLite rolls back schema changes with their transaction (sqlite.org/lang_transaction.html); Kysely assumes not. */
class TransactionalSqliteAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

function openReader(file: string): Kysely<Tables> {
  const connection = new SqliteConnection(file);
  connection.waitNoMore();
  return new Kysely<Tables>({ dialect: dialectOn(new SqliteDriver({ database: connection })) });
}

/** Kysely's SQLite driver on `node:sqlite`; transactions take the write lock when they begin instead of midway. */
class ImmediateSqliteDriver extends SqliteDriver {
  readonly #connection: SqliteConnection;
  readonly #file: string;
  /** A second connection, opened for the first large transaction: the first one is busy until its end. */
  #reader: Kysely<Tables> | undefined;
  #hasReader = false;
  #isLarge = false;
  #checkpointing = Promise.resolve();

  constructor(connection: SqliteConnection, file: string) {
    super({ database: connection });
    this.#connection = connection;
    this.#file = file;
  }

  /** What reads run on beside a large transaction. */
  get reader(): Kysely<Tables> | undefined {
    return this.#hasReader ? this.#reader : undefined;
  }

  startLarge(): void {
    if (this.#file === IN_MEMORY) return;
    this.#reader ??= openReader(this.#file);
    this.#hasReader = true;
  }

  /** Syncs a large log ahead of the commit, and leaves the checkpoint after it to a thread. */
  async finishLarge(): Promise<void> {
    await this.#checkpointing;
    this.#isLarge = await syncLargeLog(this.#file);
    if (this.#isLarge) this.#checkpointEvery(0);
  }

  override async commitTransaction(): Promise<void> {
    this.#connection.prepare('commit').run([]);
    this.#hasReader = false;
    if (!this.#isLarge) return;
    this.#isLarge = false;
    this.#checkpointing = checkpointInThread(this.#file).then(() => this.#checkpointEvery(AUTOCHECKPOINT_PAGES));
  }

  override async beginTransaction(): Promise<void> {
    this.#connection.assertWritable();
    this.#connection.prepare('begin immediate').run([]);
  }

  /** On a full disk SQLite has rolled back already; a second rollback would fail and hide the cause. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#isLarge) this.#checkpointEvery(AUTOCHECKPOINT_PAGES);
    this.#isLarge = false;
    this.#hasReader = false;
    if (this.#connection.isTransaction) await super.rollbackTransaction(connection);
  }

  override async destroy(): Promise<void> {
    await this.#checkpointing;
    await this.#reader?.destroy();
    await super.destroy();
  }

  #checkpointEvery(pages: number): void {
    this.#connection.prepare(`PRAGMA wal_autocheckpoint = ${pages}`).all([]);
  }
}
