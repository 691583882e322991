import sql, { type Sql } from 'sql-template-tag';
import type { Transaction } from '../engine.ts';

/** Which attempts at writing were stored, so that one whose outcome was lost can be retried. */
export async function attempts(trx: Transaction, int: Sql): Promise<void> {
  await trx.run(sql`
    create table attempts (
      id text primary key,
      at ${int} not null
    )`);
  await trx.run(sql`create index attempts_by_age on attempts (at)`);
}
