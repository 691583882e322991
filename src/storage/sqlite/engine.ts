import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  Kysely,
  SqliteAdapter,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type SqliteStatement,
  type Transaction,
} from 'kysely';
import { DatabaseNotOpened, type Engine, type Failure } from '../engine.ts';
import { migrate } from '../migrate.ts';
import type { Tables } from '../sql/tables.ts';
import { assertLogSound } from './soundness.ts';

/** Earlier releases can corrupt a WAL under two writers (sqlite.org/wal.html, "WAL-reset bug"). */
const SQLITE_VERSION_MIN = [3, 51, 3] as const;
/** Only the user that runs the service may read its data. */
export const PRIVATE_FOLDER_MODE = 0o700;
/** How long opening waits for other processes that open or create the same file. */
const OPEN_TIMEOUT_MS = 5_000;
const STATEMENTS_MAX = 100;
const READ_AT_ONCE = 1_000;
/** Polling interval; another process's change must be seen within a second. */
const WATCH_INTERVAL_MS = 250;

/** Each pragma, with the value that it must read back as. */
const PRAGMAS: readonly (readonly [name: string, value: string, readBack: string | number])[] = [
  // Readers and the writer do not block each other, and a commit is one sequential write.
  ['journal_mode', 'WAL', 'wal'],
  // A commit returns after its fsync; with NORMAL a power cut could lose the last commits.
  ['synchronous', 'FULL', 2],
  ['foreign_keys', 'ON', 1],
];

/** BUSY, LOCKED: primary result codes (sqlite.org/rescode.html). */
const BUSY_CODES = new Set([5, 6]);
/** READONLY, IOERR, FULL, CANTOPEN, PROTOCOL. */
const UNAVAILABLE_CODES = new Set([8, 10, 13, 14, 15]);

/**
 * Opens, or creates, a database file with the pragmas verified and the tables up to date. Throws `DatabaseNotOpened`.
 */
export async function openSqlite(file: string): Promise<Engine> {
  const database = openDatabase(file);
  const dialect: Dialect = {
    createAdapter: () => new TransactionalSqliteAdapter(),
    createDriver: () => new ImmediateSqliteDriver(database),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
  const db = new Kysely<Tables>({ dialect });
  await migrate(db, 'integer').catch(notOpened(file));
  // From now on `Transactions` waits for locks by retrying: SQLite's own wait would block the event loop.
  database.exec('PRAGMA busy_timeout = 0');
  return {
    db,
    classify,
    // BEGIN IMMEDIATE already takes the write lock, and changes of other processes are found by polling.
    lockWriters: async () => {},
    announce: async () => {},
    readAll,
    watch: (look) => watch(database, look),
  };
}

function openDatabase(file: string): DatabaseSync {
  try {
    if (file !== ':memory:') {
      assertLogSound(file);
      mkdirSync(dirname(file), { recursive: true, mode: PRIVATE_FOLDER_MODE });
    }
    const database = new DatabaseSync(file, { timeout: OPEN_TIMEOUT_MS });
    assertVersion(database);
    for (const [name, value, readBack] of PRAGMAS) {
      database.exec(`PRAGMA ${name} = ${value}`);
      const found = Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];
      if (found !== readBack && file !== ':memory:') throw new Error(`PRAGMA ${name} is ${found}, not ${readBack}`);
    }
    return database;
  } catch (error) {
    return notOpened(file)(error);
  }
}

function notOpened(file: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof DatabaseNotOpened) throw error;
    throw new DatabaseNotOpened(`Cannot open the database ${file}: ${(error as Error).message}`, { cause: error });
  };
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

function resultCode(error: unknown): number | undefined {
  const code = (error as { errcode?: unknown } | undefined)?.errcode;
  return typeof code === 'number' ? code & 0xff : undefined;
}

function classify(error: unknown): Failure | undefined {
  const code = resultCode(error);
  if (code === undefined) return undefined;
  if (BUSY_CODES.has(code)) return 'busy';
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
function watch(database: DatabaseSync, look: () => Promise<void>): () => Promise<void> {
  const dataVersion = database.prepare('PRAGMA data_version');
  let seen = dataVersion.get()?.data_version;
  const timer = setInterval(() => {
    const found = readVersion(dataVersion);
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

/** Undefined if the file cannot be read now: the next poll retries, and reads report the error meanwhile. */
function readVersion(dataVersion: StatementSync): SQLOutputValue | undefined {
  try {
    return dataVersion.get()?.data_version;
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

/** Kysely's SQLite driver on `node:sqlite`; transactions take the write lock when they begin instead of midway. */
class ImmediateSqliteDriver extends SqliteDriver {
  readonly #database: DatabaseSync;

  constructor(database: DatabaseSync) {
    super({ database: { prepare: cachedPrepare(database), close: () => database.close() } });
    this.#database = database;
  }

  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'));
  }

  /** On a full disk SQLite has rolled back already; a second rollback would fail and hide the cause. */
  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (this.#database.isTransaction) await super.rollbackTransaction(connection);
  }
}

function cachedPrepare(database: DatabaseSync): (sql: string) => SqliteStatement {
  const statements = new Map<string, SqliteStatement>();
  return (sql) => {
    const known = statements.get(sql);
    if (known) return known;
    const prepared = database.prepare(sql);
    const statement: SqliteStatement = {
      reader: prepared.columns().length > 0,
      all: (parameters) => prepared.all(...(parameters as SQLInputValue[])),
      run: (parameters) => prepared.run(...(parameters as SQLInputValue[])),
      iterate: (parameters) => prepared.iterate(...(parameters as SQLInputValue[])),
    };
    for (const oldest of statements.keys()) {
      if (statements.size < STATEMENTS_MAX) break;
      statements.delete(oldest);
    }
    statements.set(sql, statement);
    return statement;
  };
}
