import sql from 'sql-template-tag';
import { LIST_START_BYTES } from '../../catalog/category-list.ts';
import { IDEMPOTENCY_SECONDS } from '../../catalog/idempotency.ts';
import type { Capacity, OnChange, Storage } from '../../catalog/storage.ts';
import type { Time } from '../../stdx/time.ts';
import type { DatabaseNotOpened, Engine } from '../engine.ts';
import { SqlAudit } from './audit.ts';
import { SqlCategories } from './categories.ts';
import { SqlKeys } from './keys.ts';
import { SqlLimits } from './limits.ts';
import { once, purgeOutcomes } from './once.ts';
import { SqlSessions, SqlTokens } from './operators.ts';
import { SqlOrders } from './orders.ts';
import { SqlPets } from './pets.ts';
import { one } from './statement.ts';
import type { Tables } from './tables.ts';
import { type StorageEvents, Transactions } from './transactions.ts';
import { SqlUsage } from './usage.ts';

export interface SqlStorageOptions {
  readonly time: Time;
  /** The most categories that the catalog may hold. */
  readonly categoriesMax: number;
  /** Bound on the serialised list of all categories, in bytes. */
  readonly categoriesBytesMax: number;
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
  readonly tokens: SqlTokens;
  readonly transactions: Transactions;
  readonly #time: Time;

  constructor(engine: Engine, options: SqlStorageOptions) {
    const { time } = options;
    this.#time = time;
    this.transactions = new Transactions(engine, time, options.events);
    this.categories = new SqlCategories(this.transactions, options);
    this.pets = new SqlPets(this.transactions, time);
    this.orders = new SqlOrders(this.transactions, time);
    this.keys = new SqlKeys(this.transactions, time);
    this.limits = new SqlLimits(this.transactions, time);
    this.usage = new SqlUsage(this.transactions, time);
    this.audit = new SqlAudit(this.transactions, time);
    this.sessions = new SqlSessions(this.transactions, time);
    this.tokens = new SqlTokens(this.transactions, time);
  }

  /** Fulfilled, with the reason, when this process can no longer write and has to end. */
  get failed(): Promise<DatabaseNotOpened> | undefined {
    return this.transactions.engine.failed;
  }

  once: Storage['once'] = (id, work) =>
    this.transactions.together((trx, joined) =>
      once(trx, { ...id, now: this.#time.now().unix }, () =>
        work({ keys: new SqlKeys(joined, this.#time), tokens: new SqlTokens(joined, this.#time) }),
      ),
    );

  watch(onChange: OnChange): Promise<void> {
    return this.transactions.watch(onChange);
  }

  purgeOutcomes(): Promise<void> {
    return purgeOutcomes(this.transactions, this.#time.now().unix - IDEMPOTENCY_SECONDS);
  }

  /** The id that tells the database from others. */
  async databaseId(): Promise<string> {
    const id = sql`select value from database_properties where name = 'id'`;
    return (await this.transactions.read((db) => one<{ value: string }>(db, id))).value;
  }

  async capacity(): Promise<Capacity> {
    const { count, bytes } = await this.transactions.read((db) =>
      one<Tables['category_counter']>(db, sql`select * from category_counter`),
    );
    const size = await this.transactions.engine.size();
    const keysNearDayLimit = await this.limits.findNearDayLimit();
    return { categories: count, listBytes: LIST_START_BYTES + bytes, ...size, keysNearDayLimit };
  }

  async check(): Promise<{ isWriteFailing: boolean }> {
    this.transactions.assertInPlace();
    await this.transactions.read((db) => db.all(sql`select * from category_counter`));
    return { isWriteFailing: this.transactions.isWriteFailing };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.transactions[Symbol.asyncDispose]();
  }
}
