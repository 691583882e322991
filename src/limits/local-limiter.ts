import type { ApiKey } from '../catalog/api-key.ts';
import { BoundedMap } from '../stdx/bounded-map.ts';
import { CountKeeper, type CountKeeperOptions } from './count-keeper.ts';
import type { Limiter } from './limiter.ts';
import { type BanState, charge, type Decision, later, look, type WindowState } from './window.ts';

/** Keys in memory. Beyond it the oldest saved one is evicted, and read again when it calls. */
const KEYS_MAX = 200_000;

export interface LocalLimiterOptions extends CountKeeperOptions {
  /** The fewest refusals that lead to a ban; 0 disables bans. */
  readonly banAfter: number;
  /** The most keys in memory; for tests. */
  readonly keysMax?: number;
}

/** Counts in process memory and saves to storage: exact while one process serves all requests. */
export class LocalLimiter implements Limiter {
  readonly state = 'ok';
  readonly #options: LocalLimiterOptions;
  readonly #states: BoundedMap<WindowState>;
  #changed = new Set<string>();
  readonly #keeper: CountKeeper;

  constructor(options: LocalLimiterOptions) {
    this.#options = options;
    this.#keeper = new CountKeeper(options, {
      find: (keyId) => this.#states.get(keyId),
      takeChanged: () => this.#takeChanged(),
      bans: () => this.#bans(),
      replaceBan: (keyId, ban, by) => this.#replaceBan(keyId, ban, by),
    });
    // Evict only what is saved.
    const isSaved = (keyId: string) => !this.#changed.has(keyId) && this.#keeper.isSaved(keyId);
    this.#states = new BoundedMap(options.keysMax ?? KEYS_MAX, isSaved);
  }

  charge(key: ApiKey): Decision | Promise<Decision> {
    const known = this.#states.get(key.id);
    // Start over after every wait: other calls may have counted, or evicted the key, meanwhile.
    if (!known) return this.#read(key.id).then(() => this.charge(key));
    const { state, decision, newBan } = charge(known, key.limits, this.#options.clock(), this.#options.banAfter);
    if (state === known) return decision;
    this.#states.set(key.id, state);
    this.#changed.add(key.id);
    return newBan ? this.#keeper.keepBan(key, newBan).then(() => decision) : decision;
  }

  peek(key: ApiKey): Decision | Promise<Decision> {
    const known = this.#states.get(key.id);
    if (!known) return this.#read(key.id).then(() => this.peek(key));
    return look(known, key.limits, this.#options.clock());
  }

  current(key: ApiKey, decision: Decision): Decision {
    const now = this.#options.clock();
    if (now.unix === decision.now) return decision;
    const known = this.#states.get(key.id);
    return known ? look(known, key.limits, now) : later(decision, now);
  }

  refreshBans(): Promise<void> {
    return this.#keeper.refreshBans();
  }

  /** Saves everything counted before the call; what fails is kept for the next save. Never rejects. */
  save(): Promise<void> {
    return this.#keeper.save();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#keeper[Symbol.asyncDispose]();
  }

  #read(keyId: string): Promise<void> {
    return this.#keeper.read(keyId, (state) => {
      this.#states.set(keyId, state);
    });
  }

  #takeChanged(): Set<string> {
    const changed = this.#changed;
    this.#changed = new Set();
    return changed;
  }

  *#bans(): Generator<[string, BanState]> {
    for (const [keyId, { ban }] of this.#states) if (ban) yield [keyId, ban];
  }

  #replaceBan(keyId: string, ban: BanState, by: BanState | undefined): void {
    const state = this.#states.get(keyId);
    if (state?.ban === ban) this.#states.set(keyId, { ...state, ban: by });
  }
}
