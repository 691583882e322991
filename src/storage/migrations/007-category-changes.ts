import sql, { type Sql } from 'sql-template-tag';
import type { Transaction } from '../engine.ts';

/** Which category each of the latest renames and deletions changed, so that others read that one alone. */
export async function categoryChanges(trx: Transaction, int: Sql): Promise<void> {
  await trx.run(sql`
    create table category_changes (
      version ${int} primary key,
      category_id ${int} not null
    )`);
}
