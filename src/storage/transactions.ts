import { setTimeout as wait } from 'node:timers/promises';
import type { Kysely, Transaction } from 'kysely';
import { CatalogError } from '../catalog/error.ts';
import type { Change } from '../catalog/storage.ts';
import type { Events } from '../events.ts';
import type { Tables } from './tables.ts';
import { WriteQueue } from './write-queue.ts';

/** How long a lock that another process holds is waited for; then the caller is told. */
const LOCK_WAIT_MS = 900;
const LOCK_RETRY_MS = 10;

/** `busy`: somebody else holds a lock, try again. `unavailable`: not now, and trying again at once is no use. */
export type Failure = 'busy' | 'unavailable';

/** What differs between the engines. */
export interface Engine {
  readonly db: Kysely<Tables>;
  /** What an error of this engine means, told by its code; undefined for a defect. */
  classify(error: unknown): Failure | undefined;
  /** Calls back about changes of other processes until the function that it returns is called. */
  watch(onChange: (change: Change) => Promise<void>): () => void;
}

type Job = (trx: Transaction<Tables>) => Promise<unknown>;

/** How work is done on an engine: alone, in a transaction, or together with others in one. Owns the connection. */
export class Transactions {
  readonly #engine: Engine;
  readonly #events: Events | undefined;
  readonly #jobs: WriteQueue<Job, { value: unknown }>;
  #onChange: (change: Change) => Promise<void> = async () => {};
  #unwatch = () => {};

  constructor(engine: Engine, events?: Events) {
    this.#engine = engine;
    this.#events = events;
    this.#jobs = this.queue((jobs) => this.transact((trx) => runEach(jobs, trx)));
  }

  /** For reading. Waits out short locks without holding up the event loop. Throws `unavailable`. */
  read<T>(work: (db: Kysely<Tables>) => Promise<T>): Promise<T> {
    return this.#attempt(() => work(this.#engine.db));
  }

  /** A durable transaction of its own. Fails as `read` does, with nothing stored. */
  transact<T>(work: (trx: Transaction<Tables>) => Promise<T>): Promise<T> {
    return this.#attempt(() => this.#engine.db.transaction().execute(work));
  }

  /**
   * A durable transaction that the work may share with other work of the moment. A `CatalogError` that it throws fails
   * it alone, so it must be thrown before anything is written.
   */
  async together<T>(work: (trx: Transaction<Tables>) => Promise<T>): Promise<T> {
    const { value } = await this.#jobs.push(work);
    return value as T;
  }

  /** A queue whose batches are told to `events`. */
  queue<Item, Result>(commit: (items: Item[]) => Promise<(Result | CatalogError)[]>): WriteQueue<Item, Result> {
    return new WriteQueue(commit, this.#events?.batchStored);
  }

  /** A transaction that changes what others remember: whoever watches, here or in another process, is told. */
  async change<T>(kind: Change, work: (trx: Transaction<Tables>) => Promise<T>): Promise<T> {
    const result = await this.transact(async (trx) => {
      await trx
        .updateTable('change_versions')
        .set((set) => ({ version: set('version', '+', 1) }))
        .where('kind', '=', kind)
        .execute();
      return work(trx);
    });
    // The change is made: that a watcher could not follow it, which it reports itself, does not undo it.
    await this.#onChange(kind).catch(() => {});
    return result;
  }

  /** Calls back about changes made here or elsewhere. */
  watch(onChange: (change: Change) => Promise<void>): void {
    this.#onChange = onChange;
    this.#unwatch = this.#engine.watch(onChange);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#unwatch();
    await this.#engine.db.destroy();
  }

  async #attempt<T>(work: () => Promise<T>): Promise<T> {
    const startedMs = performance.now();
    for (;;) {
      try {
        return await work();
      } catch (error) {
        const failure = this.#engine.classify(error);
        if (!failure) throw error;
        if (failure === 'unavailable' || performance.now() - startedMs > LOCK_WAIT_MS) {
          const message = 'The storage cannot do this now; retry after a second';
          throw new CatalogError('unavailable', message, { cause: error });
        }
        await wait(LOCK_RETRY_MS);
      }
    }
  }
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
