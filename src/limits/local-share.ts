import type { ApiKey } from '../catalog/api-key.ts';
import type { Limits } from '../catalog/plan.ts';
import { BoundedMap } from '../stdx/bounded-map.ts';
import type { Moment } from '../stdx/time.ts';
import { charge, type Decision, look, UNUSED, type WindowState } from './window.ts';

/** Keys in memory; beyond it the oldest is evicted. */
const KEYS_MAX = 200_000;

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
