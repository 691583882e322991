import sql from 'sql-template-tag';
import type { Transaction } from '../engine.ts';

/** One index per combination of filters, in the order of a page; on the spelling of `id` see `sql/pets.ts`. */
export async function filterIndexes(trx: Transaction): Promise<void> {
  await trx.run(sql`drop index pets_by_category`);
  await trx.run(sql`drop index pets_by_status`);
  await trx.run(sql`create index pets_by_category on pets (category_id, (id + 0))`);
  await trx.run(sql`create index pets_by_status on pets (status, (id + 0))`);
  await trx.run(sql`create index pets_by_category_and_status on pets (category_id, status, (id - 0))`);
  await trx.run(sql`create index orders_by_pet on orders (pet_id, (id + 0))`);
}
