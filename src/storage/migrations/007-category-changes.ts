import sql, { raw } from 'sql-template-tag';
import type { Transaction } from '../engine.ts';
import type { Int64 } from '../sql/tables.ts';

/** Which category each of the latest renames and deletions changed, so that others read that one alone. */
export async function categoryChanges(trx: Transaction, int64: Int64): Promise<void> {
  const int = raw(int64);
  await trx.run(sql`
    create table category_changes (
      version ${int} primary key,
      category_id ${int} not null
    )`);
}
