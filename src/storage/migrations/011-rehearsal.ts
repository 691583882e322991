import type { Kysely } from 'kysely';
import type { Int64 } from '../sql/tables.ts';

/** Creates the mark of a database that was used in rehearsal, the scripts of keys, and the notes of their requests. */
export async function rehearsal(db: Kysely<unknown>, int64: Int64): Promise<void> {
  const { schema } = db;
  await schema
    .createTable('rehearsal')
    .addColumn('turned_by', int64, (column) => column.notNull())
    .addColumn('turned_at', int64, (column) => column.notNull())
    .addColumn('taken_by', int64, (column) => column.notNull())
    .execute();

  await schema
    .createTable('rehearsed_keys')
    .addColumn('key_id', 'text', (column) => column.primaryKey())
    .addColumn('script', 'text', (column) => column.notNull())
    .addColumn('position', int64, (column) => column.notNull())
    .addColumn('holds_until_ms', int64)
    .execute();

  await schema
    .createTable('rehearsal_notes')
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('number', int64, (column) => column.notNull())
    .addColumn('at_ms', int64, (column) => column.notNull())
    .addColumn('answered_at_ms', int64, (column) => column.notNull())
    .addColumn('method', 'text', (column) => column.notNull())
    .addColumn('route', 'text', (column) => column.notNull())
    .addColumn('target_digest', 'text', (column) => column.notNull())
    .addColumn('body_digest', 'text')
    .addColumn('idempotency_digest', 'text')
    .addColumn('step', 'text')
    .addColumn('is_early', int64, (column) => column.notNull())
    .addColumn('status', int64)
    .addColumn('retry_after', int64)
    .addColumn('is_delivered', int64, (column) => column.notNull())
    .addColumn('is_done', int64, (column) => column.notNull())
    .addColumn('has_created', int64, (column) => column.notNull())
    .addPrimaryKeyConstraint('rehearsal_notes_by_key', ['key_id', 'number'])
    .execute();

  const filled = db as Kysely<{ change_versions: { kind: string; version: number } }>;
  await filled.insertInto('change_versions').values({ kind: 'clock', version: 0 }).execute();
}
