import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ExpressionBuilder, Kysely } from 'kysely';
import {
  ALL_KEYS,
  type KeyUsage,
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
import { ROWS_PER_STATEMENT, type Tables } from './tables.ts';
import type { Transactions } from './transactions.ts';

const PERIODS = Object.keys(USAGE_PERIODS) as UsagePeriod[];

/** Usage in SQL. Each record is added to its minute, hour and day, so that a read needs no aggregation over time. */
export class SqlUsage implements UsageStorage {
  readonly #transactions: Transactions;
  readonly #clock: Clock;
  readonly #addRows = new RowsInsert(addRows);

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

  series({ keyId, owner, period, since, until }: Parameters<UsageStorage['series']>[0]): Promise<UsagePoint[]> {
    return this.#transactions.read(async (db) => {
      let query = db
        .selectFrom('usage')
        .where('period', '=', period)
        .where('starts_at', '>=', startOf(period, since))
        .groupBy('starts_at')
        .select(['starts_at'])
        .select(sums)
        .orderBy('starts_at');
      if (until !== undefined) query = query.where('starts_at', '<', until);
      if (owner === undefined || keyId !== ALL_KEYS) query = query.where('key_id', '=', keyId);
      if (owner !== undefined) {
        query = query.where('key_id', 'in', (keys) =>
          keys.selectFrom('api_keys').select('id').where('owner', '=', owner),
        );
      }
      return (await query.execute()).map((row) => ({ at: row.starts_at, ...toCounts(row) }));
    });
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
      while (await this.#purgeOldest(period, now - keptSeconds)) await nextTurn();
    }
  }

  /** Deletes all rows of the oldest expired period. False if there is none. */
  #purgeOldest(period: UsagePeriod, before: number): Promise<boolean> {
    return this.#transactions.transactUnlocked(async (trx) => {
      const oldest = await trx
        .selectFrom('usage')
        .select('starts_at')
        .where('period', '=', period)
        .orderBy('starts_at')
        .limit(1)
        .executeTakeFirst();
      if (!oldest || oldest.starts_at >= before) return false;
      await trx.deleteFrom('usage').where('period', '=', period).where('starts_at', '=', oldest.starts_at).execute();
      return true;
    });
  }
}

/** The last day of each key, of which the index finds one row. */
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

type Counted = 'served' | 'client_errors' | 'refused' | 'server_errors';

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
