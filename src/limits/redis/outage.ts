import type { ApiKey } from '../../catalog/api-key.ts';
import { CatalogError } from '../../catalog/error.ts';
import type { Limits } from '../../catalog/plan.ts';
import type { LimitStorage, WindowCounts } from '../../catalog/window-counts.ts';
import { BoundedMap } from '../../stdx/bounded-map.ts';
import { type Moment, type Time, within } from '../../stdx/time.ts';
import { charge, type Decision, look, UNUSED, type WindowState } from '../window.ts';

/** Keys in memory; beyond it the oldest is evicted. */
const KEYS_MAX = 200_000;
/** A read that takes longer has failed for its caller; its query may go on. */
const READ_MS = 2_000;
/** The time that a failure counts: longer than a read, so that under load the next one has failed by then. */
const FAILING_MS = 3_000;

/**
 * Admits one instance's share of every limit, rounded up, while the shared counts are unavailable. Counts are kept
 * from one outage to the next, so that several within a minute grant the share only once. Refusals by a mere share of
 * the plan are not counted.
 */
export class LocalShare {
  readonly #instances: number;
  readonly #states = new BoundedMap<WindowState>(KEYS_MAX);

  constructor(instances: number) {
    this.#instances = instances;
  }

  /** Spends one request of the share, or refuses. */
  charge({ id, limits }: ApiKey, now: Moment): Decision {
    const { state, decision } = charge(this.#states.get(id) ?? UNUSED, this.#shareOf(limits), now);
    this.#states.set(id, state);
    return decision;
  }

  /** The decision that the next request would get. */
  peek({ id, limits }: ApiKey, now: Moment): Decision {
    return look(this.#states.get(id) ?? UNUSED, this.#shareOf(limits), now);
  }

  #shareOf({ minute, day }: Limits): Limits {
    return { minute: Math.ceil(minute / this.#instances), day: Math.ceil(day / this.#instances) };
  }
}

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
