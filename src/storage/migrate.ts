import type { Kysely } from 'kysely';
import { Migrator } from 'kysely/migration';
import { categoriesKeysLimits } from './migrations/001-categories-keys-limits.ts';
import { petsOrdersOutcomes } from './migrations/002-pets-orders-outcomes.ts';
import { usageAuditSessions } from './migrations/003-usage-audit-sessions.ts';
import type { Tables } from './tables.ts';

/** The engine's name for whole numbers up to 2^63; in SQLite only `integer` makes a primary key the row's own number. */
export type Int64 = 'integer' | 'bigint';

/** Every migration in its order. One that was released is never changed. */
const MIGRATIONS = {
  '001-categories-keys-limits': categoriesKeysLimits,
  '002-pets-orders-outcomes': petsOrdersOutcomes,
  '003-usage-audit-sessions': usageAuditSessions,
};

/** Brings the tables up to date and returns the names of the migrations that this took. Throws what the engine throws. */
export async function migrate(db: Kysely<Tables>, int64: Int64): Promise<string[]> {
  const migrations = Object.fromEntries(
    Object.entries(MIGRATIONS).map(([name, up]) => [name, { up: (on: Kysely<unknown>) => up(on, int64) }]),
  );
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  const known = await migrator.getMigrations();
  // Asked first, so that a database that cannot be written to can still be read from.
  if (known.every((migration) => migration.executedAt)) return [];
  const { error, results } = await migrator.migrateToLatest();
  if (error) throw error;
  return (results ?? []).map((result) => result.migrationName);
}
