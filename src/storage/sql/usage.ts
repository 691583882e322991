import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import {
  ALL_KEYS,
  type KeyUsage,
  USAGE_PERIODS,
  type UsagePeriod,
  type UsagePoint,
  type UsageRecord,
  type UsageStorage,
  usagePeriod,
} from '../../catalog/usage.ts';
import type { Clock } from '../../stdx/clock.ts';
import { onceByAttempt } from './outcomes.ts';
import { RowsInsert } from './statement.ts';
import type { Tables } from './tables.ts';
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
        .select(({ fn }) => [
          'key_id',
          fn.sum<number>('served').as('served'),
          fn.sum<number>('client_errors').as('client_errors'),
          fn.sum<number>('refused').as('refused'),
          fn.sum<number>('server_errors').as('server_errors'),
          fn.min('first_at').as('first_at'),
          fn.max('last_at').as('last_at'),
        ])
        .orderBy(({ fn }) => fn.sum<number>('served'), 'desc')
        .orderBy('key_id');
      if (keyId !== undefined) query = query.where('key_id', '=', keyId);
      if (limit !== undefined) query = query.limit(limit);
      return (await query.execute()).map((row) => ({
        keyId: row.key_id,
        // PostgreSQL returns sums as decimals, in text.
        served: Number(row.served),
        clientErrors: Number(row.client_errors),
        refused: Number(row.refused),
        serverErrors: Number(row.server_errors),
        first: row.first_at,
        last: row.last_at,
      }));
    });
  }

  series({ keyId, period, since }: Parameters<UsageStorage['series']>[0]): Promise<UsagePoint[]> {
    return this.#transactions.read(async (db) => {
      const rows = await db
        .selectFrom('usage')
        .selectAll()
        .where('key_id', '=', keyId)
        .where('period', '=', period)
        .where('starts_at', '>=', startOf(period, since))
        .orderBy('starts_at')
        .execute();
      return rows.map((row) => ({
        at: row.starts_at,
        served: row.served,
        clientErrors: row.client_errors,
        refused: row.refused,
        serverErrors: row.server_errors,
      }));
    });
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
