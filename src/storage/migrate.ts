import { type Kysely, sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import { categoriesKeysLimits } from './migrations/001-categories-keys-limits.ts';
import { petsOrdersOutcomes } from './migrations/002-pets-orders-outcomes.ts';
import { usageAuditSessions } from './migrations/003-usage-audit-sessions.ts';
import type { Int64, Tables } from './tables.ts';

/** Every migration in its order. One that was released is never changed. */
const MIGRATIONS = {
  '001-categories-keys-limits': categoriesKeysLimits,
  '002-pets-orders-outcomes': petsOrdersOutcomes,
  '003-usage-audit-sessions': usageAuditSessions,
};

/** The names under which a database says what was done to it. */
export const MIGRATION_NAMES: readonly string[] = Object.keys(MIGRATIONS);

/** Brings the tables up to date and returns the names of the migrations that this took. Throws what the engine throws. */
export async function migrate(db: Kysely<Tables>, int64: Int64): Promise<string[]> {
  const migrations = Object.fromEntries(
    Object.entries(MIGRATIONS).map(([name, up]) => [name, { up: (on: Kysely<unknown>) => up(on, int64) }]),
  );
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  await assertNotLater(db);
  const known = await migrator.getMigrations();
  // Asked first, so that a database that cannot be written to can still be read from.
  if (known.every((migration) => migration.executedAt)) return [];
  const { error, results } = await migrator.migrateToLatest();
  if (error) throw error;
  return (results ?? []).map((result) => result.migrationName);
}

/** An older version must not write into tables that it does not know. */
async function assertNotLater(db: Kysely<Tables>): Promise<void> {
  const found = await db.introspection.getTables({ withInternalKyselyTables: true });
  if (!found.some(({ name }) => name === 'kysely_migration')) return;
  const done = await sql<{ name: string }>`select name from kysely_migration`.execute(db);
  if (done.rows.every(({ name }) => MIGRATION_NAMES.includes(name))) return;
  throw new Error('its tables were made by a later version; install that one, or restore a backup from before it');
}
