import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import sql, { empty, join, raw, type Sql } from 'sql-template-tag';
import {
  ALL_KEYS,
  DURATION_BOUNDS,
  type KeyRouteUsage,
  mostOf,
  type RoutePoint,
  type RouteUsage,
  STEPS_FROM,
  sumCounts,
  UNKNOWN_ROUTE,
  USAGE_PERIODS,
  type UsageCounts,
  type UsageGroup,
  type UsagePeriod,
  type UsageQuery,
  type UsageRecord,
  type UsageStorage,
  type UsageSum,
} from '../../catalog/usage.ts';
import type { Transaction } from '../engine.ts';
import { attemptOf, once } from './once.ts';
import { rowsInsert, where } from './statement.ts';
import { type DurationColumn, type OutcomeCounts, ROWS_PER_STATEMENT, type Tables } from './tables.ts';
import { SqlNoun } from './transactions.ts';

const PERIODS = Object.keys(USAGE_PERIODS) as UsagePeriod[];
/** So few that reading them takes some milliseconds. */
const ROWS_AT_ONCE = 2_000;
/** So few that their transaction takes some milliseconds. */
const ROWS_FOLDED_AT_ONCE = 500;
const OUTCOMES = ['served', 'client_errors', 'refused', 'server_errors'] as const;
const DURATIONS = [...DURATION_BOUNDS, Number.POSITIVE_INFINITY].map((_, index): DurationColumn => `took_${index}`);
const SUMS = sumsOf(OUTCOMES);

/** The kept hours and days of keys are in two tables: earlier releases counted them without routes. */
const SOURCES: Readonly<Record<UsagePeriod, readonly Source[]>> = {
  minute: [{ table: 'usage', period: 'minute' }],
  hour: [
    { table: 'usage', period: 'hour' },
    { table: 'key_route_usage', period: 'hour' },
  ],
  day: [
    { table: 'usage', period: 'day' },
    { table: 'key_route_usage', period: 'hour' },
    { table: 'key_route_usage', period: 'day' },
  ],
};
/** When a key of `api_keys` was last used: one row of an index, of the finest period that has one. */
export const LAST_USED = sql`coalesce(${join(
  [...SOURCES.minute, ...SOURCES.day.slice(1), ...SOURCES.day.slice(0, 1)].map(
    ({ table, period }) => sql`(
      select last_at from ${raw(table)} as used
      where used.key_id = api_keys.id and period = ${raw(`'${period}'`)}
      order by starts_at desc, last_at desc limit 1)`,
  ),
)})`;
const GROUP_IDS: Readonly<Record<UsageGroup | 'all', Sql>> = {
  all: raw("cast('' as text)"),
  key: raw('key_id'),
  owner: raw("coalesce(owner, '')"),
  route: raw('route'),
};
const ADD_ROUTE_USAGE = sql`on conflict (period, starts_at, route) do update set
  ${join([...OUTCOMES, ...DURATIONS].map((name) => raw(`${name} = route_usage.${name} + excluded.${name}`)))}`;

/** Usage in SQL. Keys are counted by minute, and by route and hour; days are sums of hours. */
export class SqlUsage extends SqlNoun implements UsageStorage {
  readonly #addRows = rowsInsert('usage', addTo('usage', 'period, starts_at, key_id'));
  readonly #addHourRows = rowsInsert('key_route_usage', addTo('key_route_usage', 'period, starts_at, key_id, route'));
  readonly #addRoutes = rowsInsert('route_usage', ADD_ROUTE_USAGE);

  add(minute: number, records: readonly UsageRecord[], attempt?: string): Promise<void> {
    const rows = records.map((each) => fromRecord('minute', minute, each));
    return this.transactions.transactUnsynced(this.#once(attempt, (trx) => this.#addRows(trx, sorted(rows))));
  }

  addHours(hour: number, records: readonly KeyRouteUsage[], attempt?: string): Promise<void> {
    const rows = records.map((each) => ({ ...fromRecord('hour', hour, each), route: each.route }));
    return this.transactions.transactUnsynced(this.#once(attempt, (trx) => this.#addHourRows(trx, sorted(rows))));
  }

  addRoutes(minute: number, routes: readonly RouteUsage[], attempt?: string): Promise<void> {
    // A flush ends with it: its commit syncs what the flush added of keys.
    return this.transactions.transactUnlocked(
      this.#once(attempt, async (trx) => {
        for (const period of PERIODS) {
          await this.#addRoutes(trx, sorted(routes.map((route) => fromRoute(period, minute, route))));
        }
      }),
    );
  }

  #once(attempt: string = randomUUID(), add: (trx: Transaction) => Promise<void>): (trx: Transaction) => Promise<void> {
    return async (trx) => {
      await once(trx, { ...attemptOf(attempt), now: this.now }, () => add(trx));
    };
  }

  async sums(wanted: Parameters<UsageStorage['sums']>[0]): Promise<UsageSum[]> {
    const { group, step, behind, limit, keyIds, ...range } = wanted;
    if (keyIds?.length === 0) return [];
    const { keyId = group === 'all' && range.owner === undefined ? ALL_KEYS : undefined } = range;
    const query = { ...range, keyId };
    const id = GROUP_IDS[group];
    const selected = conditionsOf(query);
    if (keyIds) selected.push(sql`key_id in (${join(keyIds)})`);
    if (keyId === undefined) selected.push(sql`key_id != ${ALL_KEYS}`);
    if (group === 'key' && behind !== undefined && step === undefined) selected.push(sql`key_id > ${behind}`);
    const period = group === 'route' ? query.period : this.#finest(query);
    const at = step === undefined ? raw('0') : stepOf(step);
    const first = step === undefined ? 0 : startOf(query.period, query.since);
    const names = group === 'key' ? raw('min(name) as name, min(owner) as owner') : raw('null as name, null as owner');
    const rows = await this.transactions.read((db) =>
      db.all<SumRow>(sql`
        select ${at} as at, ${id} as id, ${names}, ${SUMS}, min(first_at) as first_at, max(last_at) as last_at
        from (${used(period, selected, range.route)}) as used left join api_keys on api_keys.id = used.key_id
        ${behind === undefined ? empty : sql`where ${at} > ${first} or ${id} > ${behind}`}
        group by 1, 2
        order by 1, 2
        ${limit === undefined ? empty : sql`limit ${limit}`}`),
    );
    return rows.map(toSum);
  }

  async most({ period, since, until, group, sort, limit }: Parameters<UsageStorage['most']>[0]): Promise<UsageSum[]> {
    const found = new Map<string, UsageSum>();
    for (const source of SOURCES[period]) {
      let behind: Place | undefined = { starts_at: startOf(period, since), key_id: '', route: '' };
      while (behind !== undefined) {
        const rows: UsedRow[] = await this.#rowsBehind(source, { behind, until });
        for (const row of rows) {
          if (row.key_id === ALL_KEYS) continue;
          const id = group === 'key' ? row.key_id : (row.owner ?? '');
          found.set(id, added(found.get(id), toSum({ ...row, id, at: 0 })));
        }
        behind = rows.length === ROWS_AT_ONCE ? rows.at(-1) : undefined;
        await nextTurn();
      }
    }
    return mostOf([...found.values()], sort).slice(0, limit);
  }

  /** Some rows in the order of the primary key, with the names of their keys. */
  #rowsBehind(
    { table, period }: Source,
    { behind: { starts_at, key_id, route }, until }: { behind: Place; until: number | undefined },
  ): Promise<UsedRow[]> {
    const behind =
      table === 'usage'
        ? sql`(starts_at, key_id) > (${starts_at}, ${key_id})`
        : sql`(starts_at, key_id, route) > (${starts_at}, ${key_id}, ${route})`;
    const conditions = [sql`period = ${period}`, behind, ...endsAt(period, until)];
    return this.transactions.read((db) =>
      db.all<UsedRow>(sql`
        select used.*, api_keys.name, api_keys.owner
        from ${raw(table)} as used left join api_keys on api_keys.id = used.key_id
        ${where(conditions)}
        order by starts_at, key_id${table === 'usage' ? empty : raw(', route')}
        limit ${ROWS_AT_ONCE}`),
    );
  }

  /** Reads one key from its minutes while they are kept: a kill may lose a minute of hours, which are written later. */
  #finest({ period, since, keyId, route }: UsageQuery): UsagePeriod {
    const keptSince = this.now - USAGE_PERIODS.minute.keptSeconds;
    return keyId !== undefined && route === undefined && startOf(period, since) >= keptSince ? 'minute' : period;
  }

  routes({ period, step, since, until }: Parameters<UsageStorage['routes']>[0]): Promise<RoutePoint[]> {
    return this.transactions.read(async (db) => {
      const rows = await db.all<RouteRow & { at: number }>(sql`
        select ${stepOf(step ?? USAGE_PERIODS[period].seconds)} as at, route, ${sumsOf([...OUTCOMES, ...DURATIONS])}
        from route_usage
        ${where([sql`period = ${period}`, sql`starts_at >= ${startOf(period, since)}`, ...endsAt(period, until)])}
        group by at, route
        order by at, route`);
      return rows.map(({ at, route, ...counts }) => {
        const durations = DURATIONS.map((name) => Number(counts[name]));
        return { at: Number(at), route, ...toCounts(counts), durations };
      });
    });
  }

  async lastUses(keyIds: readonly string[]): Promise<Map<string, number>> {
    const found = new Map<string, number>();
    for (let first = 0; first < keyIds.length; first += ROWS_PER_STATEMENT) {
      const some = keyIds.slice(first, first + ROWS_PER_STATEMENT);
      const rows = await this.transactions.read((db) =>
        db.all<{ id: string; last_at: number | null }>(sql`
          select id, ${LAST_USED} as last_at from api_keys where id in (${join(some)})`),
      );
      for (const { id, last_at } of rows) if (last_at !== null) found.set(id, last_at);
    }
    return found;
  }

  async purge(now: number): Promise<void> {
    while (await this.#foldOldest(now - USAGE_PERIODS.hour.keptSeconds)) await nextTurn();
    for (const period of PERIODS) {
      for (const table of ['usage', 'route_usage', 'key_route_usage'] as const) {
        while (await this.#purgeOldest(table, period, now - USAGE_PERIODS[period].keptSeconds)) await nextTurn();
      }
    }
  }

  /** Adds some rows of the oldest expired hour to their day. False if there is none. */
  #foldOldest(before: number): Promise<boolean> {
    return this.transactions.transactUnlocked(async (trx) => {
      const [oldest] = await trx.all<{ starts_at: number }>(sql`
        select starts_at from key_route_usage where period = 'hour' order by starts_at limit 1`);
      if (!oldest || oldest.starts_at >= before) return false;
      // Another instance that folds the same hour waits for these rows, and then finds them gone.
      const rows = await trx.all<Tables['key_route_usage']>(sql`
        delete from key_route_usage
        where period = 'hour' and starts_at = ${oldest.starts_at} and (key_id, route) in (
          select key_id, route from key_route_usage
          where period = 'hour' and starts_at = ${oldest.starts_at}
          order by key_id, route
          limit ${ROWS_FOLDED_AT_ONCE})
        returning ${raw(`period, starts_at, key_id, ${OUTCOMES.join()}, first_at, last_at, route`)}`);
      // In the order of the columns of other inserts.
      const day = startOf('day', oldest.starts_at);
      await this.#addHourRows(
        trx,
        rows.map((row) => ({ ...row, period: 'day', starts_at: day })),
      );
      return true;
    });
  }

  /** Deletes all rows of the oldest expired period. False if there is none. */
  #purgeOldest(table: UsageTable, period: UsagePeriod, before: number): Promise<boolean> {
    return this.transactions.transactUnlocked(async (trx) => {
      const [oldest] = await trx.all<{ starts_at: number }>(sql`
        select starts_at from ${raw(table)} where period = ${period} order by starts_at limit 1`);
      if (!oldest || oldest.starts_at >= before) return false;
      await trx.run(sql`delete from ${raw(table)} where period = ${period} and starts_at = ${oldest.starts_at}`);
      return true;
    });
  }
}

/** Adds the rows of an insert to those that are there. */
function addTo(table: UsageTable, key: string): Sql {
  const sums = OUTCOMES.map((name) => raw(`${name} = ${table}.${name} + excluded.${name}`));
  return sql`on conflict (${raw(key)}) do update set
    ${join(sums)},
    first_at = case when ${raw(table)}.first_at < excluded.first_at then ${raw(table)}.first_at else excluded.first_at end,
    last_at = case when ${raw(table)}.last_at > excluded.last_at then ${raw(table)}.last_at else excluded.last_at end`;
}

/** Which rows a query selects; the columns are those of both tables. */
function conditionsOf({ period, since, until, keyId, owner, route }: UsageQuery): Sql[] {
  const conditions = [sql`starts_at >= ${startOf(period, since)}`, ...endsAt(period, until)];
  if (route !== undefined) conditions.push(sql`route = ${route}`);
  if (keyId !== undefined) conditions.push(sql`key_id = ${keyId}`);
  if (owner !== undefined) conditions.push(sql`key_id in (select id from api_keys where owner = ${owner})`);
  return conditions;
}

/** The condition that a range ends at a moment, rounded up to the period; none without a moment. */
function endsAt(period: UsagePeriod, until: number | undefined): Sql[] {
  return until === undefined ? [] : [sql`starts_at < ${startOf(period, until + USAGE_PERIODS[period].seconds - 1)}`];
}

/** The selected rows of all tables that hold a period; of a route those of the tables that know routes. */
function used(period: UsagePeriod, conditions: readonly Sql[], ofRoute: string | undefined): Sql {
  const sources = SOURCES[period].filter(({ table }) => ofRoute === undefined || table === 'key_route_usage');
  const parts = sources.map(({ table, period: kept }) => {
    const route = table === 'usage' ? sql`${raw(`'${UNKNOWN_ROUTE}'`)} as route` : raw('route');
    return sql`select starts_at, key_id, ${route}, ${raw(OUTCOMES.join())}, first_at, last_at
      from ${raw(table)} ${where([sql`period = ${kept}`, ...conditions])}`;
  });
  return join(parts, ' union all ');
}

/** In one order, so that two instances that add to the same rows cannot deadlock. */
function sorted<Row extends Partial<Place>>(rows: readonly Row[]): Row[] {
  const nameOf = ({ key_id = '', route = '' }: Row) => `${key_id} ${route}`;
  return rows.toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
}

/** The start of the step of each row, as `stepStart` computes it. */
function stepOf(seconds: number): Sql {
  return raw(`starts_at - (starts_at - ${STEPS_FROM}) % ${seconds}`);
}

function sumsOf(columns: readonly string[]): Sql {
  return join(columns.map((column) => raw(`sum(${column}) as ${column}`)));
}

/** PostgreSQL returns sums as decimals, in text. */
function toCounts(row: OutcomeCounts): UsageCounts {
  return {
    served: Number(row.served),
    refused: Number(row.refused),
    clientErrors: Number(row.client_errors),
    serverErrors: Number(row.server_errors),
  };
}

function fromCounts({ served, clientErrors, refused, serverErrors }: UsageCounts): OutcomeCounts {
  return { served, client_errors: clientErrors, refused, server_errors: serverErrors };
}

function toSum({ id, name, owner, at, first_at, last_at, ...counts }: SumRow): UsageSum {
  return { id, name, owner, at: Number(at), ...toCounts(counts), first: first_at, last: last_at };
}

function fromRoute(period: UsagePeriod, minute: number, usage: RouteUsage): Tables['route_usage'] {
  return {
    period,
    starts_at: startOf(period, minute),
    route: usage.route,
    ...fromCounts(usage),
    ...Object.fromEntries(DURATIONS.map((name, index) => [name, usage.durations[index] ?? 0])),
  };
}

type Named = { readonly name: string | null; readonly owner: string | null };
type SumRow = Omit<Tables['usage'], 'period' | 'starts_at' | 'key_id'> & Named & { readonly id: string; at: number };
type UsedRow = Tables['key_route_usage'] & Named;
type RouteRow = Omit<Tables['route_usage'], 'period' | 'starts_at'>;

type UsageTable = 'usage' | 'route_usage' | 'key_route_usage';
type Source = { readonly table: Exclude<UsageTable, 'route_usage'>; readonly period: UsagePeriod };
/** The place of a row in the order of the primary key. */
type Place = Pick<Tables['key_route_usage'], 'starts_at' | 'key_id' | 'route'>;

function added(sum: UsageSum | undefined, more: UsageSum): UsageSum {
  if (!sum) return more;
  return {
    ...sum,
    ...sumCounts([sum, more]),
    first: Math.min(sum.first, more.first),
    last: Math.max(sum.last, more.last),
  };
}

function startOf(period: UsagePeriod, moment: number): number {
  return moment - (moment % USAGE_PERIODS[period].seconds);
}

function fromRecord(period: UsagePeriod, minute: number, record: UsageRecord): Tables['usage'] {
  return {
    period,
    starts_at: startOf(period, minute),
    key_id: record.keyId,
    ...fromCounts(record),
    first_at: record.first,
    last_at: record.last,
  };
}
