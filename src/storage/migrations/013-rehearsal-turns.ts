import sql, { raw } from 'sql-template-tag';
import type { Transaction } from '../engine.ts';
import type { Int64 } from '../sql/tables.ts';

/** Adds to the note of a rehearsed request how far the clock was turned, and its `Retry-After` in milliseconds. */
export async function rehearsalTurns(trx: Transaction, int64: Int64): Promise<void> {
  const int = raw(int64);
  await trx.run(sql`alter table rehearsal_notes add column turned_by ${int} not null default 0`);
  await trx.run(sql`alter table rehearsal_notes add column retry_after_ms ${int}`);
}
