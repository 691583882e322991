import type { Kysely } from 'kysely';
import type { Int64 } from '../sql/tables.ts';

/** Which category each of the latest renames and deletions changed, so that others read that one alone. */
export async function categoryChanges(db: Kysely<unknown>, int64: Int64): Promise<void> {
  await db.schema
    .createTable('category_changes')
    .addColumn('version', int64, (column) => column.primaryKey())
    .addColumn('category_id', int64, (column) => column.notNull())
    .execute();
}
