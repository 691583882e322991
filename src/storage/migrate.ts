import { type Kysely, sql } from 'kysely';
import type { Int64, Tables } from './sql/tables.ts';

/** Every migration in order, loaded only when one is pending. Never change a released one. */
const MIGRATIONS = {
  '001-categories-keys-limits': async () =>
    (await import('./migrations/001-categories-keys-limits.ts')).categoriesKeysLimits,
  '002-pets-orders-outcomes': async () => (await import('./migrations/002-pets-orders-outcomes.ts')).petsOrdersOutcomes,
  '003-usage-audit-sessions': async () => (await import('./migrations/003-usage-audit-sessions.ts')).usageAuditSessions,
  '004-row-checksums': async () => (await import('./migrations/004-row-checksums.ts')).rowChecksums,
  '005-session-last-seen': async () => (await import('./migrations/005-session-last-seen.ts')).sessionLastSeen,
  '006-catalog-bytes': async () => (await import('./migrations/006-catalog-bytes.ts')).catalogBytes,
  '007-category-changes': async () => (await import('./migrations/007-category-changes.ts')).categoryChanges,
  '008-attempts': async () => (await import('./migrations/008-attempts.ts')).attempts,
  '009-filter-indexes': async () => (await import('./migrations/009-filter-indexes.ts')).filterIndexes,
  '010-operators': async () => (await import('./migrations/010-operators.ts')).operators,
};

/** The names under which a database records the migrations applied to it. */
export const MIGRATION_NAMES: readonly string[] = Object.keys(MIGRATIONS);

/** Brings the tables up to date. Throws what the engine throws. */
export async function migrate(db: Kysely<Tables>, int64: Int64): Promise<void> {
  const applied = await appliedMigrations(db);
  if (!applied.every((name) => MIGRATION_NAMES.includes(name))) {
    // An older version must not write into tables that it does not know.
    throw new Error('its tables were made by a later version; install that one, or restore a backup from before it');
  }
  // Lock nothing if nothing is pending, so that a database can be opened while another process writes.
  if (MIGRATION_NAMES.every((name) => applied.includes(name))) return;
  const { Migrator } = await import('kysely/migration');
  const migrations = Object.entries(MIGRATIONS).map(async ([name, load]) => {
    const up = await load();
    return [name, { up: (on: Kysely<unknown>) => up(on, int64) }] as const;
  });
  const getMigrations = async () => Object.fromEntries(await Promise.all(migrations));
  const { error } = await new Migrator({ db, provider: { getMigrations } }).migrateToLatest();
  if (error) throw error;
}

/** Empty if unreadable: either there are no tables yet, or the migration fails for the same reason and reports it. */
async function appliedMigrations(db: Kysely<Tables>): Promise<string[]> {
  const read = sql<{ name: string }>`select name from kysely_migration`.execute(db);
  return read.then(
    ({ rows }) => rows.map(({ name }) => name),
    () => [],
  );
}
