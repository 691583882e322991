import sql, { raw } from 'sql-template-tag';
import type { Connection, Database, Engine } from './engine.ts';
import type { Int64 } from './sql/tables.ts';

/** The migrations before the first here: a database has the tables of all of them and of that one, or is new. */
const BEFORE = [
  '001-categories-keys-limits',
  '002-pets-orders-outcomes',
  '003-usage-audit-sessions',
  '004-row-checksums',
  '005-session-last-seen',
  '006-catalog-bytes',
  '007-category-changes',
  '008-attempts',
  '009-filter-indexes',
  '010-operators',
  '011-rehearsal',
  '012-route-usage',
  '013-rehearsal-turns',
];
const FIRST = '014-outcomes-bans-usage@0.2.0';

/**
 * Every migration in order, loaded only when one is pending. Never change a released one. One that only adds is named
 * `NNN-what`: instances of releases before it work on. One that they cannot work with ends in the release that it came
 * with, `NNN-what@0.3.0`: they read it in the database, and refuse.
 */
const MIGRATIONS = {
  [FIRST]: async () => (await import('./migrations/second-release.ts')).tablesOfSecondRelease,
  '015-pauses-users': async () => (await import('./migrations/third-release.ts')).pausesAndUsers,
  '017-database-properties': async () => (await import('./migrations/database-properties.ts')).databaseProperties,
  '018-resets': async () => (await import('./migrations/third-release.ts')).resets,
  '019-changes': async () => (await import('./migrations/third-release.ts')).changes,
  '020-cancelled-orders': async () => (await import('./migrations/cancelled-orders.ts')).cancelledOrders,
};

/** The names under which a database records the migrations applied to it. */
export const MIGRATION_NAMES: readonly string[] = [...BEFORE, ...Object.keys(MIGRATIONS)];

/** Why this release must not touch tables with these migrations, and what to do; undefined if it may. */
export function refusal(applied: readonly string[]): { finding: string; advice: string } | undefined {
  if (applied.length > 0 && !applied.includes(FIRST))
    return { finding: 'are of 0.1.0', advice: 'run `pet-catalog migrate` of 0.3.0 first' };
  const later = applied.filter((name) => !MIGRATION_NAMES.includes(name)).toSorted();
  const needed = later.map((name) => name.split('@')[1]).findLast((release) => release !== undefined);
  if (needed === undefined) return undefined;
  return { finding: `need ${needed} or later`, advice: 'install that version, or restore a backup from before it' };
}

/**
 * The purpose for which a database is opened. `read` changes nothing, `change` writes to one that is there, `create`
 * makes one that is missing, `migrate` brings its tables up to date as well, and `serve` does so under a claim.
 */
export type Purpose = 'read' | 'change' | 'create' | 'migrate' | 'serve';

/** The codes of SQLite and PostgreSQL for a table that is not there. */
const NO_TABLE = new Set<unknown>([1, '42P01']);

/**
 * Brings the tables up to date, in one transaction, or throws that they are not if that is not the purpose. Throws what
 * the engine throws.
 */
export async function migrate(
  db: Database,
  { int64, purpose, lock }: { int64: Int64; purpose: Purpose; lock?: Engine['lock'] },
): Promise<void> {
  const applied = await appliedMigrations(db).catch((error) => {
    if (NO_TABLE.has(error.errcode ?? error.code)) return [];
    throw error;
  });
  // Lock nothing if nothing is pending, so that a database can be opened while another process writes.
  const pending = pendingAfter(applied);
  if (pending.length === 0) return;
  const isNew = applied.length === 0;
  if (isNew && (purpose === 'read' || purpose === 'change')) throw new Error('it holds no catalog');
  if (!isNew && purpose !== 'migrate' && purpose !== 'serve') {
    throw new Error('its tables are of an earlier release; run `pet-catalog migrate`');
  }
  // Loaded before the lock, for which writers wait.
  for (const [, load] of pending) await load();
  await db.transaction(async (trx) => {
    // Instances write meanwhile: one that has the lock of a table could wait for another that this has.
    await lock?.(trx, 'writers');
    // Named and filled as by Kysely, the library of earlier releases: this one reads their table, and they read it.
    await trx.run(sql`
      create table if not exists kysely_migration (
        name varchar(255) not null primary key,
        timestamp varchar(255) not null
      )`);
    // Another instance, even of a later release, may have migrated before this one had the lock.
    const before = await appliedMigrations(trx);
    for (const [, load] of pendingAfter(before)) {
      const up = await load();
      await up(trx, raw(int64));
    }
    const now = new Date().toISOString();
    for (const name of MIGRATION_NAMES.filter((each) => !before.includes(each)))
      await trx.run(sql`insert into kysely_migration (name, timestamp) values (${name}, ${now})`);
  });
}

async function appliedMigrations(on: Connection): Promise<string[]> {
  const rows = await on.all<{ name: string }>(sql`select name from kysely_migration`);
  return rows.map(({ name }) => name);
}

/** Throws if this release must not touch the tables. */
function pendingAfter(applied: readonly string[]) {
  const refused = refusal(applied);
  if (refused) throw new Error(`its tables ${refused.finding}; ${refused.advice}`);
  return Object.entries(MIGRATIONS).filter(([name]) => !applied.includes(name));
}
