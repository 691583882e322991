import sql, { join, raw, type Sql } from 'sql-template-tag';
import type { Transaction } from '../engine.ts';

/** Creates the table of the usage by route, with how long the requests took. */
export async function routeUsage(trx: Transaction, int: Sql): Promise<void> {
  await trx.run(sql`
    create table route_usage (
      period text not null,
      starts_at ${int} not null,
      route text not null,
      served ${int} not null,
      client_errors ${int} not null,
      refused ${int} not null,
      server_errors ${int} not null,
      ${join(DURATIONS.map((name) => sql`${raw(name)} ${int} not null`))},
      constraint route_usage_by_time primary key (period, starts_at, route)
    )`);
}

/** The columns of the counts by duration: `took_0` is up to the first bound, the last is above all bounds. */
const DURATIONS = Array.from({ length: 14 }, (_, index) => `took_${index}`);
