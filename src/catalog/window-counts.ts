import assert from 'node:assert/strict';
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
}

/** The counts of a key as they are stored; `minuteEnds` is in Unix seconds. */
export interface WindowCounts extends Counts {
  readonly keyId: string;
}

/**
 * Merges two readings of one key's counts: of each window the later one, and of the same window the greater count.
 * Commutative, associative and idempotent, so that it does not matter who meets whom first, or how often. Storage and
 * the script in Redis merge by the same rule.
 */
export function merged(one: Counts, other: Counts): Counts {
  const minute = isLater(one.minuteEnds, one.minuteUsed, other.minuteEnds, other.minuteUsed) ? one : other;
  const day = isLater(one.day, one.dayUsed, other.day, other.dayUsed) ? one : other;
  const { minuteEnds, minuteUsed } = minute;
  assert(minuteEnds >= one.minuteEnds && minuteEnds >= other.minuteEnds, 'a merge loses no minute');
  assert(day.day >= one.day && day.day >= other.day, 'a merge loses no day');
  return { minuteEnds, minuteUsed, day: day.day, dayUsed: day.dayUsed };
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

function isLater(window: number, used: number, otherWindow: number, otherUsed: number): boolean {
  return window > otherWindow || (window === otherWindow && used > otherUsed);
}

/** From this share of its day's limit on a key is near it: in the metric, the alert and the meters of the console. */
export const NEAR_LIMIT_PERCENT = 80;

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
}
