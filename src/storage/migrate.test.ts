import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import sql, { raw } from 'sql-template-tag';
import { manualClock, untilEqual } from '../../test/kit/clock.ts';
import { noPostgres, temporaryDatabase } from '../../test/kit/postgres.ts';
import { query } from '../../test/kit/postgres-server.ts';
import { temporaryFolder } from '../../test/kit/service.ts';
import type { DatabaseAddress } from '../config.ts';
import { MIGRATION_NAMES } from './migrate.ts';
import { openEngine, openStorage } from './open.ts';
import type { Tables } from './sql/tables.ts';

const OPTIONS = { time: manualClock(), categoriesMax: 3_000, categoriesBytesMax: 1_000_000 };

interface Place extends AsyncDisposable {
  readonly address: DatabaseAddress;
  /** Runs a statement on a connection of its own. */
  execute(sql: string): Promise<unknown[]>;
}

async function sqlitePlace(): Promise<Place> {
  const folder = temporaryFolder();
  const file = join(folder.path, 'x.db');
  return {
    address: { engine: 'sqlite', file },
    async execute(statement) {
      using database = new DatabaseSync(file);
      return database.prepare(statement).all();
    },
    [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
  };
}

async function postgresPlace(): Promise<Place> {
  const { url, [Symbol.asyncDispose]: remove } = await temporaryDatabase();
  return {
    address: { engine: 'postgres', url },
    execute: (statement) => query(url, statement),
    [Symbol.asyncDispose]: remove,
  };
}

const UNDO_014 = [
  'alter table api_keys drop column epoch',
  'drop table key_changes',
  'drop table key_route_usage',
  'alter table outcomes rename to create_outcomes',
  'create table attempts (id text)',
  "delete from kysely_migration where name like '014-%'",
];

for (const [engine, place, skip] of [
  ['SQLite', sqlitePlace, false],
  ['PostgreSQL', postgresPlace, noPostgres],
] as const) {
  test(`the migration counts the bytes of an existing catalog, on ${engine}`, { skip }, async () => {
    await using database = await place();
    await countBytes(database.address);
  });

  test(`of migrations that fail none is kept, and the next start makes up for all, on ${engine}`, {
    skip,
  }, async () => {
    await using database = await place();
    await undo(database.address);
    // The name of a table that the eighth makes.
    await database.execute('create table attempts (stray text)');
    await assert.rejects(openEngine(database.address), /attempts.* already exists/);
    const applied = 'select name from kysely_migration';
    assert.equal((await database.execute(applied)).length, 5);
    await database.execute('drop table attempts');
    await (await openEngine(database.address)).db.close();
    assert.equal((await database.execute(applied)).length, MIGRATION_NAMES.length);
  });

  test(`tables that lack the last migration alone get it, on ${engine}`, { skip }, async () => {
    await using database = await place();
    await (await openEngine(database.address)).db.close();
    for (const statement of UNDO_014) await database.execute(statement);
    await (await openEngine(database.address)).db.close();
    assert.deepEqual(await database.execute('select route from key_route_usage'), []);
  });

  test(`tables that need a later release are refused and left alone, on ${engine}`, { skip }, async () => {
    await using database = await place();
    await undo(database.address);
    await database.execute("insert into kysely_migration values ('997-later@0.2.5', '2030-01-01T00:00:00Z')");
    await database.execute("insert into kysely_migration values ('998-later@0.3.0', '2030-01-01T00:00:00Z')");
    await database.execute("insert into kysely_migration values ('999-later', '2030-01-02T00:00:00Z')");
    await assert.rejects(openEngine(database.address), /its tables need 0\.3\.0 or later; install that/);
    assert.equal((await database.execute('select name from kysely_migration')).length, 8);
  });

  test(`tables to which a later release only added are opened and left alone, on ${engine}`, { skip }, async () => {
    await using database = await place();
    await (await openEngine(database.address)).db.close();
    await database.execute("insert into kysely_migration values ('999-later', '2030-01-01T00:00:00Z')");
    await database.execute('alter table api_keys add column later text');
    await using storage = await openStorage(database.address, OPTIONS);
    const { resource } = await storage.categories.insert({ name: 'Dog' }, { keyId: 'test' });
    assert.equal((await storage.categories.list()).at(-1)?.id, resource.id);
    assert.equal((await database.execute('select name from kysely_migration')).length, MIGRATION_NAMES.length + 1);
  });
}

test('instances that start at once on an empty database all find its tables', { skip: noPostgres }, async () => {
  await using database = await postgresPlace();
  const engines = await Promise.all([1, 2, 3].map(() => openEngine(database.address)));
  for (const { db } of engines) await db.close();
  assert.equal((await database.execute('select name from kysely_migration')).length, MIGRATION_NAMES.length);
});

test('a migration waits for a writer that is under way, and neither blocks the other', {
  skip: noPostgres,
}, async () => {
  await using database = await postgresPlace();
  const { db, lock } = await openEngine(database.address, { patient: true });
  await undo(database.address);
  const upgrade = await db.transaction(async (trx) => {
    await lock(trx, 'writers');
    await trx.run(sql`lock table api_keys in row exclusive mode`);
    const opened = openEngine(database.address);
    const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await untilEqual(async () => (await database.execute(waiting)).length, 1);
    // The sixth migration alters this table, the tenth the other.
    await trx.run(sql`lock table category_counter in row exclusive mode`);
    return { opened };
  });
  await (await upgrade.opened).db.close();
  await db.close();
});

test('SQLite tables that are up to date are opened while another process writes', async () => {
  await using database = await sqlitePlace();
  await (await openEngine(database.address)).db.close();
  assert.ok(database.address.engine === 'sqlite');
  using another = new DatabaseSync(database.address.file);
  another.exec('BEGIN IMMEDIATE');
  await (await openEngine(database.address)).db.close();
});

for (const [engine, place, skip] of [
  ['SQLite', sqlitePlace, false],
  ['PostgreSQL', postgresPlace, noPostgres],
] as const) {
  test(`of two bans that instances imposed in one second the migration keeps one, on ${engine}`, { skip }, async () => {
    await using database = await place();
    await (await openEngine(database.address)).db.close();
    await database.execute(
      "insert into api_keys (id, name, environment, plan, per_minute, per_day, scopes, created_at) values ('k', 'n', 'production', 'free', 60, 1000, 's', 1)",
    );
    for (const values of [
      "100, 160, 1, 'r', null",
      "100, 160, 1, 'r', null",
      "100, 400, 2, 'r', null",
      "900, 960, 1, 'r', 930",
    ])
      await database.execute(`insert into bans values ('k', ${values})`);
    for (const statement of UNDO_014) await database.execute(statement);
    await (await openEngine(database.address)).db.close();
    const bans = await database.execute('select ends_at, lifted_at from bans order by started_at');
    assert.deepEqual(
      (bans as { ends_at: number; lifted_at: number | null }[]).map(({ ends_at, lifted_at }) => [
        Number(ends_at),
        lifted_at && Number(lifted_at),
      ]),
      [
        [400, null],
        [960, 930],
      ],
    );
  });
}

test('every number in PostgreSQL has 64 bits', { skip: noPostgres }, async () => {
  await using database = await postgresPlace();
  await (await openEngine(database.address)).db.close();
  const numbers = `select distinct data_type from information_schema.columns
    where table_schema = 'public' and table_name not like 'kysely%' and data_type <> 'text' and data_type <> 'boolean'`;
  assert.deepEqual(await database.execute(numbers), [{ data_type: 'bigint' }]);
});

async function countBytes(address: DatabaseAddress): Promise<void> {
  {
    await using storage = await openStorage(address, OPTIONS);
    const some = Array.from({ length: 2_100 }, (_, index) => ({ name: `"é${index}`, description: '🐕\n' }));
    await storage.categories.import([...some, { name: 'no description' }], { actor: 'test', via: 'cli' });
  }
  await undo(address);
  const { db } = await openEngine(address);
  const [counter] = await db.all<Tables['category_counter']>(sql`select * from category_counter`);
  await db.close();
  await using storage = await openStorage(address, OPTIONS);
  const list = JSON.stringify(await storage.categories.list());
  assert.deepEqual({ ...counter }, { last_id: 2_101, count: 2_101, bytes: Buffer.byteLength(list) - 1 });
}

/** Puts the tables back to what the fifth migration made. */
async function undo(address: DatabaseAddress): Promise<void> {
  const { db } = await openEngine(address);
  const keyIndexes = ['plan', 'name', 'expiry', 'state', 'owner'].map((by) => `api_keys_by_${by}`);
  const auditIndexes = ['audit_entries_by_actor', 'audit_entries_by_action'];
  for (const index of ['pets_by_category_and_status', 'orders_by_pet', ...keyIndexes, ...auditIndexes])
    await db.run(sql`drop index ${raw(index)}`);
  const rehearsalTables = ['rehearsal', 'rehearsed_keys', 'rehearsal_notes'];
  for (const table of [
    'category_changes',
    'key_changes',
    'route_usage',
    'key_route_usage',
    'operator_tokens',
    ...rehearsalTables,
  ])
    await db.run(sql`drop table ${raw(table)}`);
  await db.run(sql`alter table outcomes rename to create_outcomes`);
  await db.run(sql`alter table api_keys drop column owner`);
  await db.run(sql`alter table api_keys drop column epoch`);
  await db.run(sql`alter table console_logins drop column role`);
  await db.run(sql`alter table console_sessions drop column role`);
  await db.run(sql`alter table category_counter drop column bytes`);
  await db.run(sql`delete from change_versions where kind = 'clock'`);
  await db.run(sql`delete from kysely_migration where name > '006'`);
  await db.close();
}
