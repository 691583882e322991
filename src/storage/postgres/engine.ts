import { randomUUID } from 'node:crypto';
import pg from 'pg';
import sql, { raw } from 'sql-template-tag';
import { withoutPassword } from '../../config.ts';
import {
  type Connection,
  type Database,
  DatabaseLacks,
  type Engine,
  type Failure,
  type Lock,
  type Statement,
  type Transaction,
  type TransactionKind,
} from '../engine.ts';
import { migrate, type Purpose } from '../migrate.ts';
import { one } from '../sql/statement.ts';
import { ANSWER_TIMEOUT_MS, adviceOn, endSoon, KeptConnection, notOpened, openPool, readTable } from './connection.ts';

const SERVER_VERSION_MIN = 14;
/** Pool size of one instance. Work that finds no free connection within `CONNECT_TIMEOUT_MS` is refused. */
const CONNECTIONS_MAX = 10;
/** Server-side deadlines for one statement, and for a lock within it. */
const STATEMENT_TIMEOUT_MS = 5_000;
const LOCK_TIMEOUT_MS = 900;
const LOCKS: Record<Lock, number> = { writers: 7_251_002, counts: 7_251_004 };

/**
 * A server goes on from its own changes for as long as it runs, also when it is promoted, so its start names the run.
 * Another database under the same name, or tables that were restored, have other numbers.
 */
const RUN = raw(`concat_ws(' ', pg_postmaster_start_time(), pg_relation_filenode('change_versions'),
  (select oid from pg_database where datname = current_database()))`);

/** Polling interval beside notifications, which may be lost with their connection. */
const LOOK_INTERVAL_MS = 1_000;
const RECONNECT_MS = 500;

/** SQLSTATEs with which the server ends the connection. (The severity would say so too, but it is localised.) */
const ENDS_CONNECTION = /^(08|25P03|25P04|57P|58|XX)/;

class ConnectionLost extends Error {
  /** True if the statement was sent: then it may or may not have run. */
  readonly wasSent: boolean;

  constructor(cause: unknown, wasSent: boolean) {
    super('The database does not answer', { cause });
    this.wasSent = wasSent;
  }
}

/** A COMMIT whose answer was lost. */
class CommitUnanswered extends Error {}

/** Deadlines of the server, so that no request waits on a hung database; the client has one too. */
const DEADLINES = [
  `statement_timeout = ${STATEMENT_TIMEOUT_MS}`,
  `lock_timeout = ${LOCK_TIMEOUT_MS}`,
  `idle_in_transaction_session_timeout = ${ANSWER_TIMEOUT_MS}`,
];

/**
 * Opens a PostgreSQL database for a purpose. Several instances may migrate its tables at the same time. `patient` is a
 * command that reads whole tables, for which there are no deadlines. Throws `DatabaseNotOpened`.
 */
export async function openPostgres(
  url: string,
  { purpose, patient }: { purpose: Purpose; patient: boolean },
): Promise<Engine> {
  const origin = randomUUID();
  await prepare(url, purpose).catch(notOpened(url));
  const pool = patient
    ? openPool(url, { max: CONNECTIONS_MAX })
    : openPool(url, { max: CONNECTIONS_MAX, query_timeout: ANSWER_TIMEOUT_MS }, DEADLINES);
  const db = new PostgresDatabase(pool);
  let feed: KeptConnection | undefined;
  return {
    db,
    place: withoutPassword(url),
    classify,
    explain,
    lock,
    announce: async (trx) => {
      await trx.all(sql`select pg_notify('pet_catalog', ${origin})`);
    },
    readAll: (trx, table) => readTable(table, (text) => trx.all(raw(text))),
    size: () => sizeOf(pool),
    run: RUN,
    reconnect: () => {
      db.reconnect();
      feed?.reopen();
    },
    watch(look) {
      const watching = watch(url, origin, look);
      feed = watching.feed;
      return watching.stop;
    },
  };
}

/** The disk of the server is not known. */
async function sizeOf(pool: pg.Pool) {
  const { rows } = await pool.query<{ bytes: number }>('select pg_database_size(current_database()) as bytes');
  return { databaseBytes: Number(rows[0]?.bytes), logBytes: 0, diskFreeBytes: Number.NaN };
}

async function lock(trx: Connection, what: Lock): Promise<void> {
  await trx.all(sql`select pg_advisory_xact_lock(${raw(`${LOCKS[what]}`)})`);
}

/** Checks the server and its tables, without deadlines: it may have to wait for another instance's migration. */
async function prepare(url: string, purpose: Purpose): Promise<void> {
  const db = new PostgresDatabase(openPool(url, {}));
  try {
    const { version, encoding } = await one<{ version: string; encoding: string }>(
      db,
      sql`select current_setting('server_version') as version, current_setting('server_encoding') as encoding`,
    );
    if (Number.parseInt(version, 10) < SERVER_VERSION_MIN) {
      throw new Error(`PostgreSQL is ${version}; ${SERVER_VERSION_MIN} or later is needed`);
    }
    if (encoding !== 'UTF8') throw new Error(`the encoding of the database is ${encoding}; create it with UTF8`);
    await migrate(db, { purpose, int64: 'bigint', lock });
  } catch (error) {
    throw error instanceof ConnectionLost ? error.cause : error;
  } finally {
    await db.close();
  }
}

/** Calls `follow` on every notification of another origin, and once a second in any case. */
function watch(url: string, origin: string, follow: () => Promise<void>) {
  // The next look retries what failed.
  const look = () => follow().catch(() => {});
  const timer = setInterval(look, LOOK_INTERVAL_MS).unref();
  const feed = new KeptConnection(url, {
    purpose: 'feed',
    retryMs: RECONNECT_MS,
    async prepare(client) {
      client.on('notification', ({ payload }) => payload !== origin && look());
      await client.query('listen pet_catalog');
      // Catch up on notifications sent before this connection listened.
      look();
      return true;
    },
  });
  feed.open().catch(() => feed.openLater());
  const stop = async () => {
    clearInterval(timer);
    await feed[Symbol.asyncDispose]();
  };
  return { feed, stop };
}

/** Classifies an error by its SQLSTATE (postgresql.org/docs/current/errcodes-appendix.html). */
function classify(error: unknown): Failure | undefined {
  if (error instanceof CommitUnanswered) return 'unknown';
  if (error instanceof ConnectionLost) return 'unavailable';
  if (!(error instanceof pg.DatabaseError)) return undefined;
  const { code = '' } = error;
  // serialization_failure, deadlock_detected, lock_not_available
  if (['40001', '40P01', '55P03'].includes(code)) return 'busy';
  // disk_full
  if (code === '53100') return 'full';
  // read_only_sql_transaction: a standby, around a failover. 25P03, 25P04: transaction timeouts.
  if (['25006', '25P03', '25P04'].includes(code)) return 'unavailable';
  // insufficient_privilege, unique_violation
  if (['42501', '23505'].includes(code)) return 'unavailable';
  // Connection exceptions, authorization, no such database, resources, operator intervention, system errors.
  return ['08', '28', '3D', '53', '57', '58'].includes(code.slice(0, 2)) ? 'unavailable' : undefined;
}

function explain(error: unknown): DatabaseLacks | undefined {
  const cause = error instanceof ConnectionLost ? error.cause : error;
  const advice = adviceOn(cause);
  return advice === undefined ? undefined : new DatabaseLacks(`${(cause as Error).message}; ${advice}`, { cause });
}

/** A pool that discards connections which may hang. */
class PostgresDatabase implements Database {
  readonly #pool: pg.Pool;
  readonly #openedMs = new WeakMap<pg.PoolClient, number>();
  #lostMs = Number.NEGATIVE_INFINITY;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
    pool.on('connect', (client) => this.#openedMs.set(client, performance.now()));
  }

  async all<Row>(statement: Statement): Promise<Row[]> {
    using client = await this.#connect();
    return await client.all(statement);
  }

  async run(statement: Statement): Promise<number> {
    using client = await this.#connect();
    return await client.run(statement);
  }

  async transaction<T>(work: (trx: Transaction) => Promise<T>, kind?: TransactionKind): Promise<T> {
    using client = await this.#connect();
    await client.run(kind === 'snapshot' ? sql`begin isolation level repeatable read` : sql`begin`);
    try {
      const result = await work(client);
      await commit(client);
      return result;
    } catch (error) {
      // A lost connection has nothing to roll back, and an error here would hide the cause.
      await client.run(sql`rollback`).catch(() => {});
      throw error;
    }
  }

  /** Discards every connection opened until now, once it is not in use. */
  reconnect(): void {
    this.#lostMs = performance.now();
  }

  close(): Promise<void> {
    return endSoon(this.#pool);
  }

  /**
   * Discards connections opened before the last one that was lost: they may hang too, and each would cost its user the
   * whole deadline. A new connection fails sooner. One that cannot be opened says nothing of those that are open.
   */
  async #connect(): Promise<CheckedClient> {
    for (;;) {
      const client = await this.#pool.connect().catch((error) => lost(error, false));
      if ((this.#openedMs.get(client) ?? 0) > this.#lostMs) return new CheckedClient(client, () => this.reconnect());
      client.release(true);
    }
  }
}

/**
 * Throws `CommitUnanswered` if the connection ends during a COMMIT: only a rollback error proves nothing was stored.
 */
async function commit(client: CheckedClient): Promise<void> {
  try {
    await client.run(sql`commit`);
  } catch (error) {
    const isUnanswered =
      error instanceof ConnectionLost
        ? error.wasSent
        : error instanceof pg.DatabaseError && ENDS_CONNECTION.test(error.code ?? '');
    if (isUnanswered) throw new CommitUnanswered('The answer to a COMMIT was lost', { cause: error });
    throw error;
  }
}

/** A client of the pool until disposed of. After the server failed to answer it sends nothing more, and is closed. */
class CheckedClient implements Transaction, Disposable {
  readonly isTransaction = true;
  readonly #client: pg.PoolClient;
  readonly #onLost: () => void;
  #failure: unknown;

  constructor(client: pg.PoolClient, onLost: () => void) {
    this.#client = client;
    this.#onLost = onLost;
    client.on('error', this.#onError);
  }

  async all<Row>(statement: Statement): Promise<Row[]> {
    return (await this.#query(statement)).rows;
  }

  async run(statement: Statement): Promise<number> {
    return (await this.#query(statement)).rowCount ?? 0;
  }

  [Symbol.dispose](): void {
    this.#client.removeListener('error', this.#onError);
    this.#client.release(this.#failure !== undefined);
  }

  async #query({ text, values, deadlineMs }: Statement): Promise<pg.QueryResult> {
    if (this.#failure) throw new ConnectionLost(this.#failure, false);
    try {
      const query = { text, values: [...values], ...(deadlineMs && { query_timeout: deadlineMs }) };
      return await this.#client.query(query);
    } catch (error) {
      if (!(error instanceof pg.DatabaseError) || ENDS_CONNECTION.test(error.code ?? '')) this.#onError(error);
      return lost(error, true);
    }
  }

  readonly #onError = (error: unknown) => {
    this.#failure ??= error;
    this.#onLost();
  };
}

function lost(error: unknown, wasSent: boolean): never {
  if (error instanceof pg.DatabaseError) throw error;
  throw new ConnectionLost(error, wasSent);
}
