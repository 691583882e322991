import type { Kysely } from 'kysely';
import type { Int64 } from '../sql/tables.ts';

/** Creates the tables of categories, keys with their secrets, and the limiter. */
export async function categoriesKeysLimits(db: Kysely<unknown>, int64: Int64): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('categories')
    .addColumn('id', int64, (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('description', 'text')
    .addColumn('created_at', int64, (column) => column.notNull())
    .addColumn('created_by', 'text', (column) => column.notNull())
    .execute();

  await schema
    .createTable('category_counter')
    .addColumn('last_id', int64, (column) => column.notNull())
    .addColumn('count', int64, (column) => column.notNull())
    .execute();

  await schema
    .createTable('api_keys')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('environment', 'text', (column) => column.notNull())
    .addColumn('plan', 'text', (column) => column.notNull())
    .addColumn('per_minute', int64, (column) => column.notNull())
    .addColumn('per_day', int64, (column) => column.notNull())
    .addColumn('scopes', 'text', (column) => column.notNull())
    .addColumn('created_at', int64, (column) => column.notNull())
    .addColumn('expires_at', int64)
    .addColumn('revoked_at', int64)
    .execute();

  await schema
    .createTable('api_key_secrets')
    .addColumn('hash', 'text', (column) => column.primaryKey())
    .addColumn('key_id', 'text', (column) => column.notNull().references('api_keys.id'))
    .addColumn('prefix', 'text', (column) => column.notNull())
    .addColumn('created_at', int64, (column) => column.notNull())
    .addColumn('ends_at', int64)
    .execute();
  await schema.createIndex('api_key_secrets_by_key').on('api_key_secrets').column('key_id').execute();

  await schema
    .createTable('window_counts')
    .addColumn('key_id', 'text', (column) => column.primaryKey().references('api_keys.id'))
    .addColumn('minute_ends', int64, (column) => column.notNull())
    .addColumn('minute_used', int64, (column) => column.notNull())
    .addColumn('day', int64, (column) => column.notNull())
    .addColumn('day_used', int64, (column) => column.notNull())
    .execute();

  await schema
    .createTable('bans')
    .addColumn('key_id', 'text', (column) => column.notNull().references('api_keys.id'))
    .addColumn('started_at', int64, (column) => column.notNull())
    .addColumn('ends_at', int64, (column) => column.notNull())
    .addColumn('level', int64, (column) => column.notNull())
    .addColumn('reason', 'text', (column) => column.notNull())
    .addColumn('lifted_at', int64)
    .execute();
  await schema.createIndex('bans_by_key').on('bans').columns(['key_id', 'started_at']).execute();

  await schema
    .createTable('change_versions')
    .addColumn('kind', 'text', (column) => column.primaryKey())
    .addColumn('version', int64, (column) => column.notNull())
    .execute();

  const filled = db as Kysely<{
    category_counter: { last_id: number; count: number };
    change_versions: { kind: string; version: number };
  }>;
  await filled.insertInto('category_counter').values({ last_id: 0, count: 0 }).execute();
  await filled
    .insertInto('change_versions')
    .values(['categories', 'keys', 'bans'].map((kind) => ({ kind, version: 0 })))
    .execute();
}
