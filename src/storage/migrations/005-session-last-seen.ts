import sql, { raw } from 'sql-template-tag';
import type { Transaction } from '../engine.ts';
import type { Int64 } from '../sql/tables.ts';

/** When each session of the console was last used; instances of the previous version leave it at 0. */
export async function sessionLastSeen(trx: Transaction, int64: Int64): Promise<void> {
  await trx.run(sql`alter table console_sessions add column last_seen_at ${raw(int64)} not null default 0`);
}
