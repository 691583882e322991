import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ExpressionBuilder, type Kysely, sql } from 'kysely';
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
import type { Clock } from '../../stdx/clock.ts';
import { onceByAttempt } from './outcomes.ts';
import { RowsInsert } from './statement.ts';
import { type DurationColumn, ROWS_PER_STATEMENT, type Tables } from './tables.ts';
import type { Transactions } from './transactions.ts';

const PERIODS = Object.keys(USAGE_PERIODS) as UsagePeriod[];
/** So few that reading them takes some milliseconds. */
const ROWS_AT_ONCE = 2_000;
const OUTCOMES = ['served', 'client_errors', 'refused', 'server_errors'] as const;
const DURATIONS = [...DURATION_BOUNDS, Number.POSITIVE_INFINITY].map((_, index): DurationColumn => `took_${index}`);

/** Usage in SQL. Each record is added to its minute, hour and day, so that a read needs no aggregation over time. */
export class SqlUsage implements UsageStorage {
  readonly #transactions: Transactions;
  readonly #clock: Clock;
  readonly #addRows = new RowsInsert(addRows);
  readonly #addRoutes = new RowsInsert(addRouteRows);

  constructor(transactions: Transactions, clock: Clock) {
    this.#transactions = transactions;
    this.#clock = clock;
  }

  add(minute: number, records: readonly UsageRecord[], attempt: string = randomUUID()): Promise<void> {
    // In key order, so that two instances that add to the same rows cannot deadlock.
    const sorted = records.toSorted((a, b) => (a.keyId < b.keyId ? -1 : 1));
    return this.#transactions.transactUnlocked((trx) =>
      onceByAttempt(trx, { attempt, now: this.#clock().unix }, async () => {
        for (const period of PERIODS) {
          await this.#addRows.run(
            trx,
            sorted.map((record) => fromRecord(period, minute, record)),
          );
        }
      }),
    );
  }

  addRoutes(minute: number, routes: readonly RouteUsage[], attempt: string = randomUUID()): Promise<void> {
    const sorted = routes.toSorted((a, b) => (a.route < b.route ? -1 : 1));
    return this.#transactions.transactUnlocked((trx) =>
      onceByAttempt(trx, { attempt, now: this.#clock().unix }, async () => {
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
      let query = db
        .selectFrom('usage')
        .where('period', '=', period)
        .where('starts_at', '>=', startOf(period, since))
        .where('key_id', '!=', ALL_KEYS)
        .groupBy('key_id')
        .select(['key_id'])
        .select(sums)
        .select(({ fn }) => [fn.min('first_at').as('first_at'), fn.max('last_at').as('last_at')])
        .orderBy(({ fn }) => fn.sum<number>('served'), 'desc')
        .orderBy('key_id');
      if (keyId !== undefined) query = query.where('key_id', '=', keyId);
      if (limit !== undefined) query = query.limit(limit);
      return (await query.execute()).map(toKeyUsage);
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
      db
        .selectFrom('usage')
        .where('period', '=', period)
        .where(sql<boolean>`(starts_at, key_id) > (${at}, ${keyId})`)
        .orderBy('starts_at')
        .orderBy('key_id')
        .limit(ROWS_AT_ONCE)
        .selectAll()
        .execute(),
    );
  }

  page({ since, until, now, keyId, owner, behind, limit }: Parameters<UsageStorage['page']>[0]) {
    const period = usagePeriod(now - since);
    return this.#transactions.read(async (db) => {
      let query = db
        .selectFrom('usage')
        .innerJoin('api_keys', 'api_keys.id', 'usage.key_id')
        .where('period', '=', period)
        .where('starts_at', '>=', startOf(period, since))
        .where('key_id', '>', behind)
        .groupBy(['key_id', 'api_keys.name'])
        .select(['key_id', 'api_keys.name as name'])
        .select(sums)
        .select(({ fn }) => [fn.min('first_at').as('first_at'), fn.max('last_at').as('last_at')])
        .orderBy('key_id')
        .limit(limit);
      if (until !== undefined) query = query.where('starts_at', '<', until);
      if (keyId !== undefined) query = query.where('key_id', '=', keyId);
      if (owner !== undefined) query = query.where('api_keys.owner', '=', owner);
      return (await query.execute()).map((row) => ({ ...toKeyUsage(row), name: row.name }));
    });
  }

  series({ keyId, owner, period, step, since, until }: Parameters<UsageStorage['series']>[0]): Promise<UsagePoint[]> {
    return this.#transactions.read(async (db) => {
      let query = db
        .selectFrom('usage')
        .where('period', '=', period)
        .where('starts_at', '>=', startOf(period, since))
        .select(stepOf(step ?? USAGE_PERIODS[period].seconds))
        .groupBy('at')
        .select(sums)
        .orderBy('at');
      if (until !== undefined) query = query.where('starts_at', '<', until);
      if (owner === undefined || keyId !== ALL_KEYS) query = query.where('key_id', '=', keyId);
      if (owner !== undefined) {
        query = query.where('key_id', 'in', (keys) =>
          keys.selectFrom('api_keys').select('id').where('owner', '=', owner),
        );
      }
      return (await query.execute()).map((row) => ({ at: Number(row.at), ...toCounts(row) }));
    });
  }

  routes({ period, step, since }: Parameters<UsageStorage['routes']>[0]): Promise<RoutePoint[]> {
    return this.#transactions.read(async (db) => {
      const rows = await db
        .selectFrom('route_usage')
        .where('period', '=', period)
        .where('starts_at', '>=', startOf(period, since))
        .select(stepOf(step ?? USAGE_PERIODS[period].seconds))
        .groupBy(['at', 'route'])
        .select('route')
        .select(({ fn }) => [...OUTCOMES, ...DURATIONS].map((name) => fn.sum<number>(name).as(name)))
        .orderBy('at')
        .orderBy('route')
        .execute();
      return rows.map((row) => ({ at: Number(row.at), ...toRoute(row) }));
    });
  }

  async trends({ keyIds, since, stepSeconds }: Parameters<UsageStorage['trends']>[0]) {
    const trends = new Map<string, UsagePoint[]>();
    if (keyIds.length === 0) return trends;
    const step = sql.lit(stepSeconds);
    const startsAt = sql<number>`starts_at - starts_at % ${step}`;
    const rows = await this.#transactions.read((db) =>
      db
        .selectFrom('usage')
        .where('key_id', 'in', keyIds)
        .where('period', '=', 'minute')
        .where('starts_at', '>=', since - (since % stepSeconds))
        .groupBy(['key_id', startsAt])
        .select(['key_id', startsAt.as('at')])
        .select(sums)
        .orderBy('key_id')
        .orderBy('at')
        .execute(),
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
      const rows = await this.#transactions.read((db) => selectLastUses(db, some));
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
      const oldest = await trx
        .selectFrom(table)
        .select('starts_at')
        .where('period', '=', period)
        .orderBy('starts_at')
        .limit(1)
        .executeTakeFirst();
      if (!oldest || oldest.starts_at >= before) return false;
      await trx.deleteFrom(table).where('period', '=', period).where('starts_at', '=', oldest.starts_at).execute();
      return true;
    });
  }
}

/** The last day of each key: one row of the index. */
function selectLastUses(db: Kysely<Tables>, keyIds: readonly string[]) {
  return db
    .selectFrom('api_keys')
    .where('id', 'in', keyIds)
    .select((key) => [
      'id',
      key
        .selectFrom('usage')
        .whereRef('usage.key_id', '=', 'api_keys.id')
        .where('period', '=', 'day')
        .orderBy('starts_at', 'desc')
        .limit(1)
        .select('last_at')
        .as('last_at'),
    ])
    .execute();
}

function addRows(db: Kysely<Tables>, rows: readonly Tables['usage'][]) {
  return db
    .insertInto('usage')
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(['period', 'starts_at', 'key_id']).doUpdateSet((set) => {
        const sum = (column: Counted) => set(`usage.${column}`, '+', set.ref(`excluded.${column}`));
        const bound = (column: 'first_at' | 'last_at', keeps: '<' | '>') =>
          set
            .case()
            .when(`usage.${column}`, keeps, set.ref(`excluded.${column}`))
            .then(set.ref(`usage.${column}`))
            .else(set.ref(`excluded.${column}`))
            .end();
        return {
          served: sum('served'),
          client_errors: sum('client_errors'),
          refused: sum('refused'),
          server_errors: sum('server_errors'),
          first_at: bound('first_at', '<'),
          last_at: bound('last_at', '>'),
        };
      }),
    );
}

function addRouteRows(db: Kysely<Tables>, rows: readonly Tables['route_usage'][]) {
  return db
    .insertInto('route_usage')
    .values(rows)
    .onConflict((conflict) =>
      conflict
        .columns(['period', 'starts_at', 'route'])
        .doUpdateSet((set) =>
          Object.fromEntries(
            [...OUTCOMES, ...DURATIONS].map((name) => [
              name,
              set(`route_usage.${name}`, '+', set.ref(`excluded.${name}`)),
            ]),
          ),
        ),
    );
}

/** The start of the step of each row, as `stepStart` computes it. */
function stepOf(seconds: number) {
  return sql<number>`starts_at - (starts_at - ${sql.lit(STEPS_FROM)}) % ${sql.lit(seconds)}`.as('at');
}

function sums({ fn }: ExpressionBuilder<Tables, 'usage'>) {
  return [
    fn.sum<number>('served').as('served'),
    fn.sum<number>('client_errors').as('client_errors'),
    fn.sum<number>('refused').as('refused'),
    fn.sum<number>('server_errors').as('server_errors'),
  ];
}

/** PostgreSQL returns sums as decimals, in text. */
function toCounts(row: Pick<Tables['usage'], Counted>): UsageCounts {
  return {
    served: Number(row.served),
    refused: Number(row.refused),
    clientErrors: Number(row.client_errors),
    serverErrors: Number(row.server_errors),
  };
}

function toKeyUsage(row: Omit<Tables['usage'], 'period' | 'starts_at'>): KeyUsage {
  return { keyId: row.key_id, ...toCounts(row), first: row.first_at, last: row.last_at };
}

function toRoute(row: Omit<Tables['route_usage'], 'period' | 'starts_at'>): RouteUsage {
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

type Counted = (typeof OUTCOMES)[number];

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
