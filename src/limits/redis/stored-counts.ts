import { setImmediate as nextTurn } from 'node:timers/promises';
import { CatalogError } from '../../catalog/error.ts';
import type { LimitStorage, WindowCounts } from '../../catalog/limit.ts';
import type { Time } from '../../stdx/time.ts';
import { within } from '../../stdx/within.ts';

const KEYS_PER_READ = 500;
/** A read that takes longer has failed for those who wait for it. */
const READ_MS = 2_000;
/** The time that a failure counts: longer than a read, so that under load the next one has failed by then. */
const FAILING_MS = 3_000;

type Stored = WindowCounts | undefined;

/**
 * Reads the stored counts of keys, many at a time: after a new connection to Redis every key is read at its next
 * request. Keys asked for during a read share the next one, which begins after they were asked for.
 */
export class StoredCounts {
  readonly #limits: Pick<LimitStorage, 'counts'>;
  readonly #time: Time;
  #waiting = new Map<string, PromiseWithResolvers<Stored>>();
  #isReading = false;
  #failedMs = Number.NEGATIVE_INFINITY;

  constructor(limits: Pick<LimitStorage, 'counts'>, time: Time) {
    this.#limits = limits;
    this.#time = time;
  }

  /** True if the last read failed, and recently: an older failure says nothing about storage now. */
  get isFailing(): boolean {
    return this.#time.steadyMs() - this.#failedMs < FAILING_MS;
  }

  /** The stored counts of a key. Rejects with `unavailable`, after 2 s for one read at most. */
  read(keyId: string): Promise<Stored> {
    const waiting = this.#waiting.get(keyId) ?? Promise.withResolvers<Stored>();
    this.#waiting.set(keyId, waiting);
    if (!this.#isReading) void this.#readAll();
    return waiting.promise;
  }

  async #readAll(): Promise<void> {
    this.#isReading = true;
    while (this.#waiting.size > 0) {
      // What is asked for in the same turn shares a read.
      await nextTurn();
      await this.#readSome();
    }
    this.#isReading = false;
  }

  async #readSome(): Promise<void> {
    const some = [...this.#waiting.entries().take(KEYS_PER_READ)];
    for (const [keyId] of some) this.#waiting.delete(keyId);
    try {
      const reading = this.#limits.counts(some.map(([keyId]) => keyId));
      const counts = await within(reading, { ms: READ_MS, lateness, time: this.#time });
      this.#failedMs = Number.NEGATIVE_INFINITY;
      for (const [index, [, { resolve }]] of some.entries()) resolve(counts[index]);
    } catch (error) {
      this.#failedMs = this.#time.steadyMs();
      for (const [, { reject }] of some) reject(error);
      // The remaining reads would each wait for a deadline.
      for (const { reject } of this.#waiting.values()) reject(error);
      this.#waiting.clear();
    }
  }
}

function lateness(): CatalogError {
  return new CatalogError('unavailable', 'The storage does not answer in time; retry after a second');
}
