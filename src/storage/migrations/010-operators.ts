import { type Kysely, sql } from 'kysely';
import type { Int64 } from '../sql/tables.ts';

/**
 * Creates the tokens of the operator API, the roles of the console's sessions, the owners of keys, and the indexes by
 * which operators list keys and the audit.
 */
export async function operators(db: Kysely<unknown>, int64: Int64): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('operator_tokens')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('hash', 'text', (column) => column.notNull().unique())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('prefix', 'text', (column) => column.notNull())
    .addColumn('role', 'text', (column) => column.notNull())
    .addColumn('created_at', int64, (column) => column.notNull())
    .addColumn('expires_at', int64)
    .addColumn('revoked_at', int64)
    .execute();
  // Every session of the previous version could do everything.
  for (const table of ['console_logins', 'console_sessions']) {
    await schema
      .alterTable(table)
      .addColumn('role', 'text', (column) => column.notNull().defaultTo('admin'))
      .execute();
  }
  await schema.alterTable('api_keys').addColumn('owner', 'text').execute();
  await schema.createIndex('api_keys_by_owner').on('api_keys').columns(['owner', 'created_at', 'id']).execute();
  await sql`create index api_keys_by_plan on api_keys (plan, created_at, id)`.execute(db);
  await sql`create index api_keys_by_name on api_keys (lower(name), id)`.execute(db);
  await sql`create index api_keys_by_expiry on api_keys (expires_at, id)`.execute(db);
  await sql`create index api_keys_by_state on api_keys (revoked_at, expires_at, id)`.execute(db);
  await sql`create index audit_entries_by_actor on audit_entries (actor, id)`.execute(db);
  await sql`create index audit_entries_by_action on audit_entries (action, id)`.execute(db);
}
