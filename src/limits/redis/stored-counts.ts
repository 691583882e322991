import { CatalogError } from '../../catalog/error.ts';
import type { LimitStorage, WindowCounts } from '../../catalog/window-counts.ts';
import { within } from '../../stdx/deadline.ts';
import type { Time } from '../../stdx/time.ts';

/** A read that takes longer has failed for its caller; its query may go on. */
const READ_MS = 2_000;
/** The time that a failure counts: longer than a read, so that under load the next one has failed by then. */
const FAILING_MS = 3_000;

/** Reads the stored counts of keys: after a new connection to Redis every key is read at its next request. */
export class StoredCounts {
  readonly #limits: Pick<LimitStorage, 'counts'>;
  readonly #time: Time;
  #failedMs = Number.NEGATIVE_INFINITY;

  constructor(limits: Pick<LimitStorage, 'counts'>, time: Time) {
    this.#limits = limits;
    this.#time = time;
  }

  /** True if the last read failed, and recently: an older failure says nothing about storage now. */
  get isFailing(): boolean {
    return this.#time.steadyMs() - this.#failedMs < FAILING_MS;
  }

  /** The counts of a key, as they are stored after the call. Rejects with `unavailable`, after 2 s at the latest. */
  async read(keyId: string): Promise<WindowCounts | undefined> {
    try {
      const counts = await within(this.#limits.counts(keyId), { ms: READ_MS, lateness, time: this.#time });
      this.#failedMs = Number.NEGATIVE_INFINITY;
      return counts;
    } catch (error) {
      this.#failedMs = this.#time.steadyMs();
      throw error;
    }
  }
}

function lateness(): CatalogError {
  return new CatalogError('unavailable', 'The storage does not answer in time; retry after a second');
}
