import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { readConfig } from '../src/config.ts';
import { startService } from './servers.ts';
import type { Workshop } from './workshop.ts';

const POSTGRES = 'postgres://postgres@127.0.0.1:5432/postgres';
const REDIS = 'redis://127.0.0.1:6379';

/**
 * Settings for the service on PostgreSQL and Redis, with a database of its own that goes with the workload. Undefined,
 * and noted, where one of the two is not there or not served.
 */
export async function postgresAndRedis(shop: Workshop): Promise<Record<string, string> | undefined> {
  const { TEST_DATABASE_URL: postgres = POSTGRES, TEST_REDIS_URL: redis = REDIS } = process.env;
  const name = `bench_${randomBytes(6).toString('hex')}`;
  const url = new URL(postgres);
  url.pathname = `/${name}`;
  const settings = { DATABASE_URL: url.href, REDIS_URL: redis, INSTANCES: '1' };
  try {
    readConfig({ flags: settings, env: {}, file: {} });
    await query(postgres, `CREATE DATABASE ${name}`);
  } catch (error) {
    shop.skipped.push(`PostgreSQL and Redis: ${(error as Error).message.replaceAll('\n', '; ')}`);
    return undefined;
  }
  shop.started.defer(() => query(postgres, `DROP DATABASE ${name} WITH (FORCE)`));
  try {
    await using _trial = await startService(shop.machine, shop.folder, settings);
    return settings;
  } catch (error) {
    shop.skipped.push(`PostgreSQL and Redis: ${(error as Error).message}`);
    return undefined;
  }
}

async function query(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
