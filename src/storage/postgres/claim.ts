import { DatabaseNotOpened } from '../engine.ts';
import { connect, endSoon, KeptConnection, notOpened } from './connection.ts';

/** The advisory lock that a lone service holds exclusively, and services that share Redis hold shared. */
const CLAIM_LOCK = 7_251_003;
const RECLAIM_MS = 1_000;

/** Claims a database as `claimForService` does, anew whenever its connection breaks. Throws `DatabaseNotOpened`. */
export async function claimPostgres(
  url: string,
  { together, refusal }: { together: boolean; refusal: string },
): Promise<AsyncDisposable> {
  const claim = new KeptConnection(url, {
    purpose: 'claim',
    retryMs: RECLAIM_MS,
    async prepare(client) {
      const { rows } = await client.query<{ held: boolean }>(
        `select pg_try_advisory_lock${together ? '_shared' : ''}(${CLAIM_LOCK}) as held`,
      );
      return rows[0]?.held === true;
    },
  });
  if (!(await claim.open().catch(notOpened(url)))) throw new DatabaseNotOpened(refusal);
  return claim;
}

/** True if a service holds a claim of a database. Throws `DatabaseNotOpened`. */
export async function isPostgresClaimed(url: string): Promise<boolean> {
  const client = await connect(url, 'claim').catch(notOpened(url));
  try {
    const { rows } = await client.query(
      `select 1 from pg_locks where locktype = 'advisory' and classid = 0 and objid = ${CLAIM_LOCK} and database =
        (select oid from pg_database where datname = current_database())`,
    );
    return rows.length > 0;
  } finally {
    await endSoon(client);
  }
}
