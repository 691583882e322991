import type { ApiKey } from '../catalog/api-key.ts';
import type { Ban } from '../catalog/limit.ts';
import type { Limits } from '../catalog/plan.ts';
import { BoundedMap } from '../stdx/bounded-map.ts';
import type { Moment } from '../stdx/clock.ts';
import { type BanState, charge, type Decision, look, UNUSED, type WindowState } from './window.ts';

/** Keys remembered at once; further ones push out the oldest. */
const KEYS_MAX = 200_000;
/** Nobody is banned for what only a share of the plan refused. */
const NO_BANS = 0;

/**
 * What one of several instances admits while they cannot count together: of each limit its part, rounded up. Counts
 * stay from one outage to the next, so that several within a minute give the share only once.
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
        const ahead = unix - steady;
        return [keyId, { starts: startedAt - ahead, ends: endsAt - ahead, level, reason }];
      }),
    );
  }

  /** Spends one request of the share, or refuses. */
  charge(key: ApiKey, now: Moment): Decision {
    const { state, decision } = charge(this.#state(key.id), this.#part(key.limits), now, NO_BANS);
    this.#states.set(key.id, state);
    return decision;
  }

  /** What the next request would meet. */
  peek(key: ApiKey, now: Moment): Decision {
    return look(this.#state(key.id), this.#part(key.limits), now);
  }

  #state(keyId: string): WindowState {
    return { ...(this.#states.get(keyId) ?? UNUSED), ban: this.#bans.get(keyId) };
  }

  #part({ minute, day }: Limits): Limits {
    return { minute: Math.ceil(minute / this.#instances), day: Math.ceil(day / this.#instances) };
  }
}
