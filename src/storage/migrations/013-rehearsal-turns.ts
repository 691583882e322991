import sql, { type Sql } from 'sql-template-tag';
import type { Transaction } from '../engine.ts';

/** Adds to the note of a rehearsed request how far the clock was turned, and its `Retry-After` in milliseconds. */
export async function rehearsalTurns(trx: Transaction, int: Sql): Promise<void> {
  await trx.run(sql`alter table rehearsal_notes add column turned_by ${int} not null default 0`);
  await trx.run(sql`alter table rehearsal_notes add column retry_after_ms ${int}`);
}
