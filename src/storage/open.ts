import type { DatabaseAddress } from '../config.ts';
import { openPostgres } from './postgres.ts';
import { claimPostgres } from './postgres-claim.ts';
import { SqlStorage, type SqlStorageOptions } from './sql-storage.ts';
import { openSqlite } from './sqlite.ts';
import { claimFile } from './sqlite-file.ts';

/** Opens the database that the settings name, with its tables up to date. Throws `DatabaseNotOpened`. */
export async function openStorage(database: DatabaseAddress, options: SqlStorageOptions): Promise<SqlStorage> {
  const engine = database.engine === 'sqlite' ? await openSqlite(database.file) : await openPostgres(database.url);
  return new SqlStorage(engine, options);
}

/**
 * Claims a database for a service until disposed of, so that limits are never counted twice over: alone, or together
 * with others that count in the same place. Throws `DatabaseNotOpened`.
 */
export async function claimForService(
  database: DatabaseAddress,
  { together }: { together: boolean },
): Promise<AsyncDisposable> {
  if (database.engine === 'postgres') return claimPostgres(database.url, { together });
  const claim = claimFile(database.file);
  return { [Symbol.asyncDispose]: async () => claim[Symbol.dispose]() };
}
