import { type Kysely, sql } from 'kysely';

/** One index per combination of filters, in the order of a page; on the spelling of `id` see `sql/pets.ts`. */
export async function filterIndexes(db: Kysely<unknown>): Promise<void> {
  await sql`drop index pets_by_category`.execute(db);
  await sql`drop index pets_by_status`.execute(db);
  await sql`create index pets_by_category on pets (category_id, (id + 0))`.execute(db);
  await sql`create index pets_by_status on pets (status, (id + 0))`.execute(db);
  await sql`create index pets_by_category_and_status on pets (category_id, status, (id - 0))`.execute(db);
  await sql`create index orders_by_pet on orders (pet_id, (id + 0))`.execute(db);
}
