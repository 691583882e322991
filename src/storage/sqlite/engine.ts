import { runInThread } from '../../shipped.ts';
import { COUNTER_BEHIND, DatabaseLacks, type Engine, type Failure } from '../engine.ts';
import { migrate, type Purpose } from '../migrate.ts';
import type { Tables } from '../sql/tables.ts';
import { CommitLost, LogNotSynced, SqliteConnection, SqliteDatabase, WritesSuspended } from './connection.ts';
import { isLarge, openToRead, openToWrite } from './database-file.ts';
import { DatabaseDamaged, notOpened } from './failure.ts';
import { hasLog, IN_MEMORY, sizeOf } from './files.ts';

const READ_AT_ONCE = 1_000;
/** Polling interval; another process's change must be seen within a second. */
const WATCH_INTERVAL_MS = 250;

/** BUSY, LOCKED: primary result codes (sqlite.org/rescode.html). */
const BUSY_CODES = new Set([5, 6]);
const FULL_CODE = 13;
/** READONLY, CANTOPEN, PROTOCOL: nothing was stored. */
const UNAVAILABLE_CODES = new Set([8, 14, 15]);
const IOERR = 10;
const CONSTRAINT_PRIMARYKEY = 1555;
/**
 * The I/O errors that come before the last frame of a transaction is whole in the log: READ, SHORT_READ,
 * WRITE, RDLOCK, LOCK. After any other the log may hold it.
 */
const NOTHING_STORED = new Set([266, 522, 778, 2314, 3850]);

/** Opens a database file for a purpose. Throws `DatabaseNotOpened`. */
export async function openSqlite(file: string, purpose: Purpose = 'migrate'): Promise<Engine> {
  const isWritable = purpose !== 'read' || file === IN_MEMORY;
  const database = isWritable ? openToWrite(file, purpose) : openToRead(file);
  const connection = new SqliteConnection(file, database, { isWritable, isService: purpose === 'serve' });
  const db = new SqliteDatabase(connection);
  try {
    if (purpose === 'serve') emptyLog(connection, file);
    await migrate(db, { int64: 'integer', purpose });
    if (purpose === 'serve') assertCounted(connection, file);
  } catch (error) {
    await db.close();
    throw notOpened(file, error);
  }
  connection.waitNoMore();
  connection.assertWritable(true);
  if (purpose === 'serve' && file !== IN_MEMORY && isLarge(file)) void checkBesideWork(connection, file);
  return {
    db,
    place: file,
    classify,
    explain,
    readAll: (_trx, table) => readAll(connection, table),
    watch: (look) => watch(connection, look),
    size: async () => sizeOf(file),
    assertInPlace: () => connection.assertWritable(true),
    failed: connection.failed,
  };
}

/** Throws if there are other categories than were counted: an older file lies beside a later log, or the reverse. */
function assertCounted(connection: SqliteConnection, file: string): void {
  const counted = 'select count, (select count(*) from categories) as found from category_counter';
  const [{ count, found }] = connection.prepare(counted).all([]) as [{ count: number; found: number }];
  if (count !== found)
    throw new DatabaseDamaged(
      file,
      `it has ${found} categories, and counts ${count} (after a restore of data alone see \`pet-catalog doctor\`)`,
    );
}

/** Checks every page while the service works. What cannot be read shows again where it is needed. */
async function checkBesideWork(connection: SqliteConnection, file: string): Promise<void> {
  const damage = await runInThread<string | undefined>('checkPages', file).catch(() => undefined);
  if (damage !== undefined) connection.suspend(damage);
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

function classify(error: unknown): Failure | undefined {
  if (error instanceof LogNotSynced || error instanceof CommitLost) return 'unknown';
  if (error instanceof WritesSuspended) return 'unavailable';
  const { errcode } = (error ?? {}) as { errcode?: unknown };
  if (typeof errcode !== 'number') return undefined;
  const code = errcode & 0xff;
  if (BUSY_CODES.has(code)) return 'busy';
  if (code === FULL_CODE) return 'full';
  if (code === IOERR) return NOTHING_STORED.has(errcode) ? 'unavailable' : 'unknown';
  return UNAVAILABLE_CODES.has(code) || errcode === CONSTRAINT_PRIMARYKEY ? 'unavailable' : undefined;
}

function explain(error: unknown): DatabaseLacks | undefined {
  const { errcode, message } = error as { errcode?: unknown; message?: string };
  return errcode === CONSTRAINT_PRIMARYKEY
    ? new DatabaseLacks(`${message}; ${COUNTER_BEHIND}`, { cause: error })
    : undefined;
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
function readVersion(connection: SqliteConnection): number | undefined {
  try {
    const [row] = connection.prepare('PRAGMA data_version').all([]) as { data_version: number }[];
    return row?.data_version;
  } catch {
    return undefined;
  }
}
