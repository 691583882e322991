import pg from 'pg';
import { DatabaseNotOpened } from './engine.ts';
import { notOpened } from './postgres.ts';

/** Names the lock that tells whether services on this database count together or one of them alone. */
const CLAIM_LOCK = 7_251_003;
const CONNECT_TIMEOUT_MS = 2_000;
const RECLAIM_MS = 1_000;

/**
 * Claims a database for a service until disposed of: for it alone, or together with others that count in the same
 * place, since services that each counted alone would multiply every limit. A claim whose connection breaks is made
 * again as soon as it can be. Throws `DatabaseNotOpened`.
 */
export async function claimPostgres(url: string, { together }: { together: boolean }): Promise<AsyncDisposable> {
  let isOver = false;
  let held: pg.Client | undefined;
  let retrying: NodeJS.Timeout | undefined;

  const claim = async (): Promise<boolean> => {
    const client = new pg.Client({
      connectionString: url,
      application_name: 'pet-catalog claim',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
    });
    client.on('error', () => {});
    await client.connect();
    const { rows } = await client.query<{ held: boolean }>(
      `select pg_try_advisory_lock${together ? '_shared' : ''}(${CLAIM_LOCK}) as held`,
    );
    if (!rows[0]?.held || isOver) {
      await client.end();
      return false;
    }
    held = client;
    client.on('end', () => {
      held = undefined;
      claimAgain();
    });
    return true;
  };
  const claimAgain = () => {
    if (isOver) return;
    retrying = setTimeout(() => {
      claim().then((isHeld) => isHeld || claimAgain(), claimAgain);
    }, RECLAIM_MS).unref();
  };

  if (!(await claim().catch(notOpened(url)))) {
    throw new DatabaseNotOpened(
      together
        ? 'A service without REDIS_URL runs on this database and counts alone: stop it, or give it REDIS_URL and INSTANCES'
        : 'Another service runs on this database: stop it, or give both REDIS_URL and INSTANCES, so that they count together',
    );
  }
  return {
    async [Symbol.asyncDispose]() {
      isOver = true;
      clearTimeout(retrying);
      await held?.end().catch(() => {});
    },
  };
}
