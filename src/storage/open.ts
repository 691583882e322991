import { type DatabaseAddress, withoutPassword } from '../config.ts';
import type { Engine } from './engine.ts';
import { openPostgres } from './postgres.ts';
import { claimPostgres } from './postgres-claim.ts';
import { SqlStorage, type SqlStorageOptions } from './sql-storage.ts';
import { openSqlite } from './sqlite.ts';
import { claimFile } from './sqlite-file.ts';

/** Opens the database that the settings name, with its tables up to date. Throws `DatabaseNotOpened`. */
export async function openStorage(database: DatabaseAddress, options: SqlStorageOptions): Promise<SqlStorage> {
  return new SqlStorage(await openEngine(database), options);
}

/** Opens an engine, with its tables up to date; a `patient` one has no deadlines. Throws `DatabaseNotOpened`. */
export function openEngine(database: DatabaseAddress, { patient = false } = {}): Promise<Engine> {
  return database.engine === 'sqlite' ? openSqlite(database.file) : openPostgres(database.url, { patient });
}

/**
 * Claims a database for a service until disposed of, so that limits are never counted twice over: alone, or together
 * with others that count in the same place. Throws `DatabaseNotOpened`.
 */
export async function claimForService(
  database: DatabaseAddress,
  { together }: { together: boolean },
): Promise<AsyncDisposable> {
  const refusal = together
    ? 'A service without REDIS_URL runs on this database and counts alone: stop it, or give it REDIS_URL and INSTANCES'
    : 'Another service runs on this database: stop it, or give both REDIS_URL and INSTANCES, so that they count together';
  return database.engine === 'postgres' ? claimPostgres(database.url, { together, refusal }) : claim(database.file);
}

/** Claims a database until disposed of, so that no service runs on it meanwhile. Throws `DatabaseNotOpened`. */
export async function claimForTransfer(database: DatabaseAddress): Promise<AsyncDisposable> {
  if (database.engine === 'sqlite') return claim(database.file);
  const refusal = `A service runs on the database ${withoutPassword(database.url)}: stop all of its instances`;
  return claimPostgres(database.url, { together: false, refusal });
}

function claim(file: string): AsyncDisposable {
  const claimed = claimFile(file);
  return { [Symbol.asyncDispose]: async () => claimed[Symbol.dispose]() };
}
