import { randomBytes } from 'node:crypto';
import pg from 'pg';

const ADMIN_URL = process.env.TEST_DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres';

/** Why tests that need PostgreSQL are skipped, or false; on CI a missing server is a failure instead. */
export const noPostgres: string | false = await findServer();

async function findServer(): Promise<string | false> {
  const client = new pg.Client({ connectionString: ADMIN_URL, connectionTimeoutMillis: 3_000 });
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
export async function temporaryDatabase(): Promise<AsyncDisposable & { readonly url: string }> {
  const name = `pet_catalog_test_${randomBytes(8).toString('hex')}`;
  await administer(`create database ${name} template template0 encoding 'UTF8'`);
  const url = new URL(ADMIN_URL);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    [Symbol.asyncDispose]: () => administer(`drop database ${name} with (force)`),
  };
}

/** Runs one statement with the rights to make and drop databases. */
export async function administer(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: ADMIN_URL });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
