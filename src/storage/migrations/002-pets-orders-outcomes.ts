import type { Kysely } from 'kysely';
import type { Int64 } from '../sql/tables.ts';

/** Creates the tables of pets with their stock, orders, and create outcomes for retries. */
export async function petsOrdersOutcomes(db: Kysely<unknown>, int64: Int64): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('pets')
    .addColumn('id', int64, (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('category_id', int64, (column) => column.notNull().references('categories.id'))
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('quantity', int64, (column) => column.notNull())
    .addColumn('created_at', int64, (column) => column.notNull())
    .addColumn('created_by', 'text', (column) => column.notNull())
    .execute();
  await schema.createIndex('pets_by_category').on('pets').column('category_id').execute();
  await schema.createIndex('pets_by_status').on('pets').columns(['status', 'id']).execute();

  await schema
    .createTable('orders')
    .addColumn('id', int64, (column) => column.primaryKey())
    .addColumn('pet_id', int64, (column) => column.notNull().references('pets.id'))
    .addColumn('quantity', int64, (column) => column.notNull())
    .addColumn('ship_date', 'text')
    .addColumn('created_at', int64, (column) => column.notNull())
    .addColumn('created_by', 'text', (column) => column.notNull())
    .execute();

  await schema
    .createTable('last_ids')
    .addColumn('kind', 'text', (column) => column.primaryKey())
    .addColumn('last_id', int64, (column) => column.notNull())
    .execute();

  await schema
    .createTable('create_outcomes')
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('idempotency_key', 'text', (column) => column.notNull())
    .addColumn('fingerprint', 'text', (column) => column.notNull())
    .addColumn('resource', 'text', (column) => column.notNull())
    .addColumn('created_at', int64, (column) => column.notNull())
    .addPrimaryKeyConstraint('create_outcomes_by_key', ['key_id', 'idempotency_key'])
    .execute();
  await schema.createIndex('create_outcomes_by_age').on('create_outcomes').column('created_at').execute();

  const filled = db as Kysely<{ last_ids: { kind: string; last_id: number } }>;
  await filled
    .insertInto('last_ids')
    .values(['pets', 'orders'].map((kind) => ({ kind, last_id: 0 })))
    .execute();
}
