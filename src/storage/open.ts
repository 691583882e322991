import type { Config } from '../config.ts';
import { SqlStorage, type SqlStorageOptions } from './sql-storage.ts';
import { openSqlite } from './sqlite.ts';

/** Opens the database that the settings name, with its tables up to date. Throws `DatabaseNotOpened`. */
export async function openStorage(database: Config['database'], options: SqlStorageOptions): Promise<SqlStorage> {
  return new SqlStorage(await openSqlite(database.file), options);
}
