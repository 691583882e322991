import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { untilEqual } from '../../test/kit/clock.ts';
import { temporaryFolder } from '../../test/kit/folder.ts';
import { noPostgres, temporaryDatabase } from '../../test/kit/postgres.ts';
import { query } from '../../test/kit/postgres-server.ts';
import { insert, issue, openSome } from '../../test/kit/storage/bench.ts';
import type { DatabaseAddress } from '../config.ts';
import { MIGRATION_NAMES } from './migrate.ts';
import { openEngine } from './open.ts';

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

for (const [engine, place, skip] of [
  ['SQLite', sqlitePlace, false],
  ['PostgreSQL', postgresPlace, noPostgres],
] as const) {
  test(`of migrations that fail none is kept, and the next start makes up for all, on ${engine}`, {
    skip,
  }, async () => {
    await using database = await place();
    // The name of a table that the last makes.
    await database.execute('create table changes (stray text)');
    await assert.rejects(openEngine(database.address), /changes.* already exists/);
    const categories = 'select name from categories';
    await assert.rejects(database.execute(categories), /no such table|does not exist/);
    await database.execute('drop table changes');
    await (await openEngine(database.address)).db.close();
    assert.deepEqual(await database.execute(categories), []);
    const applied = await database.execute('select name from kysely_migration order by name');
    assert.deepEqual(
      (applied as { name: string }[]).map(({ name }) => name),
      MIGRATION_NAMES,
    );
  });

  test(`a database without a catalog is opened by no command that reads or changes one, on ${engine}`, {
    skip,
  }, async () => {
    await using database = await place();
    await database.execute('create table stray (text text)');
    for (const purpose of ['read', 'change'] as const)
      await assert.rejects(openEngine(database.address, { purpose }), /holds no catalog/);
    await assert.rejects(database.execute('select name from categories'), /no such table|does not exist/);
    await (await openEngine(database.address, { purpose: 'create' })).db.close();
    assert.deepEqual(await database.execute('select name from categories'), []);
  });

  test(`tables of 0.1.0 are refused by everything, which names the way and changes nothing, on ${engine}`, {
    skip,
  }, async () => {
    await using database = await place();
    await undo(database.address);
    await database.execute("delete from kysely_migration where name >= '014'");
    const names = await database.execute('select name from kysely_migration');
    for (const purpose of ['read', 'change', 'create', 'migrate', 'serve'] as const) {
      const opened = openEngine(database.address, { purpose });
      await assert.rejects(opened, /its tables are of 0\.1\.0; run `pet-catalog migrate` of 0\.3\.0 first$/);
    }
    assert.deepEqual(await database.execute('select name from kysely_migration'), names);
    await assert.rejects(database.execute('select request_id from changes'), /no such table|does not exist/);
  });

  test(`tables that need a later release are refused and left alone, on ${engine}`, { skip }, async () => {
    await using database = await place();
    await undo(database.address);
    await database.execute("insert into kysely_migration values ('997-later@0.2.5', '2030-01-01T00:00:00Z')");
    await database.execute("insert into kysely_migration values ('998-later@0.3.0', '2030-01-01T00:00:00Z')");
    await database.execute("insert into kysely_migration values ('999-later', '2030-01-02T00:00:00Z')");
    await assert.rejects(openEngine(database.address), /its tables need 0\.3\.0 or later; install that/);
    assert.equal((await database.execute('select name from kysely_migration')).length, 17);
  });

  test(`tables to which a later release only added are served, on ${engine}`, {
    skip,
  }, async () => {
    await using database = await place();
    await (await openEngine(database.address)).db.close();
    for (const table of ['api_keys', 'categories'])
      await database.execute(`alter table ${table} add column later text`);
    await database.execute("insert into kysely_migration values ('997-later', '2030-01-01T00:00:00Z')");
    await using storage = await openSome(database.address);
    const [{ key }, category] = [await issue(storage), await insert(storage, { name: 'Dog' })];
    assert.deepEqual([await storage.keys.find(key.id), await storage.categories.list()], [key, [category]]);
  });
}

test('instances that start at once on an empty database all find its tables, whose numbers have 64 bits', {
  skip: noPostgres,
}, async () => {
  await using database = await postgresPlace();
  const engines = await Promise.all([1, 2, 3].map(() => openEngine(database.address)));
  for (const { db } of engines) await db.close();
  assert.equal((await database.execute('select name from kysely_migration')).length, MIGRATION_NAMES.length);
  const numbers = `select distinct data_type from information_schema.columns
    where table_schema = 'public' and table_name not like 'kysely%' and data_type <> 'text' and data_type <> 'boolean'`;
  assert.deepEqual(await database.execute(numbers), [{ data_type: 'bigint' }]);
});

test('a migration waits for a writer that is under way, and neither blocks the other', {
  skip: noPostgres,
}, async () => {
  await using database = await postgresPlace();
  const { db, lock } = await openEngine(database.address, { patient: true });
  await undo(database.address);
  const upgrade = await db.transaction(async (trx) => {
    await lock?.(trx, 'writers');
    await trx.run(sql`lock table audit_entries in row exclusive mode`);
    const opened = openEngine(database.address);
    const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await untilEqual(async () => (await database.execute(waiting)).length, 1);
    // The migration alters this table before the other.
    await trx.run(sql`lock table api_keys in row exclusive mode`);
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

/** Puts the tables back to those of 0.2.0. */
async function undo(address: DatabaseAddress): Promise<void> {
  const { db } = await openEngine(address);
  await db.run(sql`drop table changes`);
  await db.run(sql`drop table database_properties`);
  for (const table of [sql`api_keys`, sql`window_counts`])
    for (const column of [sql`minute_reset`, sql`day_reset`])
      await db.run(sql`alter table ${table} drop column ${column}`);
  await db.run(sql`alter table api_keys drop column paused_at`);
  await db.run(sql`alter table api_keys drop column search`);
  await db.run(sql`alter table audit_entries drop column system_user`);
  await db.run(sql`delete from kysely_migration where name >= '015'`);
  await db.close();
}
