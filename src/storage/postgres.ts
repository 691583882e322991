import { randomUUID } from 'node:crypto';
import { Kysely, PostgresDialect, PostgresDriver, type PostgresPoolClient, sql } from 'kysely';
import pg from 'pg';
import { withoutPassword } from '../config.ts';
import { DatabaseNotOpened, type Engine, type Failure } from './engine.ts';
import { migrate } from './migrate.ts';
import { watchPostgres } from './postgres-feed.ts';
import type { Tables } from './tables.ts';

const SERVER_VERSION_MIN = 14;
/** Connections of one instance; what finds none free waits for `CONNECT_TIMEOUT_MS` and is then refused. */
const CONNECTIONS_MAX = 10;
const CONNECT_TIMEOUT_MS = 2_000;
/** What the server takes for one statement at most, and for a lock within it. */
const STATEMENT_TIMEOUT_MS = 5_000;
const LOCK_TIMEOUT_MS = 900;
/** When a statement is given up though the server did not: it, or the network, hangs. */
const ANSWER_TIMEOUT_MS = 6_000;
/** Names the lock that a writing transaction holds, so that it decides by what it alone may change. */
const WRITERS_LOCK = 7_251_002;

/** The server did not answer: what it was asked may or may not have happened. */
class ConnectionLost extends Error {}

/** A COMMIT whose answer was lost. */
class CommitUnanswered extends Error {}

/**
 * Opens a PostgreSQL database, its tables up to date. Several instances may do so at the same time. Throws
 * `DatabaseNotOpened`.
 */
export async function openPostgres(url: string): Promise<Engine> {
  const origin = randomUUID();
  await prepare(url).catch(notOpened(url));
  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'pet-catalog',
    max: CONNECTIONS_MAX,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    lock_timeout: LOCK_TIMEOUT_MS,
    idle_in_transaction_session_timeout: ANSWER_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    keepAlive: true,
    types: NUMBERS,
  });
  // A connection that breaks while nobody uses it is no failure: the pool opens another.
  pool.on('error', () => {});
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
    watch: (look) => watchPostgres(url, { origin, look }),
  };
}

/** 64-bit integers as numbers: none of ours is beyond 2^53. */
const NUMBERS = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

/** Migrates over connections without deadlines: another instance's migration may have to be waited for. */
async function prepare(url: string): Promise<void> {
  const pool = new pg.Pool({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS, types: NUMBERS });
  pool.on('error', () => {});
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

/** Throws the `DatabaseNotOpened` that says why a server could not be used, and what to do. */
export function notOpened(url: string): (error: Error) => never {
  return (error) => {
    const hints: Record<string, string> = {
      '3D000': '; create it, or correct DATABASE_URL',
      '28P01': '; correct the password in DATABASE_URL',
      ECONNREFUSED: '; start the server, or correct DATABASE_URL',
    };
    // A refused connection to a name with several addresses has no message of its own.
    const { code = '', message } = error instanceof AggregateError ? error.errors[0] : (error as pg.DatabaseError);
    throw new DatabaseNotOpened(`Cannot open the database ${withoutPassword(url)}: ${message}${hints[code] ?? ''}`, {
      cause: error,
    });
  };
}

/** What an error means, by its SQLSTATE (postgresql.org/docs/current/errcodes-appendix.html). */
function classify(error: unknown): Failure | undefined {
  if (error instanceof CommitUnanswered) return 'unknown';
  if (error instanceof ConnectionLost) return 'unavailable';
  if (!(error instanceof pg.DatabaseError)) return undefined;
  const { code = '' } = error;
  // serialization_failure, deadlock_detected, lock_not_available
  if (['40001', '40P01', '55P03'].includes(code)) return 'busy';
  // read_only_sql_transaction: a standby, before or after a failover.
  if (code === '25006') return 'unavailable';
  // Connection exceptions, insufficient resources, operator intervention, system errors.
  return ['08', '53', '57', '58'].includes(code.slice(0, 2)) ? 'unavailable' : undefined;
}

/** Kysely's PostgreSQL, telling what became of a connection. */
class CheckedDialect extends PostgresDialect {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    super({ pool });
    this.#pool = pool;
  }

  override createDriver(): PostgresDriver {
    const pool = this.#pool;
    return new CheckedDriver({
      pool: {
        options: pool.options,
        connect: () => pool.connect().then(checked, lost),
        end: () => pool.end(),
      },
    });
  }
}

class CheckedDriver extends PostgresDriver {
  /** Only an error that undoes the transaction says that nothing was stored; any other leaves it open. */
  override async commitTransaction(connection: Parameters<PostgresDriver['commitTransaction']>[0]): Promise<void> {
    try {
      await super.commitTransaction(connection);
    } catch (error) {
      const isUndone = error instanceof pg.DatabaseError && error.severity === 'ERROR';
      if (error instanceof ConnectionLost || (error instanceof pg.DatabaseError && !isUndone)) {
        throw new CommitUnanswered('The answer to a COMMIT was lost', { cause: error });
      }
      throw error;
    }
  }

  /** On a connection that was lost there is nothing to roll back, and failing would hide why it was lost. */
  override async rollbackTransaction(connection: Parameters<PostgresDriver['rollbackTransaction']>[0]): Promise<void> {
    await super.rollbackTransaction(connection).catch(() => {});
  }
}

/** A client that is not used again once the server failed to answer on it. */
function checked(client: pg.PoolClient): PostgresPoolClient {
  let isLost = false;
  const query = async (text: string, values: readonly unknown[]): Promise<unknown> => {
    if (isLost) throw new ConnectionLost('The connection was lost');
    try {
      return await client.query(text, [...values]);
    } catch (error) {
      isLost = !(error instanceof pg.DatabaseError) || error.severity !== 'ERROR';
      return lost(error);
    }
  };
  // Kysely's type also has a form for cursors, which nobody uses here.
  return {
    query: query as unknown as PostgresPoolClient['query'],
    release: (discard) => client.release(isLost || discard),
  };
}

function lost(error: unknown): never {
  if (error instanceof pg.DatabaseError) throw error;
  throw new ConnectionLost('The database does not answer', { cause: error });
}
