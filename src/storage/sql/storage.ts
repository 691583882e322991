import { setImmediate as nextTurn } from 'node:timers/promises';
import { IDEMPOTENCY_SECONDS } from '../../catalog/idempotency.ts';
import type { Change, Storage } from '../../catalog/storage.ts';
import type { Clock } from '../../stdx/clock.ts';
import type { Engine } from '../engine.ts';
import { SqlAudit } from './audit.ts';
import { SqlCategories } from './categories.ts';
import { RowGuard } from './checksum.ts';
import { SqlKeys } from './keys.ts';
import { SqlLimits } from './limits.ts';
import { SqlOrders } from './orders.ts';
import { purgeSomeAttempts } from './outcomes.ts';
import { SqlPets } from './pets.ts';
import { SqlSessions } from './sessions.ts';
import { type StorageEvents, Transactions } from './transactions.ts';
import { SqlUsage } from './usage.ts';

const PURGE_BATCH = 200;

export interface SqlStorageOptions {
  readonly clock: Clock;
  /** The most categories that the catalog may hold. */
  readonly categoriesMax: number;
  /** The most bytes of the list of all categories, as it is sent. */
  readonly categoriesBytesMax: number;
  /** Commands that run beside the service handle damaged rows alone. */
  readonly events?: StorageEvents;
}

/** Storage on an SQL engine whose tables are up to date. Owns the engine's connection. */
export class SqlStorage implements Storage {
  readonly categories: SqlCategories;
  readonly pets: SqlPets;
  readonly orders: SqlOrders;
  readonly keys: SqlKeys;
  readonly limits: SqlLimits;
  readonly usage: SqlUsage;
  readonly audit: SqlAudit;
  readonly sessions: SqlSessions;
  readonly #transactions: Transactions;
  readonly #clock: Clock;

  constructor(engine: Engine, options: SqlStorageOptions) {
    const { clock } = options;
    this.#clock = clock;
    this.#transactions = new Transactions(engine, options.events);
    const guard = new RowGuard(options.events);
    this.categories = new SqlCategories(this.#transactions, { guard, ...options });
    this.pets = new SqlPets(this.#transactions, { guard, clock });
    this.orders = new SqlOrders(this.#transactions, { guard, clock });
    this.keys = new SqlKeys(this.#transactions, { guard, clock });
    this.limits = new SqlLimits(this.#transactions, clock);
    this.usage = new SqlUsage(this.#transactions, clock);
    this.audit = new SqlAudit(this.#transactions);
    this.sessions = new SqlSessions(this.#transactions);
  }

  watch(onChange: (change: Change) => Promise<void>): Promise<void> {
    return this.#transactions.watch(onChange);
  }

  async purgeOutcomes(): Promise<void> {
    const now = this.#clock().unix;
    while ((await this.#purgeSome(now - IDEMPOTENCY_SECONDS)) > 0) await nextTurn();
    const purgeAttempts = () => this.#transactions.transactUnlocked((trx) => purgeSomeAttempts(trx, now));
    while ((await purgeAttempts()) > 0) await nextTurn();
  }

  /** Deletes a few at a time, so that requests are served in between. */
  #purgeSome(oldest: number): Promise<number> {
    return this.#transactions.transact(async (trx) => {
      const old = await trx
        .selectFrom('create_outcomes')
        .select(['key_id', 'idempotency_key'])
        .where('created_at', '<=', oldest)
        .limit(PURGE_BATCH)
        .execute();
      for (const { key_id, idempotency_key } of old) {
        await trx
          .deleteFrom('create_outcomes')
          .where('key_id', '=', key_id)
          .where('idempotency_key', '=', idempotency_key)
          .execute();
      }
      return old.length;
    });
  }

  async check(): Promise<void> {
    await this.#transactions.read((db) => db.selectFrom('category_counter').selectAll().execute());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#transactions[Symbol.asyncDispose]();
  }
}
