import sql, { bulk, empty, join, raw, type Sql } from 'sql-template-tag';
import type { Connection, Statement, Transaction } from '../engine.ts';
import { ROWS_PER_STATEMENT, type Tables } from './tables.ts';

/** An insert of rows that list their columns in the same order; `tail` follows them. */
export function insertInto<Table extends keyof Tables>(
  table: Table,
  rows: readonly Tables[Table][],
  tail: Sql = empty,
): Sql {
  const columns = Object.keys(rows[0] ?? {}).map((column) => raw(column));
  return sql`insert into ${raw(table)} (${join(columns)}) values ${bulk(rows.map((row) => Object.values(row)))} ${tail}`;
}

/** The assignments of an update: the columns of a part of a row. */
export function assignments(row: Readonly<Record<string, unknown>>): Sql {
  return join(Object.entries(row).map(([column, value]) => sql`${raw(column)} = ${value}`));
}

/** A `where` with conditions all of which must hold; nothing if there are none, which SQLite counts faster. */
export function where(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? empty : sql`where ${join(conditions, ' and ')}`;
}

/** The condition that an expression begins with a text, in its case. */
export function startsWith(text: string, expression: string): Sql {
  return sql`${raw(expression)} like ${`${escaped(text)}%`} escape '\\'`;
}

function escaped(text: string): string {
  return text.replaceAll(/[\\%_]/g, '\\$&');
}

/** The condition that one of the columns contains a text, regardless of case. */
export function contains(text: string, columns: readonly string[]): Sql {
  const pattern = `%${escaped(text)}%`;
  const matches = columns.map((column) => sql`lower(${raw(column)}) like lower(${pattern}) escape '\\'`);
  return sql`(${join(matches, ' or ')})`;
}

/** The one row that a statement returns. Throws if it returns none. */
export async function one<Row>(on: Connection, statement: Statement): Promise<Row> {
  const [row] = await on.all<Row>(statement);
  if (row === undefined) throw new Error(`No row: ${statement.sql}`);
  return row;
}

/** The row with an id, whether or not it is intact; undefined if there is none. */
export async function findRow<Table extends 'categories' | 'pets' | 'orders'>(
  on: Connection,
  table: Table,
  id: number,
): Promise<Tables[Table] | undefined> {
  const [row] = await on.all<Tables[Table]>(sql`select * from ${raw(table)} where id = ${id}`);
  return row;
}

/**
 * Makes a multi-row insert in statements of bounded size. Their text is put together once per number of rows: that
 * takes longer than SQLite takes to run it. All rows list their columns in the same order; a `tail` follows them, which
 * from one call to the next may differ in the values that it binds alone.
 */
export function rowsInsert<Table extends keyof Tables>(table: Table, usualTail?: Sql) {
  const texts = new Map<number, Omit<Statement, 'values'>>();
  const textFor = (rows: readonly Tables[Table][], tail: Sql | undefined) => {
    const { sql, text } = insertInto(table, rows, tail);
    texts.set(rows.length, { sql, text });
    return { sql, text };
  };
  return async (on: Connection, rows: readonly Tables[Table][], tail = usualTail): Promise<void> => {
    for (let first = 0; first < rows.length; first += ROWS_PER_STATEMENT) {
      const some = rows.slice(first, first + ROWS_PER_STATEMENT);
      const values: unknown[] = [];
      for (const row of some) for (const column in row) values.push(row[column]);
      if (tail) values.push(...tail.values);
      await on.run({ ...(texts.get(some.length) ?? textFor(some, tail)), values });
    }
  };
}

/** Assigns the next id of a table, above all ids ever assigned: a deleted row does not free its id. */
export async function nextId(trx: Transaction, kind: Tables['last_ids']['kind']): Promise<number> {
  const { last_id } = await one<Tables['last_ids']>(trx, sql`select * from last_ids where kind = ${kind}`);
  const id = last_id + 1;
  await trx.run(sql`update last_ids set last_id = ${id} where kind = ${kind}`);
  return id;
}
