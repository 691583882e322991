import { DAY_SECONDS, MINUTE_SECONDS } from '../stdx/duration.ts';
import type { Limits } from './plan.ts';

/**
 * The counts of both windows of a key. `minuteEnds` is in seconds, `day` in days since 1970. One process counts by its
 * monotonic clock; with Redis the clock of the server that has the key counts, in a cluster that of its master.
 */
export interface Counts {
  readonly minuteEnds: number;
  readonly minuteUsed: number;
  readonly day: number;
  readonly dayUsed: number;
  /** The last resets that the counts know of, as in `Resets`. */
  readonly minuteReset: number;
  readonly dayReset: number;
}

/** Counts of a key that was never used. */
export const NO_COUNTS: Counts = { minuteEnds: 0, minuteUsed: 0, day: 0, dayUsed: 0, minuteReset: 0, dayReset: 0 };

/**
 * The number of the last reset of each window by an operator; 0 before the first. A reset gets a number above all
 * earlier ones, at least that of its Unix second: a number that a lost or restored database gave is not given again.
 */
export interface Resets {
  readonly minute: number;
  readonly day: number;
}

export const NEVER_RESET: Resets = { minute: 0, day: 0 };

/** The windows that an operator resets. */
export type ResetWindow = 'minute' | 'day' | 'both';

/** The counts of a key as they are stored; `minuteEnds` is in Unix seconds. */
export interface WindowCounts extends Counts {
  readonly keyId: string;
}

/**
 * Merges two readings of one key's counts: of each window the one with the later reset, then the later window, then the
 * greater count. Commutative, associative and idempotent, so that it does not matter who meets whom first, or how
 * often. Storage and the script in Redis merge by the same rule.
 */
export function merged(one: Counts, other: Counts): Counts {
  const minuteLead =
    one.minuteReset - other.minuteReset || one.minuteEnds - other.minuteEnds || one.minuteUsed - other.minuteUsed;
  const dayLead = one.dayReset - other.dayReset || one.day - other.day || one.dayUsed - other.dayUsed;
  const { minuteEnds, minuteUsed, minuteReset } = minuteLead > 0 ? one : other;
  const { day, dayUsed, dayReset } = dayLead > 0 ? one : other;
  return { minuteEnds, minuteUsed, day, dayUsed, minuteReset, dayReset };
}

/**
 * Stored counts at a moment (Unix seconds): a minute ends a minute from now at the latest, and a day later than today
 * is today. So a clock that was set back locks no client out for longer than a window.
 */
export function capped<T extends Counts>(counts: T, now: number): T {
  const minuteEnds = Math.min(counts.minuteEnds, now + MINUTE_SECONDS);
  const day = Math.min(counts.day, Math.floor(now / DAY_SECONDS));
  if (minuteEnds === counts.minuteEnds && day === counts.day) return counts;
  return { ...counts, minuteEnds, day };
}

/** Until when stored counts refuse a key (Unix seconds); undefined if both windows have room. */
export function refusedUntil(counts: Counts | undefined, limits: Limits, now: number): number | undefined {
  if (!counts) return undefined;
  const { minuteEnds, minuteUsed, day, dayUsed } = capped(counts, now);
  const ends = [minuteUsed >= limits.minute ? minuteEnds : 0, dayUsed >= limits.day ? (day + 1) * DAY_SECONDS : 0];
  const until = Math.max(...ends);
  return until > now ? until : undefined;
}

/** From this share of its day's limit on a key is near it: in the metric, the alert and the meters of the console. */
export const NEAR_LIMIT_PERCENT = 80;

/** A key that used `NEAR_LIMIT_PERCENT` or more of its limit of the UTC day, or all of it. */
export interface KeyNearLimit {
  readonly keyId: string;
  readonly use: 'near' | 'reached';
}

export interface LimitStorage {
  /** The counts of a key, as they are stored after the call; undefined without any. Many at once cost few queries. */
  counts(keyId: string): Promise<WindowCounts | undefined>;
  /** Replaces the counts of each key named, for a process that counts alone. A power cut may undo it before `sync`. */
  saveCounts(counts: readonly WindowCounts[]): Promise<void>;
  /** Waits until the saved counts are on the disk. */
  sync(): Promise<void>;
  /**
   * Merges counts into those of each key, as `merged` does after `capped` at `now` (Unix seconds), which is read once
   * no other instance can store any. So several may save in any order, however long one is held up.
   */
  raiseCounts(counts: readonly WindowCounts[], now: () => number): Promise<void>;
  /** Those that no process was given on this UTC day: each is news once, if a crash does not lose it. */
  news(found: readonly KeyNearLimit[]): Promise<KeyNearLimit[]>;
}
