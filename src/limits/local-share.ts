import type { ApiKey } from '../catalog/api-key.ts';
import type { Ban } from '../catalog/limit.ts';
import type { Limits } from '../catalog/plan.ts';
import { BoundedMap } from '../stdx/bounded-map.ts';
import type { Clock, Moment } from '../stdx/clock.ts';
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
  readonly #banClock: Clock;
  readonly #states = new BoundedMap<WindowState>(KEYS_MAX);
  #bans = new Map<string, { readonly ban: Ban; readonly latest: number }>();

  /** Bans are dated by a clock of their own, of which this machine's may differ. */
  constructor(instances: number, banClock: Clock) {
    this.#instances = instances;
    this.#banClock = banClock;
  }

  /** The bans to enforce from now on. By whatever clock, none lasts longer than a whole ban from now. */
  setBans(bans: readonly Ban[], { steady }: Moment): void {
    this.#bans = new Map(bans.map((ban) => [ban.keyId, { ban, latest: steady + ban.endsAt - ban.startedAt }]));
  }

  /** The ban of a key that is to be enforced, active or expired. */
  findBan(keyId: string): Ban | undefined {
    return this.#bans.get(keyId)?.ban;
  }

  /** Spends one request of the share, or refuses. */
  charge(key: ApiKey, now: Moment): Decision {
    const { state, decision } = charge(this.#state(key.id, now), this.#shareOf(key.limits), now, NO_BANS);
    this.#states.set(key.id, state);
    return decision;
  }

  /** The decision that the next request would get. */
  peek(key: ApiKey, now: Moment): Decision {
    return look(this.#state(key.id, now), this.#shareOf(key.limits), now);
  }

  #state(keyId: string, now: Moment): WindowState {
    return { ...(this.#states.get(keyId) ?? UNUSED), ban: this.#banOf(keyId, now) };
  }

  #banOf(keyId: string, { steady }: Moment): BanState | undefined {
    const known = this.#bans.get(keyId);
    if (!known) return undefined;
    const { startedAt, endsAt, level, reason } = known.ban;
    const ahead = this.#banClock().unix - steady;
    return { starts: startedAt - ahead, ends: Math.min(endsAt - ahead, known.latest), level, reason };
  }

  #shareOf({ minute, day }: Limits): Limits {
    return { minute: Math.ceil(minute / this.#instances), day: Math.ceil(day / this.#instances) };
  }
}
