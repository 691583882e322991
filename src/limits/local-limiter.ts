import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ApiKey } from '../catalog/api-key.ts';
import type { Ban, LimiterMemory, WindowCounts } from '../catalog/limit.ts';
import type { Storage } from '../catalog/storage.ts';
import { BoundedMap } from '../stdx/bounded-map.ts';
import type { Clock, Moment } from '../stdx/clock.ts';
import { MINUTE_SECONDS } from '../stdx/duration.ts';
import { partsInKeyOrder } from '../stdx/key-order.ts';
import { oneAtATime } from '../stdx/one-at-a-time.ts';
import { SYSTEM_TIMERS, type Timer, type Timers } from '../stdx/timers.ts';
import type { Events } from '../telemetry/events.ts';
import type { Limiter } from './limiter.ts';
import { type BanState, charge, type Decision, later, look, UNUSED, type WindowState } from './window.ts';

/** Well under the second of counts that a crash may lose. */
const SAVE_INTERVAL_MS = 500;
/** Keys in memory. Beyond it the oldest saved one is evicted, and read again when it calls. */
const KEYS_MAX = 200_000;

export interface LocalLimiterOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly events: Events;
  /** The fewest refusals that lead to a ban; 0 disables bans. */
  readonly banAfter: number;
  /** The most keys in memory; for tests. */
  readonly keysMax?: number;
  readonly timers?: Timers;
}

/** Counts in process memory and saves to storage: exact while one process serves all requests. */
export class LocalLimiter implements Limiter {
  readonly state = 'ok';
  readonly #options: LocalLimiterOptions;
  readonly #states: BoundedMap<WindowState>;
  readonly #reading = new Map<string, Promise<void>>();
  readonly #unsaved = new Set<string>();
  /** By key; each ban keeps one attempt for all retries. */
  readonly #unsavedBans = new Map<string, { readonly ban: BanState; readonly attempt: string }>();
  readonly #timer: Timer;
  /** Unix time minus steady time, in seconds, with which the stored moments were written. */
  #storedOffset: number;
  /** A move that is not confirmed yet; it is retried unchanged. */
  #moving: { readonly seconds: number; readonly attempt: string } | undefined;
  /** Saves everything counted before the call; what fails is kept for the next save. Never rejects. */
  readonly save = oneAtATime(() => this.#save());

  constructor(options: LocalLimiterOptions) {
    const { timers = SYSTEM_TIMERS } = options;
    this.#options = options;
    // Evict only what is saved.
    const isSaved = (keyId: string) => !this.#unsaved.has(keyId) && !this.#unsavedBans.has(keyId);
    this.#states = new BoundedMap(options.keysMax ?? KEYS_MAX, isSaved);
    this.#storedOffset = offset(options.clock());
    this.#timer = timers.setInterval(() => this.save(), SAVE_INTERVAL_MS).unref();
  }

  charge(key: ApiKey): Decision | Promise<Decision> {
    const known = this.#states.get(key.id);
    // Start over after every wait: other calls may have counted, or evicted the key, meanwhile.
    if (!known) return this.#read(key.id).then(() => this.charge(key));
    const { state, decision, newBan } = charge(known, key.limits, this.#options.clock(), this.#options.banAfter);
    if (state === known) return decision;
    this.#states.set(key.id, state);
    this.#unsaved.add(key.id);
    return newBan ? this.#keepBan(key, newBan).then(() => decision) : decision;
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

  async refreshBans(): Promise<void> {
    // Save first: an unsaved ban would look like a lifted one.
    await this.save();
    const now = this.#options.clock();
    for (const [keyId, { ban }] of this.#states) {
      if (!ban || now.steady >= ban.ends || this.#unsavedBans.has(keyId)) continue;
      const stored = fromMemory(await this.#options.storage.limits.memory(keyId), now.steady, this.#storedOffset);
      const state = this.#states.get(keyId);
      // Falls back to the ban before the lifted one, which sets the length of the next.
      if (state?.ban === ban) this.#states.set(keyId, { ...state, ban: stored.ban });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer[Symbol.dispose]();
    await this.save();
  }

  async #save(): Promise<void> {
    try {
      await this.#followClock();
      await this.#saveBans();
      await this.#saveCounts();
    } catch (error) {
      this.#options.events.countsNotSaved(error);
    }
  }

  /** Stores a ban before the client is told of it, unless storage is unavailable. */
  async #keepBan(key: ApiKey, ban: BanState): Promise<void> {
    this.#unsavedBans.set(key.id, { ban, attempt: randomUUID() });
    this.#options.events.keyBanned(toBan(key.id, ban, offset(this.#options.clock())), key.plan);
    await this.save();
  }

  /** Moves stored Unix moments along when the system clock was stepped, so that durations stay. */
  async #followClock(): Promise<void> {
    for (;;) {
      const seconds = offset(this.#options.clock()) - this.#storedOffset;
      if (seconds !== 0) this.#moving ??= { seconds, attempt: randomUUID() };
      if (!this.#moving) return;
      const { seconds: moved, attempt } = this.#moving;
      await this.#options.storage.limits.move(moved, attempt);
      this.#storedOffset += moved;
      this.#moving = undefined;
    }
  }

  async #saveBans(): Promise<void> {
    for (const [keyId, { ban, attempt }] of this.#unsavedBans) {
      await this.#options.storage.limits.insertBan(toBan(keyId, ban, this.#storedOffset), attempt);
      this.#unsavedBans.delete(keyId);
    }
  }

  async #saveCounts(): Promise<void> {
    for (const keyIds of partsInKeyOrder(this.#unsaved)) {
      await this.#saveCountsOf(keyIds);
      // Yields, so that requests are served in between.
      await nextTurn();
    }
  }

  async #saveCountsOf(keyIds: readonly string[]): Promise<void> {
    const states: WindowState[] = [];
    const counts: WindowCounts[] = [];
    for (const keyId of keyIds) {
      const state = this.#states.get(keyId);
      if (!state) continue;
      states.push(state);
      counts.push(toCounts(keyId, state, this.#storedOffset));
    }
    await this.#options.storage.limits.saveCounts(counts);
    // A state that changed during the save stays unsaved.
    for (const [index, { keyId }] of counts.entries()) {
      if (this.#states.get(keyId) === states[index]) this.#unsaved.delete(keyId);
    }
  }

  #read(keyId: string): Promise<void> {
    const underWay = this.#reading.get(keyId);
    if (underWay) return underWay;
    const reading = this.#readState(keyId)
      .then((state) => {
        this.#states.set(keyId, state);
      })
      .finally(() => this.#reading.delete(keyId));
    this.#reading.set(keyId, reading);
    return reading;
  }

  /** Reads a key's state; again if stored moments moved meanwhile, because it may be of before or after that. */
  async #readState(keyId: string): Promise<WindowState> {
    const before = this.#storedOffset;
    const wasMoving = this.#moving !== undefined;
    let memory = await this.#options.storage.limits.memory(keyId);
    if (wasMoving || this.#moving || this.#storedOffset !== before) {
      // If the move fails, they are where they were.
      await this.save();
      memory = await this.#options.storage.limits.memory(keyId);
    }
    return fromMemory(memory, this.#options.clock().steady, this.#storedOffset);
  }
}

function offset({ unix, steady }: Moment): number {
  return unix - steady;
}

function toBan(keyId: string, { starts, ends, level, reason }: BanState, storedOffset: number): Ban {
  return { keyId, startedAt: starts + storedOffset, endsAt: ends + storedOffset, level, reason };
}

function toCounts(keyId: string, state: WindowState, storedOffset: number): WindowCounts {
  const { minuteEnds, minuteUsed, day, dayUsed } = state;
  return { keyId, minuteEnds: minuteEnds + storedOffset, minuteUsed, day, dayUsed };
}

/**
 * Converts stored moments to steady seconds. If the system clock was set back while the service was down, a window or
 * ban is capped at its full length from now, so that no client is locked out for longer.
 */
function fromMemory({ counts, ban }: LimiterMemory, steady: number, storedOffset: number): WindowState {
  return {
    ...UNUSED,
    ...(counts && {
      minuteEnds: Math.min(counts.minuteEnds - storedOffset, steady + MINUTE_SECONDS),
      minuteUsed: counts.minuteUsed,
      day: counts.day,
      dayUsed: counts.dayUsed,
    }),
    ban: ban && {
      starts: ban.startedAt - storedOffset,
      ends: Math.min(ban.endsAt - storedOffset, steady + ban.endsAt - ban.startedAt),
      level: ban.level,
      reason: ban.reason,
    },
  };
}
