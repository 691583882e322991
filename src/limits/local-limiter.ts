import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ApiKey } from '../catalog/api-key.ts';
import type { Ban, LimiterMemory, WindowCounts } from '../catalog/limit.ts';
import type { Storage } from '../catalog/storage.ts';
import { BoundedMap } from '../stdx/bounded-map.ts';
import type { Clock, Moment } from '../stdx/clock.ts';
import { MINUTE_SECONDS } from '../stdx/duration.ts';
import { partsInKeyOrder } from '../stdx/key-order.ts';
import { oneAtATime } from '../stdx/one-at-a-time.ts';
import type { Events } from '../telemetry/events.ts';
import type { Limiter } from './limiter.ts';
import { type BanState, charge, type Decision, look, UNUSED, type WindowState } from './window.ts';

/** Well under the second of counts that a crash may lose. */
const SAVE_INTERVAL_MS = 500;
/** Keys remembered at once; further ones push out the oldest that is saved, to be read again when they call. */
const KEYS_MAX = 200_000;

export interface LocalLimiterOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly events: Events;
  /** The least number of refusals that bring a ban; 0 for no bans. */
  readonly banAfter: number;
  /** How many keys to remember at once; for tests. */
  readonly keysMax?: number;
}

/** Counts in this process's memory and saves to storage: exact as long as one process serves all requests. */
export class LocalLimiter implements Limiter {
  readonly state = 'ok';
  readonly #options: LocalLimiterOptions;
  readonly #states: BoundedMap<WindowState>;
  readonly #reading = new Map<string, Promise<void>>();
  readonly #unsaved = new Set<string>();
  readonly #unsavedBans = new Map<string, BanState>();
  readonly #timer: NodeJS.Timeout;
  /** How far Unix time is ahead of steady time in what is stored. */
  #storedAhead: number;
  /** Saves what was counted before it began; what cannot be saved is kept for the next time. Never rejects. */
  readonly save = oneAtATime(() => this.#save());

  constructor(options: LocalLimiterOptions) {
    this.#options = options;
    // Only what is saved may be evicted.
    const isSaved = (keyId: string) => !this.#unsaved.has(keyId) && !this.#unsavedBans.has(keyId);
    this.#states = new BoundedMap(options.keysMax ?? KEYS_MAX, isSaved);
    this.#storedAhead = ahead(options.clock());
    this.#timer = setInterval(() => this.save(), SAVE_INTERVAL_MS).unref();
  }

  charge(key: ApiKey): Decision | Promise<Decision> {
    const known = this.#states.get(key.id);
    // Looked up again after every wait: others may have counted, or pushed the key out of memory, meanwhile.
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

  async refreshBans(): Promise<void> {
    // A ban that is not stored yet must not be taken for one that was lifted.
    await this.save();
    const now = this.#options.clock();
    for (const [keyId, { ban }] of this.#states) {
      if (!ban || now.steady >= ban.ends || this.#unsavedBans.has(keyId)) continue;
      const kept = fromMemory(await this.#options.storage.limits.memory(keyId), now.steady, this.#storedAhead);
      const state = this.#states.get(keyId);
      // What is left is the ban before the lifted one, for the length of the next.
      if (state?.ban === ban) this.#states.set(keyId, { ...state, ban: kept.ban });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
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

  /** A ban is in storage before anybody hears of it, unless storage cannot take it now. */
  async #keepBan(key: ApiKey, ban: BanState): Promise<void> {
    this.#unsavedBans.set(key.id, ban);
    this.#options.events.keyBanned(toBan(key.id, ban, ahead(this.#options.clock())), key.plan);
    await this.save();
  }

  /** When the system clock was stepped, what is stored in Unix time is moved with it, so that durations stay. */
  async #followClock(): Promise<void> {
    const now = ahead(this.#options.clock());
    if (now === this.#storedAhead) return;
    await this.#options.storage.limits.move(now - this.#storedAhead);
    this.#storedAhead = now;
  }

  async #saveBans(): Promise<void> {
    for (const [keyId, ban] of this.#unsavedBans) {
      await this.#options.storage.limits.insertBan(toBan(keyId, ban, this.#storedAhead));
      this.#unsavedBans.delete(keyId);
    }
  }

  async #saveCounts(): Promise<void> {
    for (const keyIds of partsInKeyOrder(this.#unsaved)) {
      await this.#saveCountsOf(keyIds);
      // However many there are, requests are served in between.
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
      counts.push(toCounts(keyId, state, this.#storedAhead));
    }
    await this.#options.storage.limits.saveCounts(counts);
    // Only what did not change meanwhile is saved, and only what is saved may be forgotten.
    for (const [index, { keyId }] of counts.entries()) {
      if (this.#states.get(keyId) === states[index]) this.#unsaved.delete(keyId);
    }
  }

  #read(keyId: string): Promise<void> {
    const underWay = this.#reading.get(keyId);
    if (underWay) return underWay;
    const reading = this.#options.storage.limits
      .memory(keyId)
      .then((memory) => {
        this.#states.set(keyId, fromMemory(memory, this.#options.clock().steady, this.#storedAhead));
      })
      .finally(() => this.#reading.delete(keyId));
    this.#reading.set(keyId, reading);
    return reading;
  }
}

function ahead({ unix, steady }: Moment): number {
  return unix - steady;
}

function toBan(keyId: string, { starts, ends, level, reason }: BanState, storedAhead: number): Ban {
  return { keyId, startedAt: starts + storedAhead, endsAt: ends + storedAhead, level, reason };
}

function toCounts(keyId: string, state: WindowState, storedAhead: number): WindowCounts {
  const { minuteEnds, minuteUsed, day, dayUsed } = state;
  return { keyId, minuteEnds: minuteEnds + storedAhead, minuteUsed, day, dayUsed };
}

/**
 * What was stored, in steady seconds. If the system clock was set back while nobody watched, a window or ban is held
 * to its own full length from now, so that nobody is locked out for longer.
 */
function fromMemory({ counts, ban }: LimiterMemory, steady: number, storedAhead: number): WindowState {
  return {
    ...UNUSED,
    ...(counts && {
      minuteEnds: Math.min(counts.minuteEnds - storedAhead, steady + MINUTE_SECONDS),
      minuteUsed: counts.minuteUsed,
      day: counts.day,
      dayUsed: counts.dayUsed,
    }),
    ban: ban && {
      starts: ban.startedAt - storedAhead,
      ends: Math.min(ban.endsAt - storedAhead, steady + ban.endsAt - ban.startedAt),
      level: ban.level,
      reason: ban.reason,
    },
  };
}
