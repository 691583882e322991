import sql, { type Sql } from 'sql-template-tag';
import type { Transaction } from '../engine.ts';

/** Adds what operators see and do: when a key was paused, and the system's user beside a name that was given. */
export async function pausesAndUsers(trx: Transaction, int: Sql): Promise<void> {
  await trx.run(sql`alter table api_keys add column paused_at ${int}`);
  await trx.run(sql`alter table audit_entries add column system_user text`);
}
