import type { DatabaseSync } from 'node:sqlite';
import { DatabaseNotOpened } from '../engine.ts';
import { openToRead } from './database-file.ts';

/** SQLite's result code for a table that is not there (sqlite.org/rescode.html). */
const SQLITE_ERROR = 1;

/** The number of rows in each table. */
export function countRows(database: DatabaseSync): Record<string, number> {
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all();
  const count = (name: unknown) => Number(database.prepare(`SELECT count(*) AS count FROM "${name}"`).get()?.count);
  return Object.fromEntries(tables.map(({ name }) => [`${name}`, count(name)]));
}

/**
 * True if one file never held a category or a key, and an earlier one of the same database did: ids are never given
 * again, so it is not what became of the other. Throws `DatabaseNotOpened`.
 */
export function wasReplaced(earlier: string, later: string): boolean {
  const [before, after] = [everHeld(earlier), everHeld(later)];
  return before.some((held, index) => held && !after[index]);
}

function everHeld(file: string): boolean[] {
  using database = openToRead(file);
  const held = ['SELECT 1 FROM category_counter WHERE last_id > 0', 'SELECT 1 FROM api_keys LIMIT 1'];
  return held.map((sql) => database.prepare(sql).get() !== undefined);
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
