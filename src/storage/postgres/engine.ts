import { randomUUID } from 'node:crypto';
import { Kysely, PostgresDialect, PostgresDriver, type PostgresPoolClient, sql, type Transaction } from 'kysely';
import pg from 'pg';
import type { Engine, Failure } from '../engine.ts';
import { migrate } from '../migrate.ts';
import type { Tables } from '../sql/tables.ts';
import { ANSWER_TIMEOUT_MS, CONNECT_TIMEOUT_MS, endSoon, notOpened } from './connection.ts';
import { watchPostgres } from './feed.ts';

const SERVER_VERSION_MIN = 14;
/** Connections of one instance; what finds none free waits for `CONNECT_TIMEOUT_MS` and is then refused. */
const CONNECTIONS_MAX = 10;
/** What the server takes for one statement at most, and for a lock within it. */
const STATEMENT_TIMEOUT_MS = 5_000;
const LOCK_TIMEOUT_MS = 900;
const READ_AT_ONCE = 1_000;
/** Names the lock that a writing transaction holds, so that it decides by what it alone may change. */
const WRITERS_LOCK = 7_251_002;

/** SQLSTATEs with which the server ends the connection; the severity would tell as well, but in its own language. */
const ENDS_CONNECTION = /^(08|25P03|25P04|57P|58|XX)/;

/** The server did not answer. */
class ConnectionLost extends Error {
  /** What it was asked, if it was, may or may not have happened. */
  readonly wasAsked: boolean;

  constructor(cause: unknown, wasAsked: boolean) {
    super('The database does not answer', { cause });
    this.wasAsked = wasAsked;
  }
}

/** A COMMIT whose answer was lost. */
class CommitUnanswered extends Error {}

/** What the server, and this side, give up when it takes too long: nobody who calls the service waits in vain. */
const DEADLINES = {
  statement_timeout: STATEMENT_TIMEOUT_MS,
  lock_timeout: LOCK_TIMEOUT_MS,
  idle_in_transaction_session_timeout: ANSWER_TIMEOUT_MS,
  query_timeout: ANSWER_TIMEOUT_MS,
};

/**
 * Opens a PostgreSQL database, its tables up to date. Several instances may do so at the same time. `patient`: without
 * deadlines, for a command that works on everything there is. Throws `DatabaseNotOpened`.
 */
export async function openPostgres(url: string, { patient = false } = {}): Promise<Engine> {
  const origin = randomUUID();
  await prepare(url).catch(notOpened(url));
  const pool = openPool(url, { max: CONNECTIONS_MAX, ...(patient ? {} : DEADLINES) });
  const db = new Kysely<Tables>({ dialect: new CheckedDialect(pool) });
  return {
    db,
    classify,
    lockWriters: async (trx) => {
      await sql`select pg_advisory_xact_lock(${sql.lit(WRITERS_LOCK)})`.execute(trx);
    },
    announce: async (trx) => {
      await sql`select pg_notify('pet_catalog', ${origin})`.execute(trx);
    },
    readAll,
    watch: (look) => watchPostgres(url, { origin, look }),
  };
}

/** A pool in which a connection that breaks does no more than fail whatever is asked on it. */
function openPool(url: string, config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'pet-catalog',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    types: NUMBERS,
    ...config,
  });
  // An error that nobody listens for ends the process. The pool listens only while nobody uses a connection.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/** 64-bit integers as numbers: none of ours is beyond 2^53. */
const NUMBERS = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

/** By a cursor, so that however many rows there are, a thousand are in memory. */
async function* readAll(
  trx: Transaction<Tables>,
  table: keyof Tables,
): AsyncGenerator<Readonly<Record<string, unknown>>[]> {
  await sql`declare every_row no scroll cursor for select * from ${sql.table(table)}`.execute(trx);
  for (;;) {
    const { rows } = await sql<Record<string, unknown>>`fetch ${sql.lit(READ_AT_ONCE)} from every_row`.execute(trx);
    if (rows.length === 0) break;
    yield rows;
  }
  await sql`close every_row`.execute(trx);
}

/** Migrates over connections without deadlines: another instance's migration may have to be waited for. */
async function prepare(url: string): Promise<void> {
  const pool = openPool(url, {});
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  try {
    const { rows } = await sql<{ version: string; encoding: string }>`
      select current_setting('server_version') as version, current_setting('server_encoding') as encoding`.execute(db);
    const { version = '', encoding = '' } = rows[0] ?? {};
    if (Number.parseInt(version, 10) < SERVER_VERSION_MIN) {
      throw new Error(`PostgreSQL is ${version}; ${SERVER_VERSION_MIN} or later is needed`);
    }
    if (encoding !== 'UTF8') throw new Error(`the encoding of the database is ${encoding}; create it with UTF8`);
    await migrate(db, 'bigint');
  } finally {
    await db.destroy();
  }
}

/** What an error means, by its SQLSTATE (postgresql.org/docs/current/errcodes-appendix.html). */
function classify(error: unknown): Failure | undefined {
  if (error instanceof CommitUnanswered) return 'unknown';
  if (error instanceof ConnectionLost) return 'unavailable';
  if (!(error instanceof pg.DatabaseError)) return undefined;
  const { code = '' } = error;
  // serialization_failure, deadlock_detected, lock_not_available
  if (['40001', '40P01', '55P03'].includes(code)) return 'busy';
  // read_only_sql_transaction, a standby before or after a failover; a transaction that waited too long.
  if (['25006', '25P03', '25P04'].includes(code)) return 'unavailable';
  // Connection exceptions, authorization, no such database, resources, operator intervention, system errors.
  return ['08', '28', '3D', '53', '57', '58'].includes(code.slice(0, 2)) ? 'unavailable' : undefined;
}

/** Kysely's PostgreSQL, telling what became of a connection. */
class CheckedDialect extends PostgresDialect {
  readonly #pool: pg.Pool;
  readonly #openedMs = new WeakMap<pg.PoolClient, number>();
  #lostMs = Number.NEGATIVE_INFINITY;

  constructor(pool: pg.Pool) {
    super({ pool });
    this.#pool = pool;
    pool.on('connect', (client) => this.#openedMs.set(client, performance.now()));
  }

  override createDriver(): PostgresDriver {
    return new CheckedDriver({
      pool: {
        options: this.#pool.options,
        connect: () => this.#connect(),
        end: () => endSoon(this.#pool),
      },
    });
  }

  /**
   * Where the server left one connection without an answer, older ones may be no better, and each would cost its user
   * the whole deadline: a new one tells sooner.
   */
  async #connect(): Promise<PostgresPoolClient> {
    for (;;) {
      const client = await this.#pool.connect().catch((error) => lost(error, false));
      if ((this.#openedMs.get(client) ?? 0) > this.#lostMs) return checked(client, this.#onLost);
      client.release(true);
    }
  }

  readonly #onLost = () => {
    this.#lostMs = performance.now();
  };
}

class CheckedDriver extends PostgresDriver {
  /** Only an error that undoes the transaction says that nothing was stored; one that ends the connection does not. */
  override async commitTransaction(connection: Parameters<PostgresDriver['commitTransaction']>[0]): Promise<void> {
    try {
      await super.commitTransaction(connection);
    } catch (error) {
      const isUnanswered =
        error instanceof ConnectionLost
          ? error.wasAsked
          : error instanceof pg.DatabaseError && ENDS_CONNECTION.test(error.code ?? '');
      if (isUnanswered) throw new CommitUnanswered('The answer to a COMMIT was lost', { cause: error });
      throw error;
    }
  }

  /** On a connection that was lost there is nothing to roll back, and failing would hide why it was lost. */
  override async rollbackTransaction(connection: Parameters<PostgresDriver['rollbackTransaction']>[0]): Promise<void> {
    await super.rollbackTransaction(connection).catch(() => {});
  }
}

/** A client that is not used again once the server failed to answer on it. */
function checked(client: pg.PoolClient, onLost: () => void): PostgresPoolClient {
  let failure: unknown;
  const onError = (error: unknown) => {
    failure ??= error;
    onLost();
  };
  client.on('error', onError);
  const query = async (text: string, values: readonly unknown[]): Promise<unknown> => {
    if (failure) throw new ConnectionLost(failure, false);
    try {
      return await client.query(text, [...values]);
    } catch (error) {
      if (!(error instanceof pg.DatabaseError) || ENDS_CONNECTION.test(error.code ?? '')) onError(error);
      return lost(error, true);
    }
  };
  // Kysely's type also has a form for cursors, which nobody uses here.
  return {
    query: query as unknown as PostgresPoolClient['query'],
    release: (discard) => {
      client.removeListener('error', onError);
      client.release(failure !== undefined || discard);
    },
  };
}

function lost(error: unknown, wasAsked: boolean): never {
  if (error instanceof pg.DatabaseError) throw error;
  throw new ConnectionLost(error, wasAsked);
}
