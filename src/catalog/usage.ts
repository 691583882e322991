import { DAY_SECONDS, HOUR_SECONDS, MINUTE_SECONDS } from '../stdx/duration.ts';

/** What became of requests: answered below 400, other 4xx, 429, and 5xx. */
export interface UsageCounts {
  readonly served: number;
  readonly clientErrors: number;
  readonly refused: number;
  readonly serverErrors: number;
}

/** What one key, or `ALL_KEYS`, called for within one minute, or a part of it. Moments are Unix seconds. */
export interface UsageRecord extends UsageCounts {
  readonly keyId: string;
  readonly first: number;
  readonly last: number;
}

/** The usage of a key over some time. */
export type KeyUsage = UsageRecord;

/** The usage within one period that begins at `at`. */
export interface UsagePoint extends UsageCounts {
  readonly at: number;
}

/** Stands for all keys together. */
export const ALL_KEYS = '*';

/** How finely usage is kept, and for how long. */
export const USAGE_PERIODS = {
  minute: { seconds: MINUTE_SECONDS, keptSeconds: 2 * DAY_SECONDS },
  hour: { seconds: HOUR_SECONDS, keptSeconds: 62 * DAY_SECONDS },
  day: { seconds: DAY_SECONDS, keptSeconds: 2 * 366 * DAY_SECONDS },
} as const;
export type UsagePeriod = keyof typeof USAGE_PERIODS;

/** The finest period in which so many seconds are told by a few hundred numbers at most. */
export function usagePeriod(seconds: number): UsagePeriod {
  if (seconds <= 6 * HOUR_SECONDS) return 'minute';
  return seconds <= 14 * DAY_SECONDS ? 'hour' : 'day';
}

export interface UsageStorage {
  /** Adds what was counted within the minute that begins at `minute`; several instances add up. */
  add(minute: number, records: readonly UsageRecord[]): Promise<void>;
  /** The usage of each key since a moment, rounded down to a period, the busiest first; of one key if it is named. */
  byKey(query: { since: number; now: number; keyId?: string; limit?: number }): Promise<KeyUsage[]>;
  /** The usage of one key, or `ALL_KEYS`, in each period in which there was some. */
  series(query: { keyId: string; period: UsagePeriod; since: number }): Promise<UsagePoint[]>;
  /** Forgets what is older than is kept. */
  purge(now: number): Promise<void>;
}
