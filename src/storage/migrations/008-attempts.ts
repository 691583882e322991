import type { Kysely } from 'kysely';
import type { Int64 } from '../sql/tables.ts';

/** Which attempts at writing were stored, so that one whose outcome was lost can be retried. */
export async function attempts(db: Kysely<unknown>, int64: Int64): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('attempts')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('at', int64, (column) => column.notNull())
    .execute();
  await schema.createIndex('attempts_by_age').on('attempts').column('at').execute();
}
