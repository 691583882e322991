import type pg from 'pg';

/** A pooler with several idle connections may give out another one by chance. */
const TRIES = 5;

/** Why a pooler in transaction mode is refused, and what to do. */
export const TRANSACTION_POOLER = {
  finding: 'A pooler in transaction mode stands before PostgreSQL: locks, notifications and deadlines need a session',
  advice: 'set pool_mode = session, or connect to the server itself',
} as const;

/** True if one session of the server serves both connections, as a pooler does that gives it out by transaction. */
export async function shareSession(one: pg.Client, other: pg.Client): Promise<boolean> {
  const served = new Map<number, pg.Client>();
  for (let tries = 0; tries < TRIES; tries += 1) {
    for (const client of [one, other]) {
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
      const pid = rows[0]?.pid ?? 0;
      if ((served.get(pid) ?? client) !== client) return true;
      served.set(pid, client);
    }
  }
  return false;
}
