import { randomBytes } from 'node:crypto';
import { after } from 'node:test';
import pg from 'pg';
import { openStorage } from '../../src/storage/open.ts';
import { manualClock } from './clock.ts';

/** A missing server refuses at once: only a machine that is very busy takes a while. */
const CONNECT_MS_MAX = 10_000;
const ADMIN_URL = process.env.TEST_DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres';

/** Why tests that need PostgreSQL are skipped, or false; on CI a missing server is a failure instead. */
export const noPostgres: string | false = await findServer();

async function findServer(): Promise<string | false> {
  const client = new pg.Client({ connectionString: ADMIN_URL, connectionTimeoutMillis: CONNECT_MS_MAX });
  try {
    await client.connect();
    await client.end();
    return false;
  } catch (error) {
    if (process.env.CI) throw new Error('CI needs a PostgreSQL server', { cause: error });
    return `no PostgreSQL answers at the standard port or TEST_DATABASE_URL: ${(error as Error).message}`;
  }
}

/** A database that is dropped with the test. */
export async function temporaryDatabase(encoding = 'UTF8'): Promise<AsyncDisposable & { readonly url: string }> {
  const name = `pet_catalog_test_${randomBytes(8).toString('hex')}`;
  await administer(`create database ${name} template template0 encoding '${encoding}'`);
  const url = new URL(ADMIN_URL);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    [Symbol.asyncDispose]: () => administer(`drop database ${name} with (force)`),
  };
}

/** Those of this process that no test uses; they are dropped after its last test, and from then on none is kept. */
let unused: Awaited<ReturnType<typeof reusableDatabase>>[] | undefined = [];
after(async () => {
  const all = unused;
  unused = undefined;
  for (const database of all ?? []) await database.drop();
});

/**
 * A database that tests of this process use one after the other, each as it is after the migrations: disposing of it
 * empties it. To create, migrate and drop one for each test takes ten times as long.
 */
export async function reusedDatabase(): Promise<AsyncDisposable & { readonly url: string }> {
  const database = unused?.pop() ?? (await reusableDatabase());
  return {
    url: database.url,
    async [Symbol.asyncDispose]() {
      if (!unused) return database.drop();
      await database.empty();
      unused.push(database);
    },
  };
}

async function reusableDatabase() {
  const database = await temporaryDatabase();
  const storage = await openStorage(
    { engine: 'postgres', url: database.url },
    { time: manualClock(), categoriesMax: 1, categoriesBytesMax: 1 },
  );
  await storage[Symbol.asyncDispose]();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const { rows } = await client.query(`select tablename as name from pg_tables where schemaname = 'public'`);
  const tables = rows.map(({ name }) => name as string);
  await client.query('create schema seed; set synchronous_commit = off; set session_replication_role = replica');
  for (const table of tables) await client.query(`create table seed.${table} as table public.${table}`);
  const empty = [
    // To truncate would sync a new file of each table and index.
    ...tables.map((table) => `delete from public.${table}`),
    ...tables.map((table) => `insert into public.${table} select * from seed.${table}`),
  ].join(';');
  return {
    url: database.url,
    empty: () => client.query(empty),
    async drop() {
      await client.end();
      await database[Symbol.asyncDispose]();
    },
  };
}

/** Runs one statement with the rights to make and drop databases. */
async function administer(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: ADMIN_URL });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
