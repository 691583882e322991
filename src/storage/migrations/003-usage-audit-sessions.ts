import type { Kysely } from 'kysely';
import type { Int64 } from '../sql/tables.ts';

/** Creates the tables of usage, the audit log, and the console's logins and sessions. */
export async function usageAuditSessions(db: Kysely<unknown>, int64: Int64): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('usage')
    .addColumn('period', 'text', (column) => column.notNull())
    .addColumn('starts_at', int64, (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('served', int64, (column) => column.notNull())
    .addColumn('client_errors', int64, (column) => column.notNull())
    .addColumn('refused', int64, (column) => column.notNull())
    .addColumn('server_errors', int64, (column) => column.notNull())
    .addColumn('first_at', int64, (column) => column.notNull())
    .addColumn('last_at', int64, (column) => column.notNull())
    .addPrimaryKeyConstraint('usage_by_time', ['period', 'starts_at', 'key_id'])
    .execute();
  await schema.createIndex('usage_by_key').on('usage').columns(['key_id', 'period', 'starts_at']).execute();

  await schema
    .createTable('audit_entries')
    .addColumn('id', int64, (column) => column.primaryKey())
    .addColumn('at', int64, (column) => column.notNull())
    .addColumn('actor', 'text', (column) => column.notNull())
    .addColumn('via', 'text', (column) => column.notNull())
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('target', 'text', (column) => column.notNull())
    .addColumn('before', 'text', (column) => column.notNull())
    .addColumn('after', 'text', (column) => column.notNull())
    .execute();
  await schema.createIndex('audit_entries_by_target').on('audit_entries').columns(['target', 'id']).execute();

  await schema
    .createTable('console_logins')
    .addColumn('hash', 'text', (column) => column.primaryKey())
    .addColumn('actor', 'text', (column) => column.notNull())
    .addColumn('ends_at', int64, (column) => column.notNull())
    .execute();
  await schema
    .createTable('console_sessions')
    .addColumn('hash', 'text', (column) => column.primaryKey())
    .addColumn('id', 'text', (column) => column.notNull().unique())
    .addColumn('actor', 'text', (column) => column.notNull())
    .addColumn('opened_at', int64, (column) => column.notNull())
    .addColumn('ends_at', int64, (column) => column.notNull())
    .execute();

  // Active bans are few among expired ones.
  await schema.createIndex('bans_by_end').on('bans').column('ends_at').execute();

  // Keys are listed and searched in pages, newest first.
  await schema.createIndex('api_keys_by_age').on('api_keys').columns(['created_at', 'id']).execute();

  const filled = db as Kysely<{ last_ids: { kind: string; last_id: number } }>;
  await filled.insertInto('last_ids').values({ kind: 'audit_entries', last_id: 0 }).execute();
}
