import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import sql, { join, raw, type Sql } from 'sql-template-tag';
import {
  ALL_KEYS,
  type KeyRouteUsage,
  STEPS_FROM,
  sumCounts,
  USAGE_PERIODS,
  type UsageCounts,
  type UsageGroup,
  type UsagePeriod,
  type UsageRecord,
  type UsageStorage,
  type UsageSum,
} from '../../catalog/usage.ts';
import type { Transaction } from '../engine.ts';
import { attemptOf, once } from './once.ts';
import { rowsInsert, where } from './statement.ts';
import { type OutcomeCounts, ROWS_PER_STATEMENT, type Tables } from './tables.ts';
import { SqlNoun } from './transactions.ts';

const PERIODS = Object.keys(USAGE_PERIODS) as UsagePeriod[];
/** So few that adding them up takes some milliseconds. */
const ROWS_AT_ONCE = 5_000;
/** The same of rows that are found by their keys, of which each has a handful of routes. */
const ROWS_OF_KEYS_AT_ONCE = 1_000;
/** So few that their transaction takes some milliseconds. */
const ROWS_FOLDED_AT_ONCE = 500;
const OUTCOMES = ['served', 'client_errors', 'refused', 'server_errors'] as const;
const SUMS = join(OUTCOMES.map((column) => raw(`sum(${column}) as ${column}`)));

/** The rows that make up a period: minutes are of keys alone, days are those and the hours that are not yet days. */
const SOURCES: Readonly<Record<UsagePeriod, readonly Source[]>> = {
  minute: [{ table: 'usage', period: 'minute' }],
  hour: [{ table: 'key_route_usage', period: 'hour' }],
  day: [
    { table: 'key_route_usage', period: 'hour' },
    { table: 'key_route_usage', period: 'day' },
  ],
};
/** When a key of `api_keys` was last used: one row of an index, of the finest period that has one. */
export const LAST_USED = sql`coalesce(${join(
  [...SOURCES.minute, ...SOURCES.day].map(
    ({ table, period }) => sql`(
      select last_at from ${raw(table)} as used
      where used.key_id = api_keys.id and period = ${raw(`'${period}'`)}
      order by starts_at desc, last_at desc limit 1)`,
  ),
)})`;
const PRIMARY_KEYS = {
  usage: ['starts_at', 'key_id'],
  key_route_usage: ['starts_at', 'key_id', 'route'],
} as const;
const GROUP_IDS: Readonly<Record<UsageGroup | 'all', Sql>> = {
  all: raw("cast('' as text)"),
  key: raw('key_id'),
  owner: raw("coalesce(owner, '')"),
  route: raw('route'),
};
/** Usage in SQL. Keys are counted by minute, and by route and hour; days are sums of hours. */
export class SqlUsage extends SqlNoun implements UsageStorage {
  readonly #addRows = rowsInsert('usage', addTo('usage', 'period, starts_at, key_id'));
  readonly #addHourRows = rowsInsert('key_route_usage', addTo('key_route_usage', 'period, starts_at, key_id, route'));

  add(minute: number, records: readonly UsageRecord[], attempt?: string): Promise<void> {
    const rows = records.map((each) => fromRecord('minute', minute, each));
    return this.transactions.transactUnsynced(this.#once(attempt, (trx) => this.#addRows(trx, sorted(rows))));
  }

  addHours(hour: number, records: readonly KeyRouteUsage[], attempt?: string): Promise<void> {
    const rows = records.map((each) => ({ ...fromRecord('hour', hour, each), route: each.route }));
    return this.transactions.transactUnsynced(this.#once(attempt, (trx) => this.#addHourRows(trx, sorted(rows))));
  }

  sync(): Promise<void> {
    return this.transactions.sync();
  }

  #once(attempt: string = randomUUID(), add: (trx: Transaction) => Promise<void>): (trx: Transaction) => Promise<void> {
    return async (trx) => {
      await once(trx, { ...attemptOf(attempt), now: this.now }, () => add(trx));
    };
  }

  async sums(wanted: SumsQuery): Promise<UsageSum[]> {
    const { step, behind, limit, since, period } = wanted;
    const found = new Map<string, UsageSum>();
    const keyIds = await this.#keyIdsOf(wanted);
    const parts = keyIds ? this.#partsOfKeys(wanted, keyIds) : this.#partsOfAll(wanted);
    for await (const part of parts) {
      for (const row of await this.rows<SumRow>(sumsIn(part, wanted))) {
        const name = `${row.at} ${row.id}`;
        found.set(name, added(found.get(name), toSum(row)));
      }
      await nextTurn();
    }
    const first = step === undefined ? 0 : startOf(period, since);
    return [...found.values()]
      .filter(({ at, id }) => behind === undefined || at > first || id > behind)
      .sort((one, other) => one.at - other.at || (one.id < other.id ? -1 : 1))
      .slice(0, limit);
  }

  /** The keys that a query selects; undefined for all of them. Their total has a row like that of a key. */
  async #keyIdsOf({ keyId, owner, group }: SumsQuery): Promise<readonly string[] | undefined> {
    if (owner === undefined) {
      if (keyId !== undefined) return [keyId];
      return group === 'all' || group === 'route' ? [ALL_KEYS] : undefined;
    }
    const conditions = [sql`owner = ${owner}`, ...(keyId === undefined ? [] : [sql`id = ${keyId}`])];
    const rows = await this.rows<{ id: string }>(sql`select id from api_keys ${where(conditions)}`);
    return rows.map(({ id }) => id);
  }

  /** Some keys at a time. */
  *#partsOfKeys(wanted: SumsQuery, keyIds: readonly string[]): Generator<Part> {
    const { period, since, until = this.now } = wanted;
    // Reads one key from its minutes while they are kept: a kill may lose a minute of hours, which are written later.
    const areKept = startOf(period, since) >= this.now - USAGE_PERIODS.minute.keptSeconds;
    const hasMinutes = keyIds.length === 1 && wanted.route === undefined && wanted.group !== 'route' && areKept;
    for (const source of SOURCES[hasMinutes ? 'minute' : period]) {
      const steps = Math.max(1, (until - since) / USAGE_PERIODS[source.period].seconds);
      const atOnce = Math.min(Math.ceil(ROWS_OF_KEYS_AT_ONCE / steps), ROWS_PER_STATEMENT);
      for (let first = 0; first < keyIds.length; first += atOnce) {
        const some = sql`key_id in (${join(keyIds.slice(first, first + atOnce))})`;
        yield { ...source, conditions: [some, ...startsFrom(wanted), ...endsAt(wanted)] };
      }
    }
  }

  /** Some rows at a time, in the order of the primary key. */
  async *#partsOfAll(wanted: SumsQuery): AsyncGenerator<Part> {
    for (const { table, period } of SOURCES[wanted.period]) {
      const names = raw(PRIMARY_KEYS[table].join());
      let from = startsFrom(wanted);
      for (let last: Sql | undefined; ; from = [sql`(${names}) > (${last})`]) {
        const rest = [sql`period = ${period}`, ...from, ...endsAt(wanted)];
        const [end] = await this.rows<Place>(sql`
          select ${names} from ${raw(table)} ${where(rest)} order by ${names} limit 1 offset ${ROWS_AT_ONCE - 1}`);
        last = end && join(PRIMARY_KEYS[table].map((name) => end[name]));
        const until = last ? [sql`(${names}) <= (${last})`] : endsAt(wanted);
        yield { table, period, conditions: [...from, ...until, sql`key_id != ${ALL_KEYS}`] };
        if (!last) break;
      }
    }
  }

  async lastUses(keyIds: readonly string[]): Promise<Map<string, number>> {
    const found = new Map<string, number>();
    for (let first = 0; first < keyIds.length; first += ROWS_PER_STATEMENT) {
      const some = keyIds.slice(first, first + ROWS_PER_STATEMENT);
      const rows = await this.rows<{ id: string; last_at: number | null }>(sql`
        select id, ${LAST_USED} as last_at from api_keys where id in (${join(some)})`);
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

/** The statement that adds up the usage of one part. */
function sumsIn({ table, period, conditions }: Part, { group, step, route }: SumsQuery): Sql {
  const ofRoute = route === undefined ? [] : [sql`route = ${route}`];
  const names = group === 'key' ? raw('min(name) as name, min(owner) as owner') : raw('null as name, null as owner');
  // Names are joined to sums by key, not to each row.
  return sql`
    select at, ${GROUP_IDS[group]} as id, ${names}, ${SUMS}, min(first_at) as first_at, max(last_at) as last_at
    from (
      select ${step === undefined ? raw('0') : stepOf(step)} as at, key_id, ${raw(group === 'route' ? 'route' : "''")} as route,
        ${SUMS}, min(first_at) as first_at, max(last_at) as last_at
      from ${raw(table)} ${where([sql`period = ${period}`, ...conditions, ...ofRoute])}
      group by 1, 2, 3) as used left join api_keys on api_keys.id = used.key_id
    group by 1, 2`;
}

/** The condition that a range begins at a moment, rounded down to the period. */
function startsFrom({ period, since }: SumsQuery): Sql[] {
  return [sql`starts_at >= ${startOf(period, since)}`];
}

/** The condition that a range ends at a moment, rounded up to the period; none without a moment. */
function endsAt({ period, until }: SumsQuery): Sql[] {
  return until === undefined ? [] : [sql`starts_at < ${startOf(period, until + USAGE_PERIODS[period].seconds - 1)}`];
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

type Named = { readonly name: string | null; readonly owner: string | null };
type SumRow = Omit<Tables['usage'], 'period' | 'starts_at' | 'key_id'> & Named & { readonly id: string; at: number };

type UsageTable = 'usage' | 'route_usage' | 'key_route_usage';
type Source = { readonly table: Exclude<UsageTable, 'route_usage'>; readonly period: UsagePeriod };
/** Rows that are added up in one statement. */
type Part = Source & { readonly conditions: readonly Sql[] };
type SumsQuery = Parameters<UsageStorage['sums']>[0];
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
