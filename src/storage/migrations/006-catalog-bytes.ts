import { type Kysely, sql } from 'kysely';
import type { Int64 } from '../sql/tables.ts';

const ROWS_AT_ONCE = 1_000;

/** How many bytes the categories take in their list, each as JSON with what separates it from the next one. */
export async function catalogBytes(db: Kysely<unknown>, int64: Int64): Promise<void> {
  // No create runs from here on: PostgreSQL locks the counter, which every create changes, SQLite the whole file.
  await db.schema
    .alterTable('category_counter')
    .addColumn('bytes', int64, (column) => column.notNull().defaultTo(0))
    .execute();
  let [bytes, after] = [0, 0];
  for (;;) {
    const { rows } = await sql<{ id: number; name: string; description: string | null }>`
      select id, name, description from categories
      where id > ${after} order by id limit ${sql.lit(ROWS_AT_ONCE)}`.execute(db);
    for (const { id, name, description } of rows) {
      const category = description === null ? { id, name } : { id, name, description };
      bytes += Buffer.byteLength(JSON.stringify(category)) + 1;
      after = id;
    }
    if (rows.length < ROWS_AT_ONCE) break;
  }
  await sql`update category_counter set bytes = ${bytes}`.execute(db);
}
