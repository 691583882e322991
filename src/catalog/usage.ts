import { DAY_SECONDS, HOUR_SECONDS, MINUTE_SECONDS } from '../stdx/duration.ts';

/** Requests by status: below 400, 4xx other than 429, 429, and 5xx. */
export interface UsageCounts {
  readonly served: number;
  readonly clientErrors: number;
  readonly refused: number;
  readonly serverErrors: number;
}

export type Outcome = keyof UsageCounts;

export const NO_USAGE = { served: 0, clientErrors: 0, refused: 0, serverErrors: 0 } as const;

/** Adds up the requests of several. */
export function sumCounts(all: readonly UsageCounts[]): UsageCounts {
  const sum = { ...NO_USAGE } as Record<Outcome, number>;
  for (const each of all) for (const name of Object.keys(NO_USAGE) as Outcome[]) sum[name] += each[name];
  return sum;
}

/** The outcome of a request; the console and the usage tell these four apart, and no others. */
export function outcomeOf(status: number): Outcome {
  if (status < 400) return 'served';
  if (status === 429) return 'refused';
  return status < 500 ? 'clientErrors' : 'serverErrors';
}

/** The usage of one key, or `ALL_KEYS`, within a minute or part of one. Moments are Unix seconds. */
export interface UsageRecord extends UsageCounts {
  readonly keyId: string;
  readonly first: number;
  readonly last: number;
}

/** The usage of one key, or `ALL_KEYS`, on one route within an hour or part of one. */
export interface KeyRouteUsage extends UsageRecord {
  /** Method and template, such as `GET /v1/categories`; the template is `unmatched` where nothing is. */
  readonly route: string;
}

export const USAGE_GROUPS = ['key', 'owner', 'route'] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

/** The usage of a key, of an owner's keys, or of a route over a time range. */
export interface UsageSum extends UsageCounts {
  /** The id of the key, the owner (empty for keys without one), or the route; empty for all keys together. */
  readonly id: string;
  /** Those of the key, in sums by key. */
  readonly name: string | null;
  readonly owner: string | null;
  readonly first: number;
  readonly last: number;
  /** The start of its step; 0 outside a series. */
  readonly at: number;
}

/** The route of requests to addresses at which nothing is. */
export const UNMATCHED = 'unmatched';

export const USAGE_SORTS = ['requests', 'refused', 'errors'] as const;
export type UsageSort = (typeof USAGE_SORTS)[number];

/** By what usage is sorted, most first. */
export function weightOf({ served, clientErrors, refused, serverErrors }: UsageCounts, sort: UsageSort): number {
  if (sort === 'refused') return refused;
  const errors = clientErrors + serverErrors;
  return sort === 'errors' ? errors : served + refused + errors;
}

/** The top entries by `sort`, without zeros. */
export function mostOf<T extends UsageCounts & { readonly id: string }>(all: readonly T[], sort: UsageSort): T[] {
  return all
    .filter((each) => weightOf(each, sort) > 0)
    .sort((one, other) => weightOf(other, sort) - weightOf(one, sort) || (one.id < other.id ? -1 : 1));
}

export interface UsagePoint extends UsageCounts {
  readonly at: number;
}

export const ALL_KEYS = '*';

/** Retention of usage by resolution: minutes for 2 days, hours for 62 days, which then become days, for two years. */
export const USAGE_PERIODS = {
  minute: { seconds: MINUTE_SECONDS, keptSeconds: 2 * DAY_SECONDS },
  hour: { seconds: HOUR_SECONDS, keptSeconds: 62 * DAY_SECONDS },
  day: { seconds: DAY_SECONDS, keptSeconds: 2 * 366 * DAY_SECONDS },
} as const;
export type UsagePeriod = keyof typeof USAGE_PERIODS;

/** The finest period that is kept so long, and covers a time range with a few hundred points at most. */
export function usagePeriod({ since, until, now }: { since: number; until: number; now: number }): UsagePeriod {
  const [seconds, ago] = [until - since, now - since];
  if (seconds <= 9 * HOUR_SECONDS && ago <= USAGE_PERIODS.minute.keptSeconds) return 'minute';
  return seconds <= 14 * DAY_SECONDS && ago <= USAGE_PERIODS.hour.keptSeconds ? 'hour' : 'day';
}

/** Steps begin at multiples of their length after this moment, a Monday, so that those of seven days are weeks. */
export const STEPS_FROM = 4 * DAY_SECONDS;

/** Where the step begins that holds a moment. */
export function stepStart(moment: number, stepSeconds: number): number {
  return moment - ((moment - STEPS_FROM) % stepSeconds);
}

/** Selects usage by time, in Unix seconds, rounded to the period; of all keys and routes unless one is named. */
export interface UsageQuery {
  readonly period: UsagePeriod;
  readonly since: number;
  readonly until?: number | undefined;
  readonly keyId?: string | undefined;
  readonly owner?: string | undefined;
  /** As in `KeyRouteUsage`; minutes know none. */
  readonly route?: string | undefined;
}

interface SumsQuery extends UsageQuery {
  readonly group: UsageGroup | 'all';
  /** Asks for those of each step of so many seconds, by time and id: a multiple of the period. */
  readonly step?: number;
  /** Only those with a greater id; in a series, of the first step. */
  readonly behind?: string;
  readonly limit?: number;
}

export interface UsageStorage {
  /** Adds the counts of the minute that starts at `minute` to those of other instances. */
  add(minute: number, records: readonly UsageRecord[], attempt?: string): Promise<void>;
  /** Adds the counts of the hour that starts at `hour` to those of other instances. */
  addHours(hour: number, records: readonly KeyRouteUsage[], attempt?: string): Promise<void>;
  /** Makes what was added durable: until then a power cut may undo it. */
  sync(): Promise<void>;
  /**
   * The usage added up by key, owner or route, or of all selected keys together, by id. Minutes know no routes. Reads
   * some thousand rows at a time, and lets requests be served in between.
   */
  sums(query: SumsQuery): Promise<UsageSum[]>;
  /** When each of these keys was last used; keys with no recorded use are omitted. */
  lastUses(keyIds: readonly string[]): Promise<Map<string, number>>;
  /** Deletes expired usage, and adds expired hours to their days. */
  purge(now: number): Promise<void>;
}
