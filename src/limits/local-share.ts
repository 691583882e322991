import type { ApiKey } from '../catalog/api-key.ts';
import type { Ban } from '../catalog/limit.ts';
import type { Limits } from '../catalog/plan.ts';
import { BoundedMap } from '../stdx/bounded-map.ts';
import type { Moment } from '../stdx/clock.ts';
import { type BanState, charge, type Decision, look, UNUSED, type WindowState } from './window.ts';

/** Keys in memory; beyond it the oldest is evicted. */
const KEYS_MAX = 200_000;
/** Refusals by a mere share of the plan lead to no ban. */
const NO_BANS = 0;

/**
 * Admits one instance's share of every limit, rounded up, while the shared counts are unavailable. Counts are kept
 * from one outage to the next, so that several within a minute grant the share only once.
 */
export class LocalShare {
  readonly #instances: number;
  readonly #states = new BoundedMap<WindowState>(KEYS_MAX);
  #bans = new Map<string, BanState>();

  constructor(instances: number) {
    this.#instances = instances;
  }

  /** The bans to enforce from now on. */
  setBans(bans: readonly Ban[], { unix, steady }: Moment): void {
    this.#bans = new Map(
      bans.map(({ keyId, startedAt, endsAt, level, reason }) => {
        const offset = unix - steady;
        return [keyId, { starts: startedAt - offset, ends: endsAt - offset, level, reason }];
      }),
    );
  }

  /** Spends one request of the share, or refuses. */
  charge(key: ApiKey, now: Moment): Decision {
    const { state, decision } = charge(this.#state(key.id), this.#shareOf(key.limits), now, NO_BANS);
    this.#states.set(key.id, state);
    return decision;
  }

  /** The decision that the next request would get. */
  peek(key: ApiKey, now: Moment): Decision {
    return look(this.#state(key.id), this.#shareOf(key.limits), now);
  }

  #state(keyId: string): WindowState {
    return { ...(this.#states.get(keyId) ?? UNUSED), ban: this.#bans.get(keyId) };
  }

  #shareOf({ minute, day }: Limits): Limits {
    return { minute: Math.ceil(minute / this.#instances), day: Math.ceil(day / this.#instances) };
  }
}
