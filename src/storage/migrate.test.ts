import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { sql } from 'kysely';
import { manualClock } from '../../test/kit/clock.ts';
import { noPostgres, temporaryDatabase } from '../../test/kit/postgres.ts';
import { temporaryFolder } from '../../test/kit/service.ts';
import type { DatabaseAddress } from '../config.ts';
import { openEngine, openStorage } from './open.ts';

const OPTIONS = { clock: manualClock().now, categoriesMax: 3_000, categoriesBytesMax: 1_000_000 };

test('the migration counts the bytes of an existing catalog, on SQLite', async () => {
  using folder = temporaryFolder();
  await countBytes({ engine: 'sqlite', file: join(folder.path, 'x.db') });
});

test('the migration counts the bytes of an existing catalog, on PostgreSQL', async (t: TestContext) => {
  if (noPostgres) return t.skip(noPostgres);
  await using database = await temporaryDatabase();
  await countBytes({ engine: 'postgres', url: database.url });
});

async function countBytes(address: DatabaseAddress): Promise<void> {
  {
    await using storage = await openStorage(address, OPTIONS);
    const some = Array.from({ length: 2_100 }, (_, index) => ({ name: `"é${index}`, description: '🐕\n' }));
    await storage.categories.import([...some, { name: 'no description' }], { actor: 'test', via: 'cli' });
  }
  await undo(address);
  const { db } = await openEngine(address);
  const counter = await db.selectFrom('category_counter').selectAll().executeTakeFirst();
  await db.destroy();
  await using storage = await openStorage(address, OPTIONS);
  const list = JSON.stringify(await storage.categories.list());
  assert.deepEqual({ ...counter }, { last_id: 2_101, count: 2_101, bytes: Buffer.byteLength(list) - 1 });
}

/** Puts the tables back to what the fifth migration made. */
async function undo(address: DatabaseAddress): Promise<void> {
  const { db } = await openEngine(address);
  await sql`drop index pets_by_category_and_status`.execute(db);
  await sql`drop index orders_by_pet`.execute(db);
  await sql`drop table category_changes`.execute(db);
  await sql`drop table attempts`.execute(db);
  await sql`drop table operator_tokens`.execute(db);
  await sql`drop index api_keys_by_owner`.execute(db);
  await sql`alter table api_keys drop column owner`.execute(db);
  for (const table of ['console_logins', 'console_sessions'])
    await sql`alter table ${sql.table(table)} drop column role`.execute(db);
  await sql`alter table category_counter drop column bytes`.execute(db);
  await sql`delete from kysely_migration where name > '006'`.execute(db);
  await db.destroy();
}
