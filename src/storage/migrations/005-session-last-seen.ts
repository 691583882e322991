import type { Kysely } from 'kysely';
import type { Int64 } from '../sql/tables.ts';

/** When each session of the console was last used; instances of the previous version leave it at 0. */
export async function sessionLastSeen(db: Kysely<unknown>, int64: Int64): Promise<void> {
  await db.schema
    .alterTable('console_sessions')
    .addColumn('last_seen_at', int64, (column) => column.notNull().defaultTo(0))
    .execute();
}
