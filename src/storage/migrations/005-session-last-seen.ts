import sql, { type Sql } from 'sql-template-tag';
import type { Transaction } from '../engine.ts';

/** When each session of the console was last used; instances of the previous version leave it at 0. */
export async function sessionLastSeen(trx: Transaction, int: Sql): Promise<void> {
  await trx.run(sql`alter table console_sessions add column last_seen_at ${int} not null default 0`);
}
