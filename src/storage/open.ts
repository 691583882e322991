import { type DatabaseAddress, withoutPassword } from '../config.ts';
import type { Claim, Engine } from './engine.ts';
import type { Purpose } from './migrate.ts';
import { SqlStorage, type SqlStorageOptions } from './sql/storage.ts';
import { claimFile } from './sqlite/claim.ts';
import { openSqlite } from './sqlite/engine.ts';

/** Opens the configured database for a purpose. Throws `DatabaseNotOpened`. */
export async function openStorage(
  database: DatabaseAddress,
  options: SqlStorageOptions,
  purpose?: Purpose,
): Promise<SqlStorage> {
  return new SqlStorage(await openEngine(database, { purpose }), options);
}

/** Opens an engine. Throws `DatabaseNotOpened`. */
export async function openEngine(
  database: DatabaseAddress,
  { purpose = 'migrate', patient = false }: { purpose?: Purpose | undefined; patient?: boolean } = {},
): Promise<Engine> {
  if (database.engine === 'sqlite') return openSqlite(database.file, purpose);
  const { openPostgres } = await import('./postgres/engine.ts');
  return openPostgres(database.url, { purpose, patient });
}

/**
 * Claims a database for a service until disposed of, exclusively or (`together`) shared with instances that count in
 * the same Redis: instances that each counted alone would multiply every limit. Throws `DatabaseNotOpened`.
 */
export async function claimForService(database: DatabaseAddress, { together }: { together: boolean }): Promise<Claim> {
  const refusal = together
    ? 'A service without REDIS_URL runs on this database and counts alone: stop it, or give it REDIS_URL and INSTANCES'
    : 'Another service runs on this database: stop it, or give both REDIS_URL and INSTANCES, so that they count together';
  return claim(database, { together, refusal });
}

/** Claims a database exclusively until disposed of, so that no service runs on it. Throws `DatabaseNotOpened`. */
export async function claimForTransfer(database: DatabaseAddress): Promise<AsyncDisposable> {
  const address = database.engine === 'sqlite' ? database.file : withoutPassword(database.url);
  const refusal = `A service runs on the database ${address}: stop all of its instances`;
  return claim(database, { together: false, refusal });
}

async function claim(
  database: DatabaseAddress,
  { together, refusal }: { together: boolean; refusal: string },
): Promise<Claim> {
  if (database.engine === 'postgres') {
    const { claimPostgres } = await import('./postgres/connection.ts');
    return claimPostgres(database.url, { together, refusal });
  }
  const claimed = claimFile(database.file);
  return { [Symbol.asyncDispose]: async () => claimed[Symbol.dispose]() };
}
