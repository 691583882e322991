import type { Ban, WindowCounts } from '../../catalog/limit.ts';
import type { Limits } from '../../catalog/plan.ts';
import type { Clock, Moment } from '../../stdx/clock.ts';
import { type BanState, UNUSED, type WindowState } from '../window.ts';
import { RedisLink, type RedisLinkOptions } from './link.ts';
import { COUNT, REPLACE_BAN } from './scripts.ts';

/** Minimum skew between two readings of the server's clock that counts as a clock step. */
const STEP_MS = 1_000;
/** Far above the deadline of an answer: one that took longer was read by a process that had been suspended. */
const SUSPENDED_MS = 5_000;

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

export interface RedisCountsOptions extends RedisLinkOptions {
  readonly clock: Clock;
  readonly time?: Clock;
  readonly onCounted: (durationMs: number) => void;
  /** The server's clock was stepped, so moments read from it earlier are invalid. */
  readonly onClockStep: () => void;
}

/**
 * Counts and bans in Redis, on the Redis server's clock. It has one clock, so its steady seconds are Unix seconds.
 * Methods return undefined without an answer in time.
 */
export class RedisCounts implements AsyncDisposable {
  readonly #options: RedisCountsOptions;
  readonly #link: RedisLink;
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
  async count(
    keyId: string,
    limits: Limits,
    { cost, remembered }: { cost: 0 | 1; remembered?: Remembered | undefined },
  ): Promise<Counted | 'missing' | undefined> {
    const { unix = '', steady = '' } = this.#options.time?.() ?? {};
    const sentMs = this.#options.timers.now();
    const args = [limits.minute, limits.day, cost, unix, steady, ...(remembered ? toArguments(remembered) : [])];
    const reply = await this.#link.run(COUNT, keyId, args);
    if (reply === undefined) return undefined;
    const receivedMs = this.#options.timers.now();
    this.#options.onCounted(receivedMs - sentMs);
    if (reply === null) return 'missing';

    const { numbers, ban: record } = parse(reply as string);
    const [now = 0, micros = 0, steadyNow = 0, ...value] = numbers;
    if (!this.#options.time) this.#readClock(now * 1000 + micros / 1000, sentMs, receivedMs);
    const { state, ban } = fromValue(value, record);
    return { now: { unix: now, steady: steadyNow }, state, ban };
  }

  /** Replaces the key's ban, or removes it, if it is the expected one (compare-and-set). */
  async replaceBan(keyId: string, expected: SharedBan | undefined, ban: SharedBan | undefined): Promise<Replaced> {
    const args = [toRecord(expected), ban?.starts ?? 0, ban?.ends ?? 0, toRecord(ban)];
    const reply = await this.#link.run(REPLACE_BAN, keyId, args);
    if (reply === undefined) return undefined;
    if (reply === null) return 'missing';
    if (reply === 1) return 'replaced';
    const { numbers, ban: record } = parse(reply as string);
    return { another: fromValue(numbers, record).ban };
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

function toArguments({ counts, ban, isComplete }: Remembered): string[] {
  const { minuteEnds = 0, minuteUsed = 0, day = 0, dayUsed = 0 } = counts ?? {};
  const value = [minuteEnds, minuteUsed, day, dayUsed, ban?.starts ?? 0, ban?.ends ?? 0, toRecord(ban)];
  return [value.join(' '), isComplete ? '1' : ''];
}

function toRecord(ban: SharedBan | undefined): string {
  if (!ban) return '';
  const { startedAt, level, reason, isStored } = ban;
  return JSON.stringify({ startedAt, level, reason, isStored });
}

/** Splits a script's reply into its numbers and the ban, which is JSON and may hold spaces. */
function parse(reply: string): { numbers: number[]; ban: string } {
  const brace = reply.indexOf('{');
  const end = brace < 0 ? reply.length : brace;
  return { numbers: reply.slice(0, end).trimEnd().split(' ').map(Number), ban: reply.slice(end) };
}

function fromValue(numbers: readonly number[], record: string): Pick<Counted, 'state' | 'ban'> {
  const [minuteEnds = 0, minuteUsed = 0, day = 0, dayUsed = 0, starts = 0, ends = 0] = numbers;
  const rest = record === '' ? undefined : (JSON.parse(record) as Omit<SharedBan, 'starts' | 'ends'>);
  const ban = rest && { starts, ends, ...rest };
  return { state: { ...UNUSED, minuteEnds, minuteUsed, day, dayUsed, ban }, ban };
}
