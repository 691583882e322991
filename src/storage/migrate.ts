import type { Kysely } from 'kysely';
import { Migrator } from 'kysely/migration';
import { categoriesKeysLimits } from './migrations/001-categories-keys-limits.ts';
import { petsOrdersOutcomes } from './migrations/002-pets-orders-outcomes.ts';
import type { Tables } from './tables.ts';

/** Every migration in its order. One that was released is never changed. */
const MIGRATIONS = {
  '001-categories-keys-limits': { up: categoriesKeysLimits },
  '002-pets-orders-outcomes': { up: petsOrdersOutcomes },
};

/** Brings the tables up to date and returns the names of the migrations that this took. Throws what the engine throws. */
export async function migrate(db: Kysely<Tables>): Promise<string[]> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => MIGRATIONS } });
  const known = await migrator.getMigrations();
  // Asked first, so that a database that cannot be written to can still be read from.
  if (known.every((migration) => migration.executedAt)) return [];
  const { error, results } = await migrator.migrateToLatest();
  if (error) throw error;
  return (results ?? []).map((result) => result.migrationName);
}
