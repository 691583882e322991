import type { Ban, SharedMemory, WindowCounts } from '../../catalog/limit.ts';
import type { Limits } from '../../catalog/plan.ts';
import type { Clock, Moment } from '../../stdx/clock.ts';
import { type BanState, charge, UNUSED, type WindowState } from '../window.ts';
import { RedisLink, type RedisLinkOptions } from './link.ts';
import { COUNT, REPLACE_BAN } from './scripts.ts';

/** Minimum skew between two readings of the server's clock that counts as a clock step. */
const STEP_MS = 1_000;
/** Far above the deadline of an answer: one that took longer was read by a process that had been suspended. */
const SUSPENDED_MS = 5_000;

/** Requests that are counted at once: some 0.3 ms of Redis, in which it does nothing else. */
const BATCH_MAX = 64;

/** A ban as Redis stores it, including the members that are opaque to the scripts. */
export interface SharedBan extends BanState {
  /** Its start as stored, in Unix seconds; identifies it among the key's bans. */
  readonly startedAt: number;
  /** Whether storage has it: if so and it is missing there, it was lifted. */
  readonly isStored: boolean;
}

/** A key's state from just before a request was counted. */
export interface Counted {
  readonly now: Moment;
  readonly state: WindowState;
  readonly ban: SharedBan | undefined;
}

/** What is remembered of a key outside of Redis, to be merged with what Redis has. */
export interface Remembered {
  readonly counts: WindowCounts | undefined;
  readonly ban: SharedBan | undefined;
  /** Whether that is everything, so that it may become the value of a key that Redis does not have. */
  readonly isComplete: boolean;
}

/**
 * Undefined: no answer. `missing`: Redis has no value for the key. `another`: the ban there was not the expected one.
 */
export type Replaced = 'replaced' | 'missing' | { readonly another: SharedBan | undefined } | undefined;

/** Requests of one key to be counted, or one to be read: what the script does in one step. */
interface Count {
  readonly keyId: string;
  readonly limits: Limits;
  readonly isRead: boolean;
  readonly remembered: Remembered | undefined;
  readonly requests: {
    readonly resolve: (counted: Counted | 'missing' | undefined) => void;
    readonly reject: (error: unknown) => void;
  }[];
}

export interface RedisCountsOptions extends RedisLinkOptions {
  readonly clock: Clock;
  readonly time?: Clock;
  readonly onCounted: (durationMs: number) => void;
  /** The server's clock was stepped, so moments read from it earlier are invalid. */
  readonly onClockStep: () => void;
}

/**
 * Counts and bans in Redis, on the Redis server's clock. It has one clock, so its steady seconds are Unix seconds.
 * Requests of the same turn of the event loop are counted by one call of the script, and those of one key in one step
 * of it: each by itself costs Redis far more, and this process five times as much. Methods return undefined without an
 * answer in time.
 */
export class RedisCounts implements AsyncDisposable {
  readonly #options: RedisCountsOptions;
  readonly #link: RedisLink;
  /** The requests of this turn; the latest of each key by its id. */
  #batch: Count[] = [];
  readonly #latest = new Map<string, Count>();
  #requests = 0;
  /** Bounds of the skew between the server's clock and this process's, in milliseconds. */
  #skew: { readonly least: number; readonly most: number } | undefined;

  constructor(options: RedisCountsOptions) {
    this.#options = options;
    this.#link = new RedisLink(options);
  }

  get isUp(): boolean {
    return this.#link.isUp;
  }

  /** Attempts to connect once; the link retries by itself. Rejects with `LimiterNotOpened` for a cluster. */
  connect(): Promise<void> {
    return this.#link.connect();
  }

  /**
   * Bounds of the server's current time. A wait computed from `earliest` is never too short; what has not ended by
   * `latest` has certainly not ended.
   */
  now(): { readonly earliest: Moment; readonly latest: Moment } {
    const { time, clock } = this.#options;
    if (time || !this.#skew) return { earliest: (time ?? clock)(), latest: (time ?? clock)() };
    const nowMs = this.#options.timers.now();
    return { earliest: toMoment(nowMs + this.#skew.least), latest: toMoment(nowMs + this.#skew.most) };
  }

  /**
   * Merges what is remembered into the key's windows, then counts a request against them; `cost` 0 only reads.
   * `missing` if there is no value in Redis and nothing complete to begin with.
   */
  count(
    keyId: string,
    limits: Limits,
    { cost, remembered }: { cost: 0 | 1; remembered?: Remembered | undefined },
  ): Promise<Counted | 'missing' | undefined> | undefined {
    if (!this.#link.isUp) return undefined;
    return new Promise((resolve, reject) => {
      if (this.#requests === 0) setImmediate(this.#send);
      this.#requests += 1;
      const latest = this.#latest.get(keyId);
      if (latest?.limits === limits && cost === 1 && !latest.isRead && !remembered) {
        latest.requests.push({ resolve, reject });
      } else {
        const own = { keyId, limits, isRead: cost === 0, remembered, requests: [{ resolve, reject }] };
        this.#latest.set(keyId, own);
        this.#batch.push(own);
      }
      if (this.#requests >= BATCH_MAX) this.#send();
    });
  }

  readonly #send = (): void => {
    const batch = this.#batch;
    if (batch.length === 0) return;
    this.#batch = [];
    this.#latest.clear();
    this.#requests = 0;
    const { unix = '', steady = '' } = this.#options.time?.() ?? {};
    const keyIds: string[] = [];
    const args = [`${unix}`, `${steady}`];
    for (const { keyId, limits, isRead, remembered, requests } of batch) {
      keyIds.push(keyId);
      args.push(`${limits.minute}`, `${limits.day}`, isRead ? '0' : `${requests.length}`);
      if (remembered) args.push(toValue(remembered), remembered.isComplete ? '1' : '');
      else args.push('', '');
    }
    const sentMs = this.#options.timers.now();
    void this.#link.run(COUNT, keyIds, args).then((reply) => this.#settle(batch, reply, sentMs));
  };

  #settle(batch: readonly Count[], reply: unknown, sentMs: number): void {
    if (reply === undefined) {
      for (const { requests } of batch) for (const { resolve } of requests) resolve(undefined);
      return;
    }
    const receivedMs = this.#options.timers.now();
    const [time, ...values] = reply as [string, ...(string | null)[]];
    const [unix = 0, micros = 0, steady = 0] = time.split(' ').map(Number);
    if (!this.#options.time) this.#readClock(unix * 1000 + micros / 1000, sentMs, receivedMs);
    const now = { unix, steady };
    for (const [index, count] of batch.entries()) {
      for (const _ of count.requests) this.#options.onCounted(receivedMs - sentMs);
      settleOne(count, values[index], now);
    }
  }

  /** Replaces the key's ban, or removes it, if it is the expected one (compare-and-set). */
  async replaceBan(keyId: string, expected: SharedBan | undefined, ban: SharedBan | undefined): Promise<Replaced> {
    const args = [toRecord(expected), `${ban?.starts ?? 0}`, `${ban?.ends ?? 0}`, toRecord(ban)];
    const reply = await this.#link.run(REPLACE_BAN, [keyId], args);
    if (reply === undefined) return undefined;
    if (reply === null) return 'missing';
    if (reply === 1) return 'replaced';
    return { another: fromValue(reply as string).ban };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#link[Symbol.asyncDispose]();
  }

  /** Updates the skew: the server read its clock at some moment between sending and receiving. */
  #readClock(serverMs: number, sentMs: number, receivedMs: number): void {
    const before = this.#skew;
    // Such a reading says little; the last one still holds.
    if (before && receivedMs - sentMs > SUSPENDED_MS) return;
    const skew = { least: serverMs - receivedMs, most: serverMs - sentMs };
    this.#skew = skew;
    if (before && (skew.least > before.most + STEP_MS || skew.most < before.least - STEP_MS)) {
      this.#options.onClockStep();
    }
  }
}

/** Gives the first request of a key the state from before it, and each further one that which the one before left. */
function settleOne({ requests, limits }: Count, value: string | null | undefined, now: Moment): void {
  if (typeof value !== 'string') {
    for (const { resolve } of requests) resolve('missing');
    return;
  }
  try {
    const { state: before, ban } = fromValue(value);
    let state = before;
    for (const [index, { resolve }] of requests.entries()) {
      // By the rule by which the script counted them. It counts no refusals, and neither does this.
      if (index > 0) state = charge(state, limits, now, 0).state;
      resolve({ now, state, ban });
    }
  } catch (error) {
    // A ban that is no JSON; the others of the batch are counted all the same.
    for (const { reject } of requests) reject(error);
  }
}

function toMoment(ms: number): Moment {
  const seconds = Math.floor(ms / 1000);
  return { unix: seconds, steady: seconds };
}

/** Converts a stored ban. */
export function fromStorage({ startedAt, endsAt, level, reason }: Ban): SharedBan {
  return { starts: startedAt, ends: endsAt, level, reason, startedAt, isStored: true };
}

/** Converts a ban to how it is stored. */
export function toStorage(keyId: string, { startedAt, starts, ends, level, reason }: SharedBan): Ban {
  return { keyId, startedAt, endsAt: startedAt + ends - starts, level, reason };
}

/**
 * Whether a ban that Redis has is not the key's last one: it was lifted, or another one followed. One that is not
 * marked as stored may be on its way to storage.
 */
export function isOutdated(ban: SharedBan, { ban: last, lifted = 0 }: SharedMemory): boolean {
  if (last?.startedAt === ban.startedAt) return false;
  return ban.isStored || Math.max(last?.startedAt ?? 0, lifted) >= ban.startedAt;
}

/** Merges counts: the later of each window, by the rule of `LimitStorage.raiseCounts`. */
export function laterCounts(
  stored: WindowCounts | undefined,
  unsaved: WindowCounts | undefined,
): WindowCounts | undefined {
  if (!stored || !unsaved) return stored ?? unsaved;
  const isLaterMinute =
    stored.minuteEnds > unsaved.minuteEnds ||
    (stored.minuteEnds === unsaved.minuteEnds && stored.minuteUsed > unsaved.minuteUsed);
  const isLaterDay = stored.day > unsaved.day || (stored.day === unsaved.day && stored.dayUsed > unsaved.dayUsed);
  const { minuteEnds, minuteUsed } = isLaterMinute ? stored : unsaved;
  const { day, dayUsed } = isLaterDay ? stored : unsaved;
  return { keyId: stored.keyId, minuteEnds, minuteUsed, day, dayUsed };
}

function toValue({ counts, ban }: Remembered): string {
  const { minuteEnds = 0, minuteUsed = 0, day = 0, dayUsed = 0 } = counts ?? {};
  return [minuteEnds, minuteUsed, day, dayUsed, ban?.starts ?? 0, ban?.ends ?? 0, toRecord(ban)].join(' ');
}

function toRecord(ban: SharedBan | undefined): string {
  if (!ban) return '';
  const { startedAt, level, reason, isStored } = ban;
  return JSON.stringify({ startedAt, level, reason, isStored });
}

/** Reads a value: six numbers, and the ban, which is JSON and may hold spaces. */
function fromValue(value: string): Pick<Counted, 'state' | 'ban'> {
  const brace = value.indexOf('{');
  const numbers = value.split(' ', 6).map(Number);
  const [minuteEnds = 0, minuteUsed = 0, day = 0, dayUsed = 0, starts = 0, ends = 0] = numbers;
  const rest = brace < 0 ? undefined : (JSON.parse(value.slice(brace)) as Omit<SharedBan, 'starts' | 'ends'>);
  const ban = rest && { starts, ends, ...rest };
  return { state: { ...UNUSED, minuteEnds, minuteUsed, day, dayUsed, ban }, ban };
}
