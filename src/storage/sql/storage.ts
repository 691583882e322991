import { setImmediate as nextTurn } from 'node:timers/promises';
import sql from 'sql-template-tag';
import { IDEMPOTENCY_SECONDS } from '../../catalog/idempotency.ts';
import type { Change, Storage } from '../../catalog/storage.ts';
import type { Clock } from '../../stdx/clock.ts';
import { SYSTEM_TIMERS, type Timers } from '../../stdx/timers.ts';
import type { Connection, Engine } from '../engine.ts';
import { SqlAudit } from './audit.ts';
import { SqlCategories } from './categories.ts';
import { RowGuard } from './checksum.ts';
import { SqlKeys } from './keys.ts';
import { SqlLimits } from './limits.ts';
import { SqlSessions } from './operator/sessions.ts';
import { SqlTokens } from './operator/tokens.ts';
import { SqlOrders } from './orders.ts';
import { deleteAttempts, selectOldAttempts } from './outcomes.ts';
import { SqlPets } from './pets.ts';
import type { Tables } from './tables.ts';
import { type StorageEvents, Transactions } from './transactions.ts';
import { SqlUsage } from './usage.ts';

const PURGE_BATCH = 200;

type OutcomeKey = Pick<Tables['create_outcomes'], 'key_id' | 'idempotency_key'>;

export interface SqlStorageOptions {
  readonly clock: Clock;
  /** The most categories that the catalog may hold. */
  readonly categoriesMax: number;
  /** Bound on the serialised list of all categories, in bytes. */
  readonly categoriesBytesMax: number;
  /** Commands that run beside the service handle damaged rows alone. */
  readonly events?: StorageEvents;
  readonly timers?: Timers;
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
  readonly tokens: SqlTokens;
  /** For the tables of rehearsal, whose statements are in its own room. */
  readonly transactions: Transactions;
  readonly #clock: Clock;

  constructor(engine: Engine, options: SqlStorageOptions) {
    const { clock, timers = SYSTEM_TIMERS } = options;
    this.#clock = clock;
    this.transactions = new Transactions(engine, timers, options.events);
    const guard = new RowGuard(options.events);
    this.categories = new SqlCategories(this.transactions, { guard, ...options });
    this.pets = new SqlPets(this.transactions, { guard, clock });
    this.orders = new SqlOrders(this.transactions, { guard, clock });
    this.keys = new SqlKeys(this.transactions, { guard, clock });
    this.limits = new SqlLimits(this.transactions, clock);
    this.usage = new SqlUsage(this.transactions, clock);
    this.audit = new SqlAudit(this.transactions);
    this.sessions = new SqlSessions(this.transactions, clock);
    this.tokens = new SqlTokens(this.transactions, clock);
  }

  watch(onChange: (change: Change) => Promise<void>): Promise<void> {
    return this.transactions.watch(onChange);
  }

  async purgeOutcomes(): Promise<void> {
    const oldest = this.#clock().unix - IDEMPOTENCY_SECONDS;
    await purgeAll(
      () => this.transactions.read((db) => selectOld(db, oldest)),
      (old) => this.#purge(old, oldest),
    );
    await purgeAll(
      () => this.transactions.read((db) => selectOldAttempts(db, oldest)),
      (old) => this.transactions.transactUnlocked((trx) => deleteAttempts(trx, old)),
    );
  }

  #purge(old: readonly OutcomeKey[], oldest: number): Promise<void> {
    return this.transactions.transact(async (trx) => {
      for (const { key_id, idempotency_key } of old) {
        await trx.run(sql`
          delete from create_outcomes
          where key_id = ${key_id} and idempotency_key = ${idempotency_key} and created_at <= ${oldest}`);
      }
    });
  }

  /** The offset of the turned clock in seconds; undefined unless the database is used in rehearsal. */
  async turnedBy(): Promise<number | undefined> {
    const [mark] = await this.transactions.read((db) =>
      db.all<Pick<Tables['rehearsal'], 'turned_by'>>(sql`select turned_by from rehearsal`),
    );
    return mark?.turned_by;
  }

  async check(): Promise<{ isWriteFailing: boolean }> {
    await this.transactions.read((db) => db.all(sql`select * from category_counter`));
    return { isWriteFailing: this.transactions.isWriteFailing };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.transactions[Symbol.asyncDispose]();
  }
}

/** Purges what is old, some at a time, and writes nothing where there is nothing to purge. */
async function purgeAll<T>(select: () => Promise<T[]>, purge: (old: T[]) => Promise<void>): Promise<void> {
  for (let old = await select(); old.length > 0; old = await select()) {
    await purge(old);
    await nextTurn();
  }
}

/** Selects a few at a time, so that requests are served in between. */
function selectOld(db: Connection, oldest: number): Promise<OutcomeKey[]> {
  return db.all(sql`
    select key_id, idempotency_key from create_outcomes
    where created_at <= ${oldest}
    limit ${PURGE_BATCH}`);
}
