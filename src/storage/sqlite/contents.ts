import type { DatabaseSync } from 'node:sqlite';
import { DatabaseNotOpened } from '../engine.ts';
import type { Tables } from '../sql/tables.ts';

/** The number of rows in each table. */
export function countRows(database: DatabaseSync): Record<string, number> {
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all();
  const count = (name: unknown) => Number(database.prepare(`SELECT count(*) AS count FROM "${name}"`).get()?.count);
  return Object.fromEntries(tables.map(({ name }) => [`${name}`, count(name)]));
}

/** The value of a property of the database; undefined without one, or in tables of an earlier release. */
export function propertyOf(database: DatabaseSync, name: Tables['database_properties']['name']): string | undefined {
  const table = "SELECT 1 FROM sqlite_schema WHERE name = 'database_properties'";
  const value = 'SELECT value FROM database_properties WHERE name = ?';
  return database.prepare(table).get() && (database.prepare(value).get(name)?.value as string | undefined);
}

/** The migrations that were applied to a database. Throws `DatabaseNotOpened` if it holds no catalog. */
export function appliedIn(database: DatabaseSync, file: string): string[] {
  const table = "SELECT 1 FROM sqlite_schema WHERE name = 'kysely_migration'";
  if (!database.prepare(table).get()) throw new DatabaseNotOpened(`${file} holds no catalog; name the file of one`);
  return database
    .prepare('SELECT name FROM kysely_migration ORDER BY name')
    .all()
    .map(({ name }) => `${name}`);
}
