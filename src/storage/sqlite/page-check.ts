import type { DatabaseSync } from 'node:sqlite';

/** The damage that SQLite finds in the pages of a database, read as a whole; undefined for none. */
export function checkPages(database: DatabaseSync): string | undefined {
  const result = `${Object.values(database.prepare('PRAGMA quick_check(1)').get() ?? {})[0]}`;
  return result === 'ok' ? undefined : result.replaceAll(/[\s*]+/g, ' ').trim();
}
