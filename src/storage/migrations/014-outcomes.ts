import sql from 'sql-template-tag';
import type { Transaction } from '../engine.ts';

/**
 * Keeps the outcomes of all work that is done once in one table. Attempts are dropped: a service repeats none but its
 * own, and stops for this migration.
 */
export async function outcomes(trx: Transaction): Promise<void> {
  await trx.run(sql`alter table create_outcomes rename to outcomes`);
  await trx.run(sql`drop table attempts`);
}
