import type { Kysely } from 'kysely';
import type { Int64 } from '../sql/tables.ts';

/** Creates the table of the usage by route, with how long the requests took. */
export async function routeUsage(db: Kysely<unknown>, int64: Int64): Promise<void> {
  let table = db.schema
    .createTable('route_usage')
    .addColumn('period', 'text', (column) => column.notNull())
    .addColumn('starts_at', int64, (column) => column.notNull())
    .addColumn('route', 'text', (column) => column.notNull());
  for (const name of ['served', 'client_errors', 'refused', 'server_errors', ...DURATIONS]) {
    table = table.addColumn(name, int64, (column) => column.notNull());
  }
  await table.addPrimaryKeyConstraint('route_usage_by_time', ['period', 'starts_at', 'route']).execute();
}

/** The columns of the counts by duration: `took_0` is up to the first bound, the last is above all bounds. */
const DURATIONS = Array.from({ length: 14 }, (_, index) => `took_${index}`);
