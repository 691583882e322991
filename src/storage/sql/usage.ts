import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import sql, { empty, join, raw, type Sql } from 'sql-template-tag';
import {
  ALL_KEYS,
  DURATION_BOUNDS,
  type KeyUsage,
  type RoutePoint,
  type RouteUsage,
  STEPS_FROM,
  USAGE_PERIODS,
  type UsageCounts,
  type UsagePeriod,
  type UsagePoint,
  type UsageRecord,
  type UsageStorage,
  usagePeriod,
} from '../../catalog/usage.ts';
import type { Time } from '../../stdx/time.ts';
import { attemptOf, once } from './once.ts';
import { RowsInsert, where } from './statement.ts';
import { type DurationColumn, ROWS_PER_STATEMENT, type Tables } from './tables.ts';
import type { Transactions } from './transactions.ts';

const PERIODS = Object.keys(USAGE_PERIODS) as UsagePeriod[];
/** So few that reading them takes some milliseconds. */
const ROWS_AT_ONCE = 2_000;
const OUTCOMES = ['served', 'client_errors', 'refused', 'server_errors'] as const;
const DURATIONS = [...DURATION_BOUNDS, Number.POSITIVE_INFINITY].map((_, index): DurationColumn => `took_${index}`);
const SUMS = sumsOf(OUTCOMES);

const ADD_USAGE = sql`on conflict (period, starts_at, key_id) do update set
  served = usage.served + excluded.served,
  client_errors = usage.client_errors + excluded.client_errors,
  refused = usage.refused + excluded.refused,
  server_errors = usage.server_errors + excluded.server_errors,
  first_at = case when usage.first_at < excluded.first_at then usage.first_at else excluded.first_at end,
  last_at = case when usage.last_at > excluded.last_at then usage.last_at else excluded.last_at end`;
const ADD_ROUTE_USAGE = sql`on conflict (period, starts_at, route) do update set
  ${join([...OUTCOMES, ...DURATIONS].map((name) => raw(`${name} = route_usage.${name} + excluded.${name}`)))}`;

/** Usage in SQL. Each record is added to its minute, hour and day, so that a read needs no aggregation over time. */
export class SqlUsage implements UsageStorage {
  readonly #transactions: Transactions;
  readonly #time: Time;
  readonly #addRows = new RowsInsert('usage', ADD_USAGE);
  readonly #addRoutes = new RowsInsert('route_usage', ADD_ROUTE_USAGE);

  constructor(transactions: Transactions, time: Time) {
    this.#transactions = transactions;
    this.#time = time;
  }

  async add(minute: number, records: readonly UsageRecord[], attempt: string = randomUUID()): Promise<void> {
    // In key order, so that two instances that add to the same rows cannot deadlock.
    const sorted = records.toSorted((a, b) => (a.keyId < b.keyId ? -1 : 1));
    await this.#transactions.transactUnlocked((trx) =>
      once(trx, { ...attemptOf(attempt), now: this.#time.now().unix }, async () => {
        for (const period of PERIODS) {
          await this.#addRows.run(
            trx,
            sorted.map((record) => fromRecord(period, minute, record)),
          );
        }
      }),
    );
  }

  async addRoutes(minute: number, routes: readonly RouteUsage[], attempt: string = randomUUID()): Promise<void> {
    const sorted = routes.toSorted((a, b) => (a.route < b.route ? -1 : 1));
    await this.#transactions.transactUnlocked((trx) =>
      once(trx, { ...attemptOf(attempt), now: this.#time.now().unix }, async () => {
        for (const period of PERIODS) {
          await this.#addRoutes.run(
            trx,
            sorted.map((route) => fromRoute(period, minute, route)),
          );
        }
      }),
    );
  }

  byKey({ since, now, keyId, limit }: Parameters<UsageStorage['byKey']>[0]): Promise<KeyUsage[]> {
    const period = usagePeriod(now - since);
    return this.#transactions.read(async (db) => {
      const rows = await db.all<KeyRow>(sql`
        select key_id, ${SUMS}, min(first_at) as first_at, max(last_at) as last_at
        from usage
        where period = ${period} and starts_at >= ${startOf(period, since)} and key_id != ${ALL_KEYS}
          ${keyId === undefined ? empty : sql`and key_id = ${keyId}`}
        group by key_id
        order by sum(served) desc, key_id
        ${limit === undefined ? empty : sql`limit ${limit}`}`);
      return rows.map(toKeyUsage);
    });
  }

  async busiest({ period, since, limit }: Parameters<UsageStorage['busiest']>[0]): Promise<KeyUsage[]> {
    const found = new Map<string, KeyUsage>();
    let behind: Place | undefined = { period, at: startOf(period, since), keyId: '' };
    while (behind !== undefined) {
      const rows = await this.#rowsBehind(behind);
      for (const row of rows.map(toKeyUsage)) {
        if (row.keyId !== ALL_KEYS) found.set(row.keyId, added(found.get(row.keyId), row));
      }
      const last = rows.length === ROWS_AT_ONCE ? rows.at(-1) : undefined;
      behind = last && { period, at: last.starts_at, keyId: last.key_id };
      await nextTurn();
    }
    return [...found.values()]
      .sort((one, other) => other.served - one.served || (one.keyId < other.keyId ? -1 : 1))
      .slice(0, limit);
  }

  /** Some rows in the order of the primary key. */
  #rowsBehind({ period, at, keyId }: Place): Promise<Tables['usage'][]> {
    return this.#transactions.read((db) =>
      db.all<Tables['usage']>(sql`
        select * from usage
        where period = ${period} and (starts_at, key_id) > (${at}, ${keyId})
        order by starts_at, key_id
        limit ${ROWS_AT_ONCE}`),
    );
  }

  page({ since, until, now, keyId, owner, behind, limit }: Parameters<UsageStorage['page']>[0]) {
    const period = usagePeriod(now - since);
    const conditions = [sql`period = ${period}`, sql`starts_at >= ${startOf(period, since)}`, sql`key_id > ${behind}`];
    if (until !== undefined) conditions.push(sql`starts_at < ${until}`);
    if (keyId !== undefined) conditions.push(sql`key_id = ${keyId}`);
    if (owner !== undefined) conditions.push(sql`api_keys.owner = ${owner}`);
    return this.#transactions.read(async (db) => {
      const rows = await db.all<KeyRow & { name: string; owner: string | null }>(sql`
        select key_id, api_keys.name, api_keys.owner, ${SUMS}, min(first_at) as first_at, max(last_at) as last_at
        from usage inner join api_keys on api_keys.id = usage.key_id
        ${where(conditions)}
        group by key_id, api_keys.name, api_keys.owner
        order by key_id
        limit ${limit}`);
      return rows.map((row) => ({ ...toKeyUsage(row), name: row.name, owner: row.owner }));
    });
  }

  series({ keyId, owner, period, step, since, until }: Parameters<UsageStorage['series']>[0]): Promise<UsagePoint[]> {
    const conditions = [sql`period = ${period}`, sql`starts_at >= ${startOf(period, since)}`];
    if (until !== undefined) conditions.push(sql`starts_at < ${until}`);
    if (owner === undefined || keyId !== ALL_KEYS) conditions.push(sql`key_id = ${keyId}`);
    if (owner !== undefined) conditions.push(sql`key_id in (select id from api_keys where owner = ${owner})`);
    return this.#transactions.read(async (db) => {
      const rows = await db.all<Counts & { at: number }>(sql`
        select ${stepOf(step ?? USAGE_PERIODS[period].seconds)} as at, ${SUMS}
        from usage
        ${where(conditions)}
        group by at
        order by at`);
      return rows.map((row) => ({ at: Number(row.at), ...toCounts(row) }));
    });
  }

  routes({ period, step, since }: Parameters<UsageStorage['routes']>[0]): Promise<RoutePoint[]> {
    return this.#transactions.read(async (db) => {
      const rows = await db.all<RouteRow & { at: number }>(sql`
        select ${stepOf(step ?? USAGE_PERIODS[period].seconds)} as at, route, ${sumsOf([...OUTCOMES, ...DURATIONS])}
        from route_usage
        where period = ${period} and starts_at >= ${startOf(period, since)}
        group by at, route
        order by at, route`);
      return rows.map((row) => ({ at: Number(row.at), ...toRoute(row) }));
    });
  }

  async trends({ keyIds, since, stepSeconds }: Parameters<UsageStorage['trends']>[0]) {
    const trends = new Map<string, UsagePoint[]>();
    if (keyIds.length === 0) return trends;
    const step = raw(`${stepSeconds}`);
    const rows = await this.#transactions.read((db) =>
      db.all<Counts & { key_id: string; at: number }>(sql`
        select key_id, starts_at - starts_at % ${step} as at, ${SUMS}
        from usage
        where key_id in (${join(keyIds)}) and period = 'minute' and starts_at >= ${since - (since % stepSeconds)}
        group by key_id, at
        order by key_id, at`),
    );
    for (const row of rows) {
      const points = trends.get(row.key_id) ?? [];
      points.push({ at: Number(row.at), ...toCounts(row) });
      trends.set(row.key_id, points);
    }
    return trends;
  }

  async lastUses(keyIds: readonly string[]): Promise<Map<string, number>> {
    const found = new Map<string, number>();
    for (let first = 0; first < keyIds.length; first += ROWS_PER_STATEMENT) {
      const some = keyIds.slice(first, first + ROWS_PER_STATEMENT);
      // The last day of each key: one row of the index.
      const rows = await this.#transactions.read((db) =>
        db.all<{ id: string; last_at: number | null }>(sql`
          select id, (
            select last_at from usage
            where usage.key_id = api_keys.id and period = 'day'
            order by starts_at desc
            limit 1
          ) as last_at
          from api_keys where id in (${join(some)})`),
      );
      for (const { id, last_at } of rows) if (last_at !== null) found.set(id, last_at);
    }
    return found;
  }

  async purge(now: number): Promise<void> {
    for (const period of PERIODS) {
      const { keptSeconds } = USAGE_PERIODS[period];
      for (const table of ['usage', 'route_usage'] as const) {
        while (await this.#purgeOldest(table, period, now - keptSeconds)) await nextTurn();
      }
    }
  }

  /** Deletes all rows of the oldest expired period. False if there is none. */
  #purgeOldest(table: 'usage' | 'route_usage', period: UsagePeriod, before: number): Promise<boolean> {
    return this.#transactions.transactUnlocked(async (trx) => {
      const [oldest] = await trx.all<{ starts_at: number }>(sql`
        select starts_at from ${raw(table)} where period = ${period} order by starts_at limit 1`);
      if (!oldest || oldest.starts_at >= before) return false;
      await trx.run(sql`delete from ${raw(table)} where period = ${period} and starts_at = ${oldest.starts_at}`);
      return true;
    });
  }
}

/** The start of the step of each row, as `stepStart` computes it. */
function stepOf(seconds: number): Sql {
  return raw(`starts_at - (starts_at - ${STEPS_FROM}) % ${seconds}`);
}

function sumsOf(columns: readonly string[]): Sql {
  return join(columns.map((column) => raw(`sum(${column}) as ${column}`)));
}

/** PostgreSQL returns sums as decimals, in text. */
function toCounts(row: Counts): UsageCounts {
  return {
    served: Number(row.served),
    refused: Number(row.refused),
    clientErrors: Number(row.client_errors),
    serverErrors: Number(row.server_errors),
  };
}

function toKeyUsage(row: KeyRow): KeyUsage {
  return { keyId: row.key_id, ...toCounts(row), first: row.first_at, last: row.last_at };
}

function toRoute(row: RouteRow): RouteUsage {
  return { route: row.route, ...toCounts(row), durations: DURATIONS.map((name) => Number(row[name])) };
}

function fromRoute(period: UsagePeriod, minute: number, usage: RouteUsage): Tables['route_usage'] {
  return {
    period,
    starts_at: startOf(period, minute),
    route: usage.route,
    served: usage.served,
    client_errors: usage.clientErrors,
    refused: usage.refused,
    server_errors: usage.serverErrors,
    ...Object.fromEntries(DURATIONS.map((name, index) => [name, usage.durations[index] ?? 0])),
  };
}

type Counts = Pick<Tables['usage'], (typeof OUTCOMES)[number]>;
type KeyRow = Omit<Tables['usage'], 'period' | 'starts_at'>;
type RouteRow = Omit<Tables['route_usage'], 'period' | 'starts_at'>;

/** The place of a row in the order of the primary key. */
interface Place {
  readonly period: UsagePeriod;
  readonly at: number;
  readonly keyId: string;
}

function added(sum: KeyUsage | undefined, more: KeyUsage): KeyUsage {
  if (!sum) return more;
  return {
    keyId: sum.keyId,
    served: sum.served + more.served,
    clientErrors: sum.clientErrors + more.clientErrors,
    refused: sum.refused + more.refused,
    serverErrors: sum.serverErrors + more.serverErrors,
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
    served: record.served,
    client_errors: record.clientErrors,
    refused: record.refused,
    server_errors: record.serverErrors,
    first_at: record.first,
    last_at: record.last,
  };
}
