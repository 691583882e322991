import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ApiKey } from '../catalog/api-key.ts';
import type { Ban, LimiterMemory, WindowCounts } from '../catalog/limit.ts';
import type { Storage } from '../catalog/storage.ts';
import type { Clock, Moment } from '../stdx/clock.ts';
import { MINUTE_SECONDS } from '../stdx/duration.ts';
import { partsInKeyOrder } from '../stdx/key-order.ts';
import { oneAtATime } from '../stdx/one-at-a-time.ts';
import { SYSTEM_TIMERS, type Timer, type Timers } from '../stdx/timers.ts';
import type { Events } from '../telemetry/events.ts';
import { type BanState, UNUSED, type WindowState } from './window.ts';

/** Well under the second of counts that a crash may lose. */
const SAVE_INTERVAL_MS = 500;

/** The states of a limiter in memory, as far as storage has to do with them. */
export interface KeptStates {
  /** The present state of a key; undefined if it is not in memory. */
  find(keyId: string): WindowState | undefined;
  /** The keys whose state changed since the last call, in a set that is the caller's. */
  takeChanged(): Set<string>;
  /** The bans that the states hold, by key, active or expired. */
  bans(): Iterable<readonly [keyId: string, ban: BanState]>;
  /** Puts another ban in the place of one, if the state still has that. */
  replaceBan(keyId: string, ban: BanState, by: BanState | undefined): void;
}

export interface CountKeeperOptions {
  readonly storage: Pick<Storage, 'limits'>;
  readonly clock: Clock;
  readonly events: Pick<Events, 'countsNotSaved' | 'keyBanned'>;
  readonly timers?: Timers | undefined;
}

/**
 * Keeps the counts and bans of a limiter in storage: reads the state of a key, saves what changed twice a second and on
 * disposal, and moves what is stored when the system clock was stepped.
 */
export class CountKeeper implements AsyncDisposable {
  readonly #options: CountKeeperOptions;
  readonly #states: KeptStates;
  readonly #reading = new Map<string, Promise<void>>();
  #unsaved = new Set<string>();
  /** By key; each ban keeps one attempt for all retries. */
  readonly #unsavedBans = new Map<string, { readonly ban: BanState; readonly attempt: string }>();
  readonly #timer: Timer;
  /** Unix time minus steady time, in seconds, with which the stored moments were written. */
  #storedOffset: number;
  /** How often the stored moments were moved. */
  #moves = 0;
  /** A move that is not confirmed yet; it is retried unchanged. */
  #moving: { readonly seconds: number; readonly attempt: string } | undefined;
  /** Saves everything counted before the call; what fails is kept for the next save. Never rejects. */
  readonly save = oneAtATime(() => this.#save());

  constructor(options: CountKeeperOptions, states: KeptStates) {
    const { timers = SYSTEM_TIMERS } = options;
    this.#options = options;
    this.#states = states;
    this.#storedOffset = offset(options.clock());
    this.#timer = timers.setInterval(() => this.save(), SAVE_INTERVAL_MS).unref();
  }

  /** Whether storage has everything of a key that `takeChanged` told. */
  isSaved(keyId: string): boolean {
    return !this.#unsaved.has(keyId) && !this.#unsavedBans.has(keyId);
  }

  /** Reads the state of a key, once for concurrent calls, and has it put into memory. Rejects with `unavailable`. */
  read(keyId: string, put: (state: WindowState) => void): Promise<void> {
    const underWay = this.#reading.get(keyId);
    if (underWay) return underWay;
    const reading = this.#readState(keyId)
      .then(put)
      .finally(() => this.#reading.delete(keyId));
    this.#reading.set(keyId, reading);
    return reading;
  }

  /** Stores a ban before the client is told of it, unless storage is unavailable. */
  async keepBan(key: Pick<ApiKey, 'id' | 'plan'>, ban: BanState): Promise<void> {
    this.#unsavedBans.set(key.id, { ban, attempt: randomUUID() });
    this.#options.events.keyBanned(toBan(key.id, ban, offset(this.#options.clock())), key.plan);
    await this.save();
  }

  /** Takes lifted bans out of the states. */
  async refreshBans(): Promise<void> {
    // Save first: an unsaved ban would look like a lifted one.
    await this.save();
    const now = this.#options.clock();
    for (const [keyId, ban] of this.#states.bans()) {
      if (now.steady >= ban.ends || this.#unsavedBans.has(keyId)) continue;
      const stored = fromMemory(await this.#options.storage.limits.memory(keyId), now.steady, this.#storedOffset);
      // Falls back to the ban before the lifted one, which sets the length of the next.
      this.#states.replaceBan(keyId, ban, stored.ban);
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

  /** Moves stored Unix moments along when the system clock was stepped, so that durations stay. */
  async #followClock(): Promise<void> {
    for (;;) {
      const seconds = offset(this.#options.clock()) - this.#storedOffset;
      if (seconds !== 0) this.#moving ??= { seconds, attempt: randomUUID() };
      if (!this.#moving) return;
      const { seconds: moved, attempt } = this.#moving;
      await this.#options.storage.limits.move(moved, attempt);
      this.#storedOffset += moved;
      this.#moves += 1;
      this.#moving = undefined;
    }
  }

  async #saveBans(): Promise<void> {
    for (const [keyId, { ban, attempt }] of this.#unsavedBans) {
      await this.#options.storage.limits.insertBan(toBan(keyId, ban, this.#storedOffset), { attempt });
      this.#unsavedBans.delete(keyId);
    }
  }

  async #saveCounts(): Promise<void> {
    const changed = this.#states.takeChanged();
    // As one set: to move each key of many from set to set costs a sixth of saving it.
    for (const keyId of this.#unsaved) changed.add(keyId);
    this.#unsaved = changed;
    for (const keyIds of partsInKeyOrder(changed)) {
      await this.#saveCountsOf(keyIds);
      // Yields, so that requests are served in between.
      await nextTurn();
    }
    // A state that changed during the save is told of by the next `takeChanged`.
    this.#unsaved = new Set();
  }

  async #saveCountsOf(keyIds: readonly string[]): Promise<void> {
    const counts: WindowCounts[] = [];
    for (const keyId of keyIds) {
      const state = this.#states.find(keyId);
      if (state) counts.push(toCounts(keyId, state, this.#storedOffset));
    }
    await this.#options.storage.limits.saveCounts(counts);
  }

  /** Reads a key's state; again if stored moments moved meanwhile, because it may be of before or after that. */
  async #readState(keyId: string): Promise<WindowState> {
    const before = this.#moves;
    let memory = await this.#options.storage.limits.memory(keyId);
    if (this.#moving || this.#moves !== before) {
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
