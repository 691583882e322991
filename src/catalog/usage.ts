import { DAY_SECONDS, HOUR_SECONDS, MINUTE_SECONDS } from '../stdx/duration.ts';

/** Requests by status: below 400, 4xx other than 429, 429, and 5xx. */
export interface UsageCounts {
  readonly served: number;
  readonly clientErrors: number;
  readonly refused: number;
  readonly serverErrors: number;
}

/** The usage of one key, or `ALL_KEYS`, within a minute or part of one. Moments are Unix seconds. */
export interface UsageRecord extends UsageCounts {
  readonly keyId: string;
  readonly first: number;
  readonly last: number;
}

/** The usage of a key over a time range. */
export type KeyUsage = UsageRecord;

/** The usage within the period that starts at `at`. */
export interface UsagePoint extends UsageCounts {
  readonly at: number;
}

/** Stands for all keys together. */
export const ALL_KEYS = '*';

/** The resolutions in which usage is kept, and for how long. */
export const USAGE_PERIODS = {
  minute: { seconds: MINUTE_SECONDS, keptSeconds: 2 * DAY_SECONDS },
  hour: { seconds: HOUR_SECONDS, keptSeconds: 62 * DAY_SECONDS },
  day: { seconds: DAY_SECONDS, keptSeconds: 2 * 366 * DAY_SECONDS },
} as const;
export type UsagePeriod = keyof typeof USAGE_PERIODS;

/** The finest period that covers a time range with a few hundred points at most. */
export function usagePeriod(seconds: number): UsagePeriod {
  if (seconds <= 6 * HOUR_SECONDS) return 'minute';
  return seconds <= 14 * DAY_SECONDS ? 'hour' : 'day';
}

/** Selects usage by time, in Unix seconds, and by owner. */
interface UsageQuery {
  readonly since: number;
  readonly until?: number | undefined;
  readonly owner?: string | undefined;
}

interface UsagePage {
  readonly now: number;
  readonly keyId?: string | undefined;
  /** Only keys with a greater id. */
  readonly behind: string;
  readonly limit: number;
}

export interface UsageStorage {
  /** Adds the counts of the minute that starts at `minute` to those of other instances. */
  add(minute: number, records: readonly UsageRecord[], attempt?: string): Promise<void>;
  /** The usage per key since a moment, rounded down to a period, busiest first; of one key if it is named. */
  byKey(query: { since: number; now: number; keyId?: string; limit?: number }): Promise<KeyUsage[]>;
  /** A page of the usage per key with its name, by id: of one key, or of an owner's, if they are named. */
  page(query: UsageQuery & UsagePage): Promise<(KeyUsage & { readonly name: string })[]>;
  /** The usage of one key, of an owner's keys, or of `ALL_KEYS`, in each period that has any. */
  series(query: UsageQuery & { keyId: string; period: UsagePeriod }): Promise<UsagePoint[]>;
  /** When each of these keys was last used, as far as its usage is kept; without those that were not. */
  lastUses(keyIds: readonly string[]): Promise<Map<string, number>>;
  /** Deletes expired usage. */
  purge(now: number): Promise<void>;
}
