import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { categoryBytes } from '../../catalog/category-list.ts';
import { MIGRATION_NAMES } from '../migrate.ts';
import { CHECKED_TABLES, type CheckedTable, isIntact } from '../sql/checksum.ts';
import { insertInto } from '../sql/statement.ts';
import type { Tables } from '../sql/tables.ts';

/** Row numbers that are tried one by one between two parts of a table that can be read. */
const TRIED_MAX = 2_000_000;
const NUMBER = 'row number';

type Row = Record<string, SQLInputValue>;

/**
 * Copies every row that can be read from a database with damaged pages into a new file. Returns what could not be read,
 * by table and row number, or undefined if not even the list of the tables can be.
 */
export function readSoundRows(damaged: string, into: string): string[] | undefined {
  using from = new DatabaseSync(damaged, { readOnly: true });
  using target = new DatabaseSync(into);
  let schema: { type: string; name: string; sql: string }[];
  try {
    schema = from
      .prepare(
        "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid",
      )
      .all() as typeof schema;
  } catch {
    return undefined;
  }
  const lost: string[] = [];
  target.exec('BEGIN');
  const tables = schema.filter(({ type }) => type === 'table');
  for (const { sql } of tables) target.exec(sql);
  for (const { name } of tables) lost.push(...copyRows(from, name, target));
  // After the rows: a page of an index that is damaged has no part in what is written.
  for (const { type, sql } of schema) if (type !== 'table') target.exec(sql);
  mendCounters(target);
  target.exec('COMMIT');
  return lost;
}

/** Copies the rows of a table that can be read, and names the others. */
function copyRows(from: DatabaseSync, table: string, target: DatabaseSync): string[] {
  const lost = { numbers: [] as number[], rows: [] as string[] };
  for (const { [NUMBER]: number, ...row } of readableRows(from, table, lost)) {
    if (!isSound(table, row) || !insert(target, table, row)) lost.rows.push(`${table} ${number}`);
  }
  return [...rangesOf(lost.numbers).map((range) => `${table} ${range}`), ...lost.rows];
}

function isSound(table: string, row: Row): boolean {
  if (!CHECKED_TABLES.includes(table as CheckedTable)) return true;
  const checksum = row.checksum === null ? null : Number(row.checksum);
  return isIntact(table as CheckedTable, { ...row, checksum });
}

function insert(target: DatabaseSync, table: string, row: Row): boolean {
  const { sql, values } = insertInto(table as keyof Tables, [row as never]);
  try {
    target.prepare(sql).run(...(values as SQLInputValue[]));
    return true;
  } catch {
    return false;
  }
}

/** Reads from both ends up to the damage, and tries each row between; notes what cannot be read. */
function* readableRows(
  database: DatabaseSync,
  table: string,
  lost: { readonly numbers: number[]; readonly rows: string[] },
): Generator<Row> {
  const upward = yield* readRows(database, table, 'ORDER BY rowid');
  if (upward.isWhole) return;
  const first = upward.last ?? 0;
  const downward = yield* readRows(database, table, `WHERE rowid > ${first} ORDER BY rowid DESC`);
  const end = Math.min(downward.last ?? Number.POSITIVE_INFINITY, lastNumber(database, table) + 1);
  if (end === Number.POSITIVE_INFINITY || end - first > TRIED_MAX) {
    lost.rows.push(`${table} above ${first}`);
    return;
  }
  for (let number = first + 1; number < end; number += 1) {
    const { isWhole } = yield* readRows(database, table, `WHERE rowid = ${number}`);
    if (!isWhole) lost.numbers.push(number);
  }
}

/** Reads what can be read in an order. Returns the number of the last row, and whether that was all. */
function* readRows(
  database: DatabaseSync,
  table: string,
  order: string,
): Generator<Row, { readonly last: number | undefined; readonly isWhole: boolean }> {
  let last: number | undefined;
  try {
    const statement = database.prepare(`SELECT rowid AS "${NUMBER}", * FROM "${table}" NOT INDEXED ${order}`);
    statement.setReadBigInts(true);
    for (const row of statement.iterate()) {
      last = Number(row[NUMBER]);
      yield row as Row;
    }
    return { last, isWhole: true };
  } catch {
    return { last, isWhole: false };
  }
}

/** The highest number that a row may have, where another table tells it. */
function lastNumber(database: DatabaseSync, table: string): number {
  const counter =
    table === 'categories'
      ? 'SELECT last_id FROM category_counter'
      : `SELECT last_id FROM last_ids WHERE kind = '${table}'`;
  try {
    return Number(database.prepare(counter).get()?.last_id ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** Has the counters count what is there, and never go down: an id is not given again. */
function mendCounters(target: DatabaseSync): void {
  const highest = (table: string) => Number(target.prepare(`SELECT max(id) AS id FROM "${table}"`).get()?.id ?? 0);
  const rows = target.prepare('SELECT id, name, description FROM categories').all() as unknown as {
    id: number;
    name: string;
    description: string | null;
  }[];
  let bytes = 0;
  for (const { id, name, description } of rows) {
    bytes += categoryBytes({ id, name, ...(description !== null && { description }) });
  }
  const { last_id } = target.prepare('SELECT max(last_id) AS last_id FROM category_counter').get() as {
    last_id: number | null;
  };
  target.exec('DELETE FROM category_counter');
  target
    .prepare('INSERT INTO category_counter (last_id, count, bytes) VALUES (?, ?, ?)')
    .run(Math.max(last_id ?? 0, highest('categories')), rows.length, bytes);
  for (const kind of ['pets', 'orders', 'audit_entries']) {
    target.prepare('INSERT OR IGNORE INTO last_ids (kind, last_id) VALUES (?, ?)').run(kind, highest(kind));
  }
  for (const kind of ['categories', 'keys', 'clock']) {
    target.prepare('INSERT OR IGNORE INTO change_versions (kind, version) VALUES (?, 0)').run(kind);
  }
  // Without these a start would make the tables anew.
  const applied = target.prepare('INSERT OR IGNORE INTO kysely_migration (name, timestamp) VALUES (?, ?)');
  const { count } = target.prepare('SELECT count(*) AS count FROM kysely_migration').get() as { count: number };
  if (count === 0) for (const name of MIGRATION_NAMES) applied.run(name, new Date(0).toISOString());
}

/** Ascending numbers as ranges: 1–3, 7. */
function rangesOf(numbers: readonly number[]): string[] {
  const ranges: [number, number][] = [];
  for (const number of numbers) {
    const last = ranges.at(-1);
    if (last && last[1] === number - 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`));
}
