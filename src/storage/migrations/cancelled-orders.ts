import sql from 'sql-template-tag';
import type { Transaction } from '../engine.ts';

/** Adds an index of the cancelled orders among the changes by keys; `target + 0`, so that no other one is taken. */
export async function cancelledOrders(trx: Transaction): Promise<void> {
  await trx.run(sql`create index cancelled_orders on changes (kind, (target + 0)) where verb = 'cancel'`);
}
