import { type Kysely, sql } from 'kysely';
import type { Int64, Tables } from './sql/tables.ts';

/** Every migration in its order, read when one is to be done. One that was released is never changed. */
const MIGRATIONS = {
  '001-categories-keys-limits': async () =>
    (await import('./migrations/001-categories-keys-limits.ts')).categoriesKeysLimits,
  '002-pets-orders-outcomes': async () => (await import('./migrations/002-pets-orders-outcomes.ts')).petsOrdersOutcomes,
  '003-usage-audit-sessions': async () => (await import('./migrations/003-usage-audit-sessions.ts')).usageAuditSessions,
};

/** The names under which a database says what was done to it. */
export const MIGRATION_NAMES: readonly string[] = Object.keys(MIGRATIONS);

/** Brings the tables up to date and returns the names of the migrations that this took. Throws what the engine throws. */
export async function migrate(db: Kysely<Tables>, int64: Int64): Promise<string[]> {
  const done = await namesOfDone(db);
  if (!done.every((name) => MIGRATION_NAMES.includes(name))) {
    // An older version must not write into tables that it does not know.
    throw new Error('its tables were made by a later version; install that one, or restore a backup from before it');
  }
  // Nothing is written where there is nothing to do, so that a database that cannot be written to can still be read from.
  if (MIGRATION_NAMES.every((name) => done.includes(name))) return [];
  const { Migrator } = await import('kysely/migration');
  const migrations = Object.entries(MIGRATIONS).map(async ([name, load]) => {
    const up = await load();
    return [name, { up: (on: Kysely<unknown>) => up(on, int64) }] as const;
  });
  const getMigrations = async () => Object.fromEntries(await Promise.all(migrations));
  const { error, results } = await new Migrator({ db, provider: { getMigrations } }).migrateToLatest();
  if (error) throw error;
  return (results ?? []).map((result) => result.migrationName);
}

/** None where that cannot be read: there are no tables yet, or the migration will meet the reason and tell it. */
async function namesOfDone(db: Kysely<Tables>): Promise<string[]> {
  const read = sql<{ name: string }>`select name from kysely_migration`.execute(db);
  return read.then(
    ({ rows }) => rows.map(({ name }) => name),
    () => [],
  );
}
