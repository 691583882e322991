import sql, { raw } from 'sql-template-tag';
import type { Transaction } from '../engine.ts';
import type { Int64 } from '../sql/tables.ts';

/** Which attempts at writing were stored, so that one whose outcome was lost can be retried. */
export async function attempts(trx: Transaction, int64: Int64): Promise<void> {
  await trx.run(sql`
    create table attempts (
      id text primary key,
      at ${raw(int64)} not null
    )`);
  await trx.run(sql`create index attempts_by_age on attempts (at)`);
}
