import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import { withoutPassword } from '../../config.ts';
import { DatabaseNotOpened } from '../engine.ts';

export const CONNECT_TIMEOUT_MS = 2_000;
/** When a statement is given up though the server did not: it, or the network, hangs. */
export const ANSWER_TIMEOUT_MS = 6_000;
/** What a server that hangs is given to take note of an end. */
const END_TIMEOUT_MS = 500;
/** After how long without a word a peer is asked whether it lives, how often, and how many times in vain. */
const KEEPALIVES = ['tcp_keepalives_idle = 10', 'tcp_keepalives_interval = 5', 'tcp_keepalives_count = 3'];

const UNKNOWN_AUTHORITY = '; name the certificate of its authority in DATABASE_URL with sslrootcert=FILE';

/**
 * Opens a connection outside of the pool, for a purpose that lasts. The server ends it within half a minute when this
 * machine is gone without a word. Throws what `pg` throws.
 */
export async function connect(url: string, purpose: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: `pet-catalog ${purpose}`,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    keepAlive: true,
  });
  // What breaks a connection also ends it, and its end is what is listened for.
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

/** Ends a connection, or a pool of them. One that hangs is not waited for. */
export async function endSoon(connection: pg.Client | pg.Pool): Promise<void> {
  await Promise.race([connection.end().catch(() => {}), wait(END_TIMEOUT_MS, undefined, { ref: false })]);
}

/** Throws the `DatabaseNotOpened` that says why a server could not be used, and what to do. */
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
