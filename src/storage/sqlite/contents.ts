import type { DatabaseSync } from 'node:sqlite';
import { DatabaseNotOpened } from '../engine.ts';
import { CHECKED_TABLES, isIntact, nameOf } from '../sql/checksum.ts';
import { DatabaseDamaged } from './failure.ts';
import { openToRead, openUnchanged } from './open-to-read.ts';

/** SQLite's result code for a table that is not there (sqlite.org/rescode.html). */
const SQLITE_ERROR = 1;
const COUNTED = ['categories', 'pets', 'orders', 'api_keys'] as const;

/** The content of a database file, or why that cannot be told. */
export interface Contents {
  readonly damage?: string;
  readonly rows: Readonly<Record<string, number>>;
  readonly lastCategory: number;
}

/** Counts what a database file holds, and changes nothing. Throws `DatabaseNotOpened` if it cannot be read. */
export function contentsOf(file: string): Contents {
  const nothing = { rows: {}, lastCategory: 0 };
  try {
    using reader = openToRead(file);
    const number = (sql: string) => Number(Object.values(reader.database.prepare(sql).get() ?? {})[0] ?? 0);
    const rows = Object.fromEntries(COUNTED.map((table) => [table, number(`SELECT count(*) FROM ${table}`)]));
    return { rows, lastCategory: number('SELECT max(id) FROM categories') };
  } catch (error) {
    if (error instanceof DatabaseDamaged) return { ...nothing, damage: error.damage };
    if ((error as { errcode?: number }).errcode === undefined) throw error;
    return { ...nothing, damage: (error as Error).message };
  }
}

/**
 * True if one file never held a category or a key, and an earlier one of the same database did: ids are never given
 * again, so it is not what became of the other. Both are taken to be sound.
 */
export function becameEmpty(earlier: string, later: string): boolean {
  const [before, after] = [everHeld(earlier), everHeld(later)];
  return before.some((held, index) => held && !after[index]);
}

function everHeld(file: string): boolean[] {
  using reader = openUnchanged(file);
  const held = ['SELECT 1 FROM category_counter WHERE last_id > 0', 'SELECT 1 FROM api_keys LIMIT 1'];
  return held.map((sql) => reader.database.prepare(sql).get() !== undefined);
}

/** The migrations that were applied to a database. Throws `DatabaseNotOpened` if it holds no catalog. */
export function appliedIn(database: DatabaseSync, file: string): string[] {
  try {
    const rows = database.prepare('SELECT name FROM kysely_migration ORDER BY name').all() as { name: string }[];
    return rows.map(({ name }) => name);
  } catch (error) {
    if ((error as { errcode?: number }).errcode !== SQLITE_ERROR) throw error;
    throw new DatabaseNotOpened(`${file} holds no catalog; name the file of one`);
  }
}

/**
 * The rows that are not as they were written, each by its table and id. Reads every row of the tables with checksums.
 */
export function findDamagedRows(database: DatabaseSync): string[] {
  const damaged: string[] = [];
  for (const table of CHECKED_TABLES) {
    const every = database.prepare(`SELECT * FROM ${table}`);
    // A number that is damaged may be greater than one of JavaScript's.
    every.setReadBigInts(true);
    for (const row of every.iterate()) {
      const checksum = row.checksum === null ? null : Number(row.checksum);
      if (!isIntact(table, { ...row, checksum })) damaged.push(`${table} ${nameOf(table, row)}`);
    }
  }
  return damaged;
}
