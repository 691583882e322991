import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ApiKey } from '../catalog/api-key.ts';
import type { Storage } from '../catalog/storage.ts';
import { capped, type WindowCounts } from '../catalog/window-counts.ts';
import { BoundedMap } from '../stdx/bounded-map.ts';
import { partsInKeyOrder } from '../stdx/key-order.ts';
import { oneAtATime } from '../stdx/one-at-a-time.ts';
import type { Moment, Time, Timer } from '../stdx/time.ts';
import type { Events } from '../telemetry/events.ts';
import { chargeKey } from './bans.ts';
import type { Limiter } from './limiter.ts';
import { type Decision, later, look, UNUSED, type WindowState, withResets } from './window.ts';

/** Well under the second of counts that a crash may lose. */
const SAVE_INTERVAL_MS = 500;
/** Keys in memory. Beyond it the oldest saved one is evicted, and read again when it calls. */
const KEYS_MAX = 200_000;

export interface LocalLimiterOptions {
  readonly storage: Pick<Storage, 'limits'>;
  readonly time: Time;
  readonly events: Pick<Events, 'countsNotSaved'>;
  /** The most keys in memory; for tests. */
  readonly keysMax?: number;
}

/** A key in memory. Its state is replaced in place, which spares each request a second look-up. */
interface Counted {
  state: WindowState;
}

/**
 * Counts in process memory: exact while one process serves all requests. Saves what changed to storage twice a second
 * and on disposal.
 */
export class LocalLimiter implements Limiter {
  readonly lost = [];
  readonly #options: LocalLimiterOptions;
  readonly #keys: BoundedMap<Counted>;
  #changed = new Set<string>();
  #unsaved = new Set<string>();
  readonly #timer: Timer;
  /** Unix time minus steady time, in seconds, with which the windows were saved. */
  #savedOffset: number;
  /** Saves everything counted before the call; what fails is kept for the next save. Never rejects. */
  readonly save = oneAtATime(() => this.#save());

  constructor(options: LocalLimiterOptions) {
    const { keysMax = KEYS_MAX, time } = options;
    this.#options = options;
    this.#savedOffset = offset(time.now());
    this.#keys = new BoundedMap(keysMax, (keyId) => !this.#changed.has(keyId) && !this.#unsaved.has(keyId));
    this.#timer = time.setInterval(() => this.save(), SAVE_INTERVAL_MS).unref();
  }

  charge(key: ApiKey): Decision | Promise<Decision> {
    const known = this.#keys.get(key.id);
    // Start over after every wait: other calls may have counted, or evicted the key, meanwhile.
    if (!known) return this.#read(key.id).then(() => this.charge(key));
    const { state, decision } = chargeKey(known.state, key, this.#options.time.now());
    known.state = state;
    // A refusal is nothing to save.
    if (!decision.refusal) this.#changed.add(key.id);
    return decision;
  }

  peek(key: ApiKey): Decision | Promise<Decision> {
    const known = this.#keys.get(key.id);
    if (!known) return this.#read(key.id).then(() => this.peek(key));
    return look(withResets(known.state, key.resets), key.limits, this.#options.time.now());
  }

  current(key: ApiKey, decision: Decision): Decision {
    const now = this.#options.time.now();
    if (now.unix === decision.now) return decision;
    const known = this.#keys.get(key.id);
    return known ? look(withResets(known.state, key.resets), key.limits, now) : later(decision, now);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer[Symbol.dispose]();
    await this.save();
  }

  /** Reads the state of a key, unless another call did meanwhile. Rejects with `unavailable`. */
  async #read(keyId: string): Promise<void> {
    const stored = await this.#options.storage.limits.counts(keyId);
    if (this.#keys.get(keyId)) return;
    const now = this.#options.time.now();
    const counts = stored && capped(stored, now.unix);
    if (counts !== stored) this.#changed.add(keyId);
    this.#keys.set(keyId, { state: counts ? fromStorage(counts, now) : UNUSED });
  }

  async #save(): Promise<void> {
    try {
      this.#followClock();
      await this.#saveCounts();
    } catch (error) {
      this.#options.events.countsNotSaved(error);
    }
  }

  /**
   * When the system clock was stepped, all windows are saved anew, by the new time: also those that are over, or they
   * would be open again when the time that they were saved by is reached.
   */
  #followClock(): void {
    const now = offset(this.#options.time.now());
    if (now === this.#savedOffset) return;
    this.#savedOffset = now;
    for (const [keyId, { state }] of this.#keys) if (state.minuteEnds > 0) this.#changed.add(keyId);
  }

  async #saveCounts(): Promise<void> {
    const changed = this.#changed;
    this.#changed = new Set();
    // As one set: to move each key of many from set to set costs a sixth of saving it.
    for (const keyId of this.#unsaved) changed.add(keyId);
    this.#unsaved = changed;
    for (const keyIds of partsInKeyOrder(changed)) {
      const now = this.#options.time.now();
      const counts: WindowCounts[] = [];
      for (const keyId of keyIds) {
        const known = this.#keys.get(keyId);
        if (known) counts.push(toStorage(keyId, known.state, now));
      }
      await this.#options.storage.limits.saveCounts(counts);
      // Yields, so that requests are served in between.
      await nextTurn();
    }
    if (changed.size > 0) await this.#options.storage.limits.sync();
    // A state that changed during the save is in `#changed` again.
    this.#unsaved = new Set();
  }
}

function offset({ unix, steady }: Moment): number {
  return unix - steady;
}

function toStorage(keyId: string, state: WindowState, now: Moment): WindowCounts {
  const { minuteEnds, minuteUsed, day, dayUsed, minuteReset, dayReset } = state;
  return { keyId, minuteEnds: minuteEnds + offset(now), minuteUsed, day, dayUsed, minuteReset, dayReset };
}

function fromStorage({ keyId: _, ...counts }: WindowCounts, now: Moment): WindowState {
  return { ...UNUSED, ...counts, minuteEnds: counts.minuteEnds - offset(now) };
}
