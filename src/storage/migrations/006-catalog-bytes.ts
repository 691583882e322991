import sql, { type Sql } from 'sql-template-tag';
import type { Transaction } from '../engine.ts';
import type { Tables } from '../sql/tables.ts';

const ROWS_AT_ONCE = 1_000;

/** The bytes that the categories take in their list, each as JSON with what separates it from the next one. */
export async function catalogBytes(trx: Transaction, int: Sql): Promise<void> {
  // No create runs from here on: PostgreSQL locks the counter, which every create changes, SQLite the whole file.
  await trx.run(sql`alter table category_counter add column bytes ${int} not null default 0`);
  let [bytes, after] = [0, 0];
  for (;;) {
    const rows = await trx.all<Pick<Tables['categories'], 'id' | 'name' | 'description'>>(sql`
      select id, name, description from categories where id > ${after} order by id limit ${ROWS_AT_ONCE}`);
    for (const { id, name, description } of rows) {
      const category = description === null ? { id, name } : { id, name, description };
      bytes += Buffer.byteLength(JSON.stringify(category)) + 1;
      after = id;
    }
    if (rows.length < ROWS_AT_ONCE) break;
  }
  await trx.run(sql`update category_counter set bytes = ${bytes}`);
}
