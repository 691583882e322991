import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { withoutPassword } from '../../config.ts';
import { type Claim, COUNTER_BEHIND, DatabaseNotOpened } from '../engine.ts';
import { shareSession, TRANSACTION_POOLER } from './pooler.ts';

/** For a new connection, and again for the settings on it. */
const CONNECT_TIMEOUT_MS = 2_000;
/** Client-side deadline of a statement, for when the server or the network hangs. */
export const ANSWER_TIMEOUT_MS = 6_000;
/** The time between two questions to a kept connection, and the longest wait for the answer. */
const ASK_MS = 1_000;
const ASK_TIMEOUT_MS = 2_000;
/** The time to wait for a connection to close. */
const END_TIMEOUT_MS = 500;
/** TCP keepalive, in seconds: the first probe, the interval, and the number of lost probes. */
const KEEPALIVES = ['tcp_keepalives_idle = 10', 'tcp_keepalives_interval = 5', 'tcp_keepalives_count = 3'];

/** The advisory lock that a lone service holds exclusively, and services that share Redis hold shared. */
const CLAIM_LOCK = 7_251_003;
const RECLAIM_MS = 1_000;
const READ_AT_ONCE = 1_000;

const UNKNOWN_AUTHORITY = '; name the certificate of its authority in DATABASE_URL with sslrootcert=FILE';

/** Parses 64-bit integers as numbers: none here exceeds 2^53. */
const NUMBERS = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

/**
 * Opens a long-lived connection outside the pool. Keepalives make the server drop it within half a minute of this
 * machine's death. Throws what `pg` throws.
 */
export async function connect(url: string, purpose: string): Promise<pg.Client> {
  const client = new pg.Client({ ...settingsOf(url, `pet-catalog ${purpose}`), query_timeout: ANSWER_TIMEOUT_MS });
  // An error also ends the connection, and callers listen for the end.
  client.on('error', () => {});
  try {
    await client.connect();
    await setAll(client, KEEPALIVES);
    return client;
  } catch (error) {
    endSoon(client);
    throw error;
  }
}

/**
 * Opens a pool in which a broken connection fails only the queries on it. The server's settings are made on each new
 * connection: a pooler such as PgBouncer refuses them among the parameters of the start.
 */
export function openPool(url: string, config: pg.PoolConfig, settings: readonly string[] = []): pg.Pool {
  const onConnect = (client: pg.ClientBase) => setAll(client, settings);
  const pool = new pg.Pool({ ...settingsOf(url, 'pet-catalog'), ...config, onConnect });
  // An unhandled 'error' event ends the process, and the pool handles it only on idle connections.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

async function setAll(client: pg.ClientBase, settings: readonly string[]): Promise<void> {
  const query = { text: settings.map((each) => `set ${each}`).join('; '), query_timeout: CONNECT_TIMEOUT_MS };
  if (query.text) await client.query(query);
}

function settingsOf(url: string, name: string): pg.ClientConfig {
  return {
    connectionString: strictTls(url),
    application_name: name,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    types: NUMBERS,
  };
}

/** Reads a table by queries in a transaction, through a cursor, so that at most a thousand rows are in memory. */
export async function* readTable<Row>(table: string, query: (text: string) => Promise<Row[]>): AsyncGenerator<Row[]> {
  await query(`declare every_row no scroll cursor for select * from ${table}`);
  for (;;) {
    const rows = await query(`fetch ${READ_AT_ONCE} from every_row`);
    if (rows.length === 0) break;
    yield rows;
  }
  await query('close every_row');
}

interface KeptOptions {
  readonly purpose: string;
  readonly retryMs: number;
  /** Makes a new connection ready; false if it may not be kept now. */
  prepare(client: pg.Client): Promise<boolean>;
}

/** A connection that is made anew whenever it breaks or does not answer, until disposed of. */
export class KeptConnection implements AsyncDisposable {
  readonly #url: string;
  readonly #options: KeptOptions;
  #client: pg.Client | undefined;
  #retrying: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(url: string, options: KeptOptions) {
    this.#url = url;
    this.#options = options;
  }

  /** Connects now. Returns whether the connection is kept. Throws what `pg` throws. */
  async open(): Promise<boolean> {
    const client = await connect(this.#url, this.#options.purpose);
    try {
      if (!this.#isOver && (await this.#options.prepare(client)) && !this.#isOver) {
        this.#client = client.on('end', () => this.openLater());
        void this.#ask(client);
        return true;
      }
    } catch (error) {
      endSoon(client);
      throw error;
    }
    await endSoon(client);
    return false;
  }

  /** Drops a connection that answers late: a server that hangs, or is gone, never ends it. */
  async #ask(client: pg.Client): Promise<void> {
    while (this.#client === client) {
      await wait(ASK_MS, undefined, { ref: false });
      const question = { text: 'select 1', query_timeout: ASK_TIMEOUT_MS };
      await client.query(question).catch(() => drop(client));
    }
  }

  /** Replaces the connection, if there is one, by a new one. */
  reopen(): void {
    if (this.#client) drop(this.#client);
  }

  /** Connects after a while, and again until that succeeds. */
  openLater(): void {
    this.#client = undefined;
    if (this.#isOver) return;
    this.#retrying = setTimeout(() => {
      this.open().then(
        (isKept) => isKept || this.openLater(),
        () => this.openLater(),
      );
    }, this.#options.retryMs).unref();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    clearTimeout(this.#retrying);
    if (this.#client) await endSoon(this.#client);
  }
}

/**
 * Claims a database as `claimForService` does, anew whenever its connection breaks, unless another service has claimed
 * it by then. Throws `DatabaseNotOpened`.
 */
export async function claimPostgres(
  url: string,
  { together, refusal }: { together: boolean; refusal: string },
): Promise<Claim> {
  const { promise: taken, resolve: take } = Promise.withResolvers<DatabaseNotOpened>();
  let wasHeld = false;
  const claim = new KeptConnection(url, {
    purpose: `claim ${randomUUID()}`,
    retryMs: RECLAIM_MS,
    async prepare(client) {
      if (!wasHeld && (await isPooledByTransaction(url, client))) {
        throw new Error(`${TRANSACTION_POOLER.finding}; ${TRANSACTION_POOLER.advice}`);
      }
      // The server may not have heard that the connection of before broke, and ends it at leisure.
      const { rowCount: own } = await client.query(`select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = current_setting('application_name') and pid <> pg_backend_pid()`);
      const { rows } = await client.query<{ held: boolean }>(
        `select pg_try_advisory_lock${together ? '_shared' : ''}(${CLAIM_LOCK}) as held`,
      );
      const isHeld = rows[0]?.held === true;
      if (!isHeld && wasHeld && own === 0)
        take(new DatabaseNotOpened(`Stopped, because the claim of the database was lost with its server. ${refusal}`));
      wasHeld ||= isHeld;
      return isHeld;
    },
  });
  if (!(await claim.open().catch(notOpened(url)))) throw new DatabaseNotOpened(refusal);
  return { taken, [Symbol.asyncDispose]: () => claim[Symbol.asyncDispose]() };
}

/** True if a pooler gives the session of an open connection to others between its transactions. */
export async function isPooledByTransaction(url: string, open: pg.Client): Promise<boolean> {
  const other = await connect(url, 'pooler');
  try {
    return await shareSession(open, other);
  } finally {
    await endSoon(other);
  }
}

/** Raises weaker encrypting TLS modes to `verify-full`; `pg` does so anyway, with a warning. */
function strictTls(url: string): string {
  return url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, '$1verify-full');
}

const NO_TLS = 'The server does not support SSL connections';

/** A refused connection to a name with several addresses has no code and message of its own. */
function firstOf(error: unknown): { readonly code?: string; readonly message: string } {
  return (error instanceof AggregateError ? error.errors[0] : error) as { code?: string; message: string };
}

/** Ends a connection at once; its end is told, whether or not the server lives. */
function drop(client: pg.Client): void {
  (client as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
}

/** Closes a connection or a pool, without waiting for one that hangs. */
export async function endSoon(connection: pg.Client | pg.Pool): Promise<void> {
  await Promise.race([connection.end().catch(() => {}), wait(END_TIMEOUT_MS, undefined, { ref: false })]);
}

const ADVICE: Readonly<Record<string, string>> = {
  // unique_violation, read_only_sql_transaction, insufficient_privilege, too_many_connections
  '23505': COUNTER_BEHIND,
  '25006':
    'it only reads, as a standby or a role with default_transaction_read_only does: let it write, or correct DATABASE_URL',
  '42501': 'make the role of DATABASE_URL the owner of the database, or grant it what is missing',
  '53300': 'raise the limit of the role (alter role … connection limit …) or max_connections of the server',
};

/** The advice on an error of the server that an operator must remove; undefined for any other. */
export function adviceOn(error: unknown): string | undefined {
  return ADVICE[(error as { code?: string }).code ?? ''];
}

/** Makes a handler that throws `DatabaseNotOpened`, saying why the server cannot be used, and what to do. */
export function notOpened(url: string): (error: Error) => never {
  return (error) => {
    const hints: Record<string, string> = {
      '3D000': '; create it, or correct DATABASE_URL',
      '28P01': '; correct the password in DATABASE_URL',
      ECONNREFUSED: '; start the server, or correct DATABASE_URL',
      [NO_TLS]: '; give it a certificate, or take sslmode out of DATABASE_URL',
      DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_AUTHORITY,
      SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
      UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
    };
    const { code, message } = firstOf(error);
    const advice = adviceOn({ code });
    const reason = `${message}${hints[code ?? message] ?? (advice ? `; ${advice}` : '')}`;
    throw new DatabaseNotOpened(`Cannot open the database ${withoutPassword(url)}: ${reason}`, { cause: error });
  };
}
