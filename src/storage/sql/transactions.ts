import { setImmediate as nextTurn } from 'node:timers/promises';
import sql, { type Sql } from 'sql-template-tag';
import { CatalogError } from '../../catalog/error.ts';
import type { Change, OnChange } from '../../catalog/storage.ts';
import type { Time, Timer } from '../../stdx/time.ts';
import type { Events } from '../../telemetry/events.ts';
import type { Connection, Engine, Failure, Lock, Statement, Transaction } from '../engine.ts';
import {
  type Following,
  followChanges,
  type NamedChange,
  noteChange,
  readChanges,
  readVersions,
} from './change-feed.ts';
import { WriteQueue } from './write-queue.ts';

/** The time to wait for a lock that another process holds before failing. */
const LOCK_WAIT_MS = 900;
const LOCK_RETRY_MS = 10;
/** Work counts as recovered after this long without a failure: on a full disk a small write succeeds now and then. */
const RECOVERY_MS = 1_000;
/** The interval at which a service at rest looks whether the files of its database are in their place. */
const PLACE_LOOK_MS = 1_000;

type Work = 'read' | 'write';
type Job = (trx: Transaction) => Promise<unknown>;

export type StorageEvents = Partial<
  Pick<Events, 'batchStored' | 'storageRead' | 'storageFailing' | 'storageRecovered'>
>;

export type Joined = Pick<Transactions, 'read' | 'change' | 'together'>;

/**
 * Runs work on an engine: a read, a transaction of its own, or a job of a batch that shares one. Owns the connection.
 *
 * There are two group-commit queues. The one here, behind `batch`, runs its jobs one after the other in a shared
 * transaction, for work that must read before it writes: stock, an Idempotency-Key. The other is in `SqlCategories`:
 * category creates without an Idempotency-Key read nothing, so a whole batch becomes one multi-row insert.
 */
export class Transactions {
  readonly engine: Engine;
  readonly #time: Time;
  readonly #events: StorageEvents | undefined;
  readonly #jobs: WriteQueue<Job, { value: unknown }>;
  /** The work that fails, with the timer of its recovery from the first success on. */
  readonly #failing = new Map<Work, Timer | undefined>();
  #onChange: OnChange = async () => {};
  #following: Following | undefined;
  readonly #watching = new AsyncDisposableStack();
  #closing: Promise<void> | undefined;

  constructor(engine: Engine, time: Time, events?: StorageEvents) {
    this.engine = engine;
    this.#time = time;
    this.#events = events;
    this.#jobs = this.queue((jobs) => this.transact((trx) => runEach(jobs, trx)));
  }

  get isWriteFailing(): boolean {
    return this.#failing.has('write');
  }

  /**
   * Reports that writes fail, and throws `unavailable`, if what is written would be lost, because the files of the
   * database were removed or replaced.
   */
  assertInPlace(): void {
    try {
      this.engine.assertInPlace?.();
    } catch (error) {
      this.#fail('write', 'unavailable', error);
      throw unavailable('unavailable', error);
    }
  }

  /** Runs a read. Waits for short locks without blocking the event loop. Throws `unavailable`. */
  read<T>(work: (db: Connection) => Promise<T>): Promise<T> {
    return this.#attempt('read', () => work(this.engine.db));
  }

  /**
   * Runs a durable transaction of its own, serialised with every other one of the same lock in all processes, so that
   * it may decide by what it reads. Throws `unavailable` with nothing stored, or `outcome_unknown`.
   */
  transact<T>(work: (trx: Transaction) => Promise<T>, lock: Lock = 'writers'): Promise<T> {
    return this.transactUnlocked(async (trx) => {
      await this.engine.lock?.(trx, lock);
      return work(trx);
    });
  }

  /** A durable transaction that may run beside others, for work that does not depend on reads. Fails as `transact`. */
  transactUnlocked<T>(work: (trx: Transaction) => Promise<T>): Promise<T> {
    return this.#attempt('write', () => this.engine.db.transaction(work));
  }

  /**
   * The same, but a power cut may undo it until `sync`: for work in many parts, of which each would wait for the disk.
   */
  transactUnsynced<T>(work: (trx: Transaction) => Promise<T>): Promise<T> {
    return this.#attempt('write', () => this.engine.db.transaction(work, 'unsynced'));
  }

  /** Makes what `transactUnsynced` committed durable. Fails as `transact`. */
  async sync(): Promise<void> {
    await this.#attempt('write', async () => this.engine.db.sync?.());
  }

  /**
   * Runs work in a durable transaction that it may share with other jobs. A `CatalogError` fails this job alone, so
   * throw it before anything is written.
   */
  async batch<T>(work: (trx: Transaction) => Promise<T>): Promise<T> {
    const { value } = await this.#jobs.push(work);
    return value as T;
  }

  /** Runs a deletion of a few rows for as long as there are old ones, so that requests are served in between. */
  async purge(old: Sql, deletion: Sql): Promise<void> {
    // Writes nothing where there is nothing to purge: that would pass for a sign that writes succeed again.
    while ((await this.read((db) => db.all(sql`${old} limit 1`))).length > 0) {
      await this.transact((trx) => trx.run(deletion));
      await nextTurn();
    }
  }

  /** Makes a queue that reports its batches to `events`. */
  queue<Item, Result>(commit: (items: Item[]) => Promise<(Result | CatalogError)[]>): WriteQueue<Item, Result> {
    return new WriteQueue(commit, { time: this.#time, onStored: this.#events?.batchStored });
  }

  /** Runs a transaction that changes what others cache: watchers here and in other processes are notified. */
  change<T>(change: NamedChange, work: (trx: Transaction) => Promise<T>): Promise<T> {
    return this.together((_trx, joined) => joined.change(change, work));
  }

  /** Runs a transaction that all reads and changes of `joined` are part of. Its changes are followed as by `change`. */
  async together<T>(work: (trx: Transaction, joined: Joined) => Promise<T>): Promise<T> {
    let changes: (NamedChange & { readonly version: number })[] = [];
    const result = await this.transact((trx) => {
      changes = [];
      const joined: Joined = {
        read: (part) => part(trx),
        change: async (change, part) => {
          const version = await this.#raiseVersion(trx, change.kind);
          await noteChange(trx, version, change);
          changes.push({ ...change, version });
          return part(trx);
        },
        together: (part) => part(trx, joined),
      };
      return work(trx, joined);
    });
    // They are durable: a watcher that fails to follow one reports that itself.
    for (const { kind, version, id } of changes) {
      await this.#onChange(kind, kind === 'keys' ? [id] : undefined).then(
        () => version && this.#following?.followed(kind, version),
        () => {},
      );
    }
    return result;
  }

  /**
   * Within a transaction, has all processes follow a change once it commits. The row of the kind stays locked until
   * then, so that versions are committed in their order. Returns the version, 0 for a kind without one.
   */
  async #raiseVersion(trx: Transaction, kind: Change): Promise<number> {
    const [raised] = await trx.all<{ version: number }>(
      sql`update change_versions set version = version + 1 where kind = ${kind} returning version`,
    );
    await this.engine.announce?.(trx);
    return raised?.version ?? 0;
  }

  /** Calls back on changes made from now on, here or in another process. Throws `unavailable`. */
  async watch(onChange: OnChange): Promise<void> {
    const followed = {
      versions: () => this.read((db) => readVersions(db, this.engine.run)),
      changedKeys: (after: number, upTo: number) => this.read((db) => readChanges<string>(db, 'keys', { after, upTo })),
    };
    this.#following = await followChanges(followed, async (change, keyIds) => {
      // Before anything is read anew: an open connection may still lead to the server of before.
      if (change === 'restored') this.engine.reconnect?.();
      await onChange(change, keyIds);
    });
    this.#onChange = onChange;
    this.#watching.defer(this.engine.watch(this.#following.look));
    if (!this.engine.assertInPlace) return;
    this.#watching.use(this.#time.setInterval(() => this.#lookForFiles(), PLACE_LOOK_MS).unref());
  }

  /** Closes the connection once, however often it is asked for. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#watching.disposeAsync();
    for (const recovery of this.#failing.values()) recovery?.[Symbol.dispose]();
    await this.engine.db.close();
  }

  #lookForFiles(): void {
    try {
      this.assertInPlace();
    } catch {
      // It is reported.
    }
  }

  async #attempt<T>(kind: Work, work: () => Promise<T>): Promise<T> {
    const startedMs = this.#time.steadyMs();
    for (;;) {
      try {
        const result = await work();
        if (kind === 'read') this.#events?.storageRead?.(this.#time.steadyMs() - startedMs);
        if (this.#failing.has(kind)) this.#recover(kind);
        return result;
      } catch (error) {
        const failure = this.engine.classify(error);
        if (!failure) throw error;
        if (failure === 'busy' && this.#time.steadyMs() - startedMs <= LOCK_WAIT_MS) {
          await new Promise<void>((resolve) => this.#time.setTimeout(resolve, LOCK_RETRY_MS));
          continue;
        }
        const cause = this.engine.explain?.(error) ?? error;
        this.#fail(kind, failure, cause);
        throw failure === 'unknown' && kind === 'write' ? outcomeUnknown(cause) : unavailable(failure, cause);
      }
    }
  }

  #fail(kind: Work, failure: Failure, error: unknown): void {
    const isNew = !this.#failing.has(kind);
    this.#failing.get(kind)?.[Symbol.dispose]();
    this.#failing.set(kind, undefined);
    if (isNew) this.#events?.storageFailing?.(kind, { database: this.engine.place, failure, error });
  }

  #recover(kind: Work): void {
    if (this.#failing.get(kind)) return;
    const recovery = this.#time.setTimeout(() => {
      this.#failing.delete(kind);
      this.#events?.storageRecovered?.(kind);
    }, RECOVERY_MS);
    this.#failing.set(kind, recovery.unref());
  }
}

/** The storage of one noun: what its statements run on, and the time. */
export abstract class SqlNoun<On extends Joined = Transactions> {
  protected readonly transactions: On;
  protected readonly time: Time;

  constructor(transactions: On, time: Time) {
    this.transactions = transactions;
    this.time = time;
  }

  /** Unix seconds. */
  protected get now(): number {
    return this.time.now().unix;
  }

  /** Reads the rows that a statement returns, as `Transactions.read` does. */
  protected rows<Row>(statement: Statement): Promise<Row[]> {
    return this.transactions.read((db) => db.all<Row>(statement));
  }
}

function unavailable(failure: Failure, cause: unknown): CatalogError {
  const message =
    failure === 'full'
      ? "The database's disk is full, so nothing was stored; retry when it has room again"
      : 'The storage cannot do this now; retry after a second';
  return new CatalogError('unavailable', message, { cause });
}

function outcomeUnknown(cause: unknown): CatalogError {
  const message =
    'The storage did not say whether this was stored; retry with the same Idempotency-Key, or look before you retry';
  return new CatalogError('outcome_unknown', message, { cause });
}

async function runEach(jobs: readonly Job[], trx: Transaction): Promise<({ value: unknown } | CatalogError)[]> {
  const outcomes: ({ value: unknown } | CatalogError)[] = [];
  for (const job of jobs) {
    try {
      outcomes.push({ value: await job(trx) });
    } catch (error) {
      if (!(error instanceof CatalogError)) throw error;
      outcomes.push(error);
    }
  }
  return outcomes;
}
