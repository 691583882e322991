import { setImmediate as nextTurn } from 'node:timers/promises';
import sql, { raw } from 'sql-template-tag';
import type { Made, NewestQuery } from '../../catalog/resource.ts';
import type { Connection } from '../engine.ts';
import type { Tables } from './tables.ts';
import type { Transactions } from './transactions.ts';

type Noun = 'categories' | 'pets' | 'orders';
export type Read<Row> = (db: Connection, below: number, limit: number) => Promise<Row[]>;

/** Rows that a list reads before others are served, where no index has what it filters by. */
const ROWS_READ_AT_ONCE = 1_000;

/** A page of what was made, the newest first. */
export async function newest<Row extends Tables[Noun], T extends { readonly id: number }>(
  transactions: Transactions,
  { below, limit, key, owner, ...query }: NewestQuery<T>,
  { read, toResource }: { read: Read<Row>; toResource(row: Row): T },
): Promise<Made<T>[]> {
  const owned = owner === undefined ? undefined : new Set(await keysOf(transactions, owner));
  const isWanted = (made: Made<T>) =>
    made.keyId === (key ?? made.keyId) && (owned?.has(made.keyId) ?? true) && query.isWanted(made);
  const toMade = (row: Row) => ({ ...toResource(row), createdAt: row.created_at, keyId: row.created_by });
  return inSteps({ limit, isWanted }, async (last, atOnce) => {
    const rows = await transactions.read((db) => read(db, last?.id ?? below, atOnce));
    return rows.map(toMade);
  });
}

/** The ids of the keys of an owner. */
export async function keysOf(transactions: Transactions, owner: string): Promise<string[]> {
  const keys = sql`select id from api_keys where owner = ${owner}`;
  return (await transactions.read((db) => db.all<{ id: string }>(keys))).map(({ id }) => id);
}

/** Reads the rows of a table, the newest first. */
export function rowsOf<Table extends Noun>(table: Table): Read<Tables[Table]> {
  return (db, below, limit) =>
    db.all(sql`select * from ${raw(table)} where id < ${below} order by id desc limit ${limit}`);
}

/** Reads as many rows as are wanted; then more, step by step behind the last row, until so many of them are wanted. */
export async function inSteps<Row>(
  { limit, isWanted }: { limit: number; isWanted(row: Row): boolean },
  read: (last: Row | undefined, atOnce: number) => Promise<Row[]>,
): Promise<Row[]> {
  const found: Row[] = [];
  let last: Row | undefined;
  for (let atOnce = limit; ; atOnce = ROWS_READ_AT_ONCE) {
    const rows = await read(last, atOnce);
    found.push(...rows.filter(isWanted));
    if (rows.length < atOnce || found.length >= limit) return found.slice(0, limit);
    last = rows.at(-1);
    await nextTurn();
  }
}
