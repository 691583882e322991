import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { withoutPassword } from '../../config.ts';
import { DatabaseNotOpened } from '../engine.ts';

export const CONNECT_TIMEOUT_MS = 2_000;
/** Client-side deadline of a statement, for when the server or the network hangs. */
export const ANSWER_TIMEOUT_MS = 6_000;
/** How long to wait for a connection to close. */
const END_TIMEOUT_MS = 500;
/** TCP keepalive, in seconds: the first probe, the interval, and the number of lost probes. */
const KEEPALIVES = ['tcp_keepalives_idle = 10', 'tcp_keepalives_interval = 5', 'tcp_keepalives_count = 3'];

const UNKNOWN_AUTHORITY = '; name the certificate of its authority in DATABASE_URL with sslrootcert=FILE';

/** Parses 64-bit integers as numbers: none here exceeds 2^53. */
export const NUMBERS = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

/**
 * Opens a long-lived connection outside the pool. Keepalives make the server drop it within half a minute of this
 * machine's death. Throws what `pg` throws.
 */
export async function connect(url: string, purpose: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: `pet-catalog ${purpose}`,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    keepAlive: true,
  });
  // An error also ends the connection, and callers listen for the end.
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query(KEEPALIVES.map((setting) => `set ${setting}`).join('; '));
    return client;
  } catch (error) {
    endSoon(client);
    throw error;
  }
}

/** Closes a connection or a pool, without waiting for one that hangs. */
export async function endSoon(connection: pg.Client | pg.Pool): Promise<void> {
  await Promise.race([connection.end().catch(() => {}), wait(END_TIMEOUT_MS, undefined, { ref: false })]);
}

/** Makes a handler that throws `DatabaseNotOpened`, saying why the server cannot be used and what to do. */
export function notOpened(url: string): (error: Error) => never {
  return (error) => {
    const hints: Record<string, string> = {
      '3D000': '; create it, or correct DATABASE_URL',
      '28P01': '; correct the password in DATABASE_URL',
      ECONNREFUSED: '; start the server, or correct DATABASE_URL',
      DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_AUTHORITY,
      SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_AUTHORITY,
      UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_AUTHORITY,
    };
    // A refused connection to a name with several addresses has no message of its own.
    const { code = '', message } = error instanceof AggregateError ? error.errors[0] : (error as pg.DatabaseError);
    throw new DatabaseNotOpened(`Cannot open the database ${withoutPassword(url)}: ${message}${hints[code] ?? ''}`, {
      cause: error,
    });
  };
}
