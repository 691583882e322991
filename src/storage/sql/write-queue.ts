import assert from 'node:assert/strict';
import { CatalogError } from '../../catalog/error.ts';
import type { Time } from '../../stdx/time.ts';
import type { StoredBatch } from '../../telemetry/events.ts';

/** Items per transaction, so that no caller waits long for others. */
const BATCH_MAX = 256;
/**
 * So many items do not wait for the end of the turn: the requests of hundreds more would survive the young generation,
 * whose collection then takes a quarter of a create. For each two milliseconds of the last transaction, since on a slow
 * disk sharing it saves more.
 */
const BATCH_ENOUGH = 64;
/**
 * The time that fewer items may wait for others while each turn brings some: the callers of one batch come back
 * together, but not in one turn, and each commit costs as much as the answers to ten of them.
 */
const GATHER_MS = 2;
/** Backpressure: beyond this many waiting items the storage cannot keep up, so new ones are refused. */
const WAITING_MAX = 10_000;

type Waiting<Item, Result> = Omit<PromiseWithResolvers<Result>, 'promise'> & { readonly item: Item };

export interface WriteQueueOptions {
  readonly time: Pick<Time, 'steadyMs'>;
  readonly onStored?: ((batch: StoredBatch) => void) | undefined;
}

/**
 * Group commit: items that arrive during a transaction, or in turns of the event loop that follow each other until they
 * are enough, share the next transaction and its one fsync. Each item is settled only after its transaction is durable.
 *
 * `commit` stores a batch whole or not at all and returns one outcome per item. An outcome that is a `CatalogError`
 * fails that item alone; a throw fails them all.
 */
export class WriteQueue<Item, Result> {
  readonly #commit: (items: Item[]) => Promise<(Result | CatalogError)[]>;
  readonly #time: Pick<Time, 'steadyMs'>;
  readonly #onStored: ((batch: StoredBatch) => void) | undefined;
  #waiting: Waiting<Item, Result>[] = [];
  #enough = BATCH_ENOUGH;
  #gatherUntilMs = 0;
  /** The number that waited when a turn ended; at first one after a batch of one: a lone caller never waits. */
  #countBefore = 1;
  #isDraining = false;

  constructor(commit: (items: Item[]) => Promise<(Result | CatalogError)[]>, { time, onStored }: WriteQueueOptions) {
    this.#commit = commit;
    this.#time = time;
    this.#onStored = onStored;
  }

  /** Fulfilled when the item is durable. Rejects with `unavailable` if too many wait already, or as `commit` does. */
  push(item: Item): Promise<Result> {
    if (this.#waiting.length >= WAITING_MAX) {
      return Promise.reject(new CatalogError('unavailable', 'Too many writes are waiting; retry after a second'));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (this.#isDraining) return;
      if (this.#waiting.length >= this.#enough) void this.#drain();
      else if (this.#waiting.length === 1) this.#gather();
    });
  }

  #gather(): void {
    this.#gatherUntilMs = this.#time.steadyMs() + GATHER_MS;
    setImmediate(this.#endTurn);
  }

  /** Commits what waits, unless this turn brought some of it: then the next one may bring more. */
  readonly #endTurn = (): void => {
    const count = this.#waiting.length;
    if (this.#isDraining || count === 0) return;
    const isGrowing = count > this.#countBefore;
    this.#countBefore = count;
    if (isGrowing && this.#time.steadyMs() < this.#gatherUntilMs) setImmediate(this.#endTurn);
    else void this.#drain();
  };

  async #drain(): Promise<void> {
    assert(!this.#isDraining, 'one batch is committed at a time');
    this.#isDraining = true;
    do await this.#commitNext();
    while (this.#waiting.length >= this.#enough);
    this.#isDraining = false;
    if (this.#waiting.length > 0) this.#gather();
  }

  async #commitNext(): Promise<void> {
    const batch = this.#waiting.splice(0, BATCH_MAX);
    assert(batch.length > 0, 'no batch is empty');
    this.#countBefore = batch.length === 1 ? 1 : 0;
    const startedMs = this.#time.steadyMs();
    try {
      const outcomes = await this.#commit(batch.map(({ item }) => item));
      const durationMs = this.#time.steadyMs() - startedMs;
      this.#enough = Math.min(BATCH_MAX, BATCH_ENOUGH * Math.max(1, durationMs / 2));
      this.#onStored?.({ size: batch.length, durationMs, waiting: this.#waiting.length });
      for (const [index, { resolve, reject }] of batch.entries()) {
        const outcome = outcomes[index];
        if (outcome === undefined) reject(new Error('The commit returned no outcome for an item'));
        else if (outcome instanceof CatalogError) reject(outcome);
        else resolve(outcome);
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
      if (!(error instanceof CatalogError)) return;
      const refusal = 'The storage cannot do this now; retry after a second';
      // The storage is down: those that wait fail now, not after one deadline per batch before theirs.
      for (const { reject } of this.#waiting.splice(0))
        reject(new CatalogError('unavailable', refusal, { cause: error.cause }));
    }
  }
}
