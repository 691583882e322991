import sql, { raw } from 'sql-template-tag';
import type { Transaction } from '../engine.ts';
import type { Int64 } from '../sql/tables.ts';

/** Creates the table of the usage by key and route. The hours and days in `usage` are those of earlier releases. */
export async function keyRouteUsage(trx: Transaction, int64: Int64): Promise<void> {
  const int = raw(int64);
  await trx.run(sql`
    create table key_route_usage (
      period text not null,
      starts_at ${int} not null,
      key_id text not null,
      route text not null,
      served ${int} not null,
      client_errors ${int} not null,
      refused ${int} not null,
      server_errors ${int} not null,
      first_at ${int} not null,
      last_at ${int} not null,
      constraint key_route_usage_by_time primary key (period, starts_at, key_id, route)
    )`);
  await trx.run(sql`create index key_route_usage_by_key on key_route_usage (key_id, period, starts_at)`);
}
