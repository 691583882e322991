import { setTimeout as wait } from 'node:timers/promises';
import type { Kysely, Transaction } from 'kysely';
import { CatalogError } from '../../catalog/error.ts';
import type { Change } from '../../catalog/storage.ts';
import type { Events } from '../../telemetry/events.ts';
import type { Engine } from '../engine.ts';
import { type Following, followChanges, readVersions } from './change-feed.ts';
import type { Tables } from './tables.ts';
import { WriteQueue } from './write-queue.ts';

/** How long a lock that another process holds is waited for; then the caller is told. */
const LOCK_WAIT_MS = 900;
const LOCK_RETRY_MS = 10;

type Work = 'read' | 'write';
type Job = (trx: Transaction<Tables>) => Promise<unknown>;

/** How work is done on an engine: alone, in a transaction, or together with others in one. Owns the connection. */
export class Transactions {
  readonly #engine: Engine;
  readonly #events: Events | undefined;
  readonly #jobs: WriteQueue<Job, { value: unknown }>;
  readonly #failing = new Set<Work>();
  #onChange: (change: Change) => Promise<void> = async () => {};
  #following: Following | undefined;
  #unwatch = async () => {};

  constructor(engine: Engine, events?: Events) {
    this.#engine = engine;
    this.#events = events;
    this.#jobs = this.queue((jobs) => this.transact((trx) => runEach(jobs, trx)));
  }

  /** For reading. Waits out short locks without holding up the event loop. Throws `unavailable`. */
  read<T>(work: (db: Kysely<Tables>) => Promise<T>): Promise<T> {
    return this.#attempt('read', () => work(this.#engine.db));
  }

  /**
   * A durable transaction of its own, during which no other one runs, in whatever process: it may decide by what it
   * reads. Throws `unavailable` with nothing stored, or `outcome_unknown`.
   */
  transact<T>(work: (trx: Transaction<Tables>) => Promise<T>): Promise<T> {
    return this.transactUnlocked(async (trx) => {
      await this.#engine.lockWriters(trx);
      return work(trx);
    });
  }

  /** A durable transaction that others may run beside, for what does not depend on what it reads. Fails as `transact`. */
  transactUnlocked<T>(work: (trx: Transaction<Tables>) => Promise<T>): Promise<T> {
    return this.#attempt('write', () => this.#engine.db.transaction().execute(work));
  }

  /**
   * A durable transaction that the work may share with other work of the moment. A `CatalogError` that it throws fails
   * it alone, so it must be thrown before anything is written.
   */
  async batch<T>(work: (trx: Transaction<Tables>) => Promise<T>): Promise<T> {
    const { value } = await this.#jobs.push(work);
    return value as T;
  }

  /** A queue whose batches are told to `events`. */
  queue<Item, Result>(commit: (items: Item[]) => Promise<(Result | CatalogError)[]>): WriteQueue<Item, Result> {
    return new WriteQueue(commit, this.#events?.batchStored);
  }

  /** A transaction that changes what others remember: whoever watches, here or in another process, is told. */
  async change<T>(kind: Change, work: (trx: Transaction<Tables>) => Promise<T>): Promise<T> {
    const { version, result } = await this.transact(async (trx) => {
      const raised = await trx
        .updateTable('change_versions')
        .set((set) => ({ version: set('version', '+', 1) }))
        .where('kind', '=', kind)
        .returning('version')
        .executeTakeFirst();
      await this.announce(trx);
      return { version: raised?.version, result: await work(trx) };
    });
    // The change is made: that a watcher could not follow it, which it reports itself, does not undo it.
    await this.#onChange(kind).then(
      () => version && this.#following?.followed(kind, version),
      () => {},
    );
    return result;
  }

  /** Lets other processes look for what the transaction changed as soon as it is done. */
  announce(trx: Transaction<Tables>): Promise<void> {
    return this.#engine.announce(trx);
  }

  /** Calls back about changes made here or elsewhere from now on. Throws `unavailable`. */
  async watch(onChange: (change: Change) => Promise<void>): Promise<void> {
    this.#following = await followChanges(() => this.read(readVersions), onChange);
    this.#onChange = onChange;
    this.#unwatch = this.#engine.watch(this.#following.look);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#unwatch();
    await this.#engine.db.destroy();
  }

  async #attempt<T>(kind: Work, work: () => Promise<T>): Promise<T> {
    const startedMs = performance.now();
    for (;;) {
      try {
        const result = await work();
        if (kind === 'read') this.#events?.storageRead(performance.now() - startedMs);
        if (this.#failing.delete(kind)) this.#events?.storageRecovered(kind);
        return result;
      } catch (error) {
        const failure = this.#engine.classify(error);
        if (!failure) throw error;
        if (failure === 'busy' && performance.now() - startedMs <= LOCK_WAIT_MS) {
          await wait(LOCK_RETRY_MS);
          continue;
        }
        if (!this.#failing.has(kind)) this.#events?.storageFailing(kind, error);
        this.#failing.add(kind);
        throw failure === 'unknown' ? outcomeUnknown(error) : unavailable(error);
      }
    }
  }
}

function unavailable(cause: unknown): CatalogError {
  return new CatalogError('unavailable', 'The storage cannot do this now; retry after a second', { cause });
}

function outcomeUnknown(cause: unknown): CatalogError {
  const message =
    'The storage did not say whether this was stored; retry with the same Idempotency-Key, or look before you retry';
  return new CatalogError('outcome_unknown', message, { cause });
}

async function runEach(jobs: readonly Job[], trx: Transaction<Tables>): Promise<({ value: unknown } | CatalogError)[]> {
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
