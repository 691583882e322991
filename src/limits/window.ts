import type { Limits } from '../catalog/plan.ts';
import { type Counts, NO_COUNTS, type Resets } from '../catalog/window-counts.ts';
import { DAY_SECONDS, MINUTE_SECONDS } from '../stdx/duration.ts';
import type { Moment } from '../stdx/time.ts';

type Refusal = 'rate_limit_exceeded' | 'daily_quota_exceeded' | 'key_banned';

/**
 * The limiter's state of one key. `minuteEnds` and `refusalsEnd` are steady seconds, so that a stepped system clock
 * neither frees nor locks out a client; `day` counts UTC days since 1970 and never goes back. The refusals are known to
 * one process alone, and belong to a generation of the key's bans.
 */
export interface WindowState extends Counts {
  readonly refusalsEnd: number;
  readonly refusals: number;
  readonly banGeneration: number;
}

/** One window as the client sees it; `reset` is in Unix seconds. */
interface WindowView {
  readonly limit: number;
  readonly remaining: number;
  readonly reset: number;
}

/** The decision as the client is told it. Moments are Unix seconds. */
export interface Decision {
  /** Why the request is refused; absent when it is admitted. */
  readonly refusal?: Refusal;
  /** The window that the three published headers describe; on a refusal `reset` is when every window admits again. */
  readonly limit: number;
  readonly remaining: number;
  readonly reset: number;
  readonly minute: WindowView;
  readonly day: WindowView;
  readonly ban?: { readonly until: number; readonly reason: string };
  readonly now: number;
  /** Refusals counted towards a ban; absent without counts. */
  readonly refusals?: number;
}

export const UNUSED: WindowState = { ...NO_COUNTS, refusalsEnd: 0, refusals: 0, banGeneration: 0 };

/**
 * Decides one request against both windows. It is admitted, and counted in both, if and only if both have room; a
 * refused one changes neither.
 */
export function charge(known: WindowState, limits: Limits, now: Moment): { state: WindowState; decision: Decision } {
  const state = turned(known, now);
  if (state.minuteUsed >= limits.minute || state.dayUsed >= limits.day) {
    return { state: known, decision: look(state, limits, now) };
  }
  const counted = { ...state, minuteUsed: state.minuteUsed + 1, dayUsed: state.dayUsed + 1 };
  return { state: counted, decision: admitted(counted, limits, now) };
}

/** Decides what the next request would get, counting nothing. */
export function look(known: WindowState, limits: Limits, now: Moment): Decision {
  const decision = admitted(turned(known, now), limits, now);
  const { minute, day } = decision;
  if (minute.remaining > 0 && day.remaining > 0) return decision;
  const daySpent = day.remaining === 0;
  return {
    refusal: daySpent ? 'daily_quota_exceeded' : 'rate_limit_exceeded',
    limit: daySpent ? day.limit : minute.limit,
    remaining: 0,
    reset: Math.max(minute.remaining === 0 ? minute.reset : 0, daySpent ? day.reset : 0),
    minute,
    day,
    now: now.unix,
  };
}

/**
 * The decision on a request of a banned key, from what its windows alone decide. `now` is by the clock of the ban,
 * which may be another one than that of the windows.
 */
export function banned(windows: Decision, ban: NonNullable<Decision['ban']>, now: number): Decision {
  const { minute, day } = windows;
  const minuteWait = minute.remaining === 0 ? minute.reset - windows.now : 0;
  const allAdmit = Math.max(ban.until, now + minuteWait, day.remaining === 0 ? day.reset : 0);
  return {
    refusal: 'key_banned',
    limit: minute.limit,
    remaining: 0,
    reset: allAdmit,
    minute: { limit: minute.limit, remaining: 0, reset: allAdmit },
    day,
    ban,
    now,
  };
}

/** The decision that a request would get later, computed from an earlier decision alone. */
export function later({ minute, day, ban }: Decision, now: Moment): Decision {
  const minuteUsed = minute.limit - minute.remaining;
  const state = {
    ...UNUSED,
    // An unused window is not open yet.
    minuteEnds: minuteUsed > 0 ? minute.reset - (now.unix - now.steady) : 0,
    minuteUsed,
    day: day.reset / DAY_SECONDS - 1,
    dayUsed: day.limit - day.remaining,
  };
  const decision = look(state, { minute: minute.limit, day: day.limit }, now);
  return ban && now.unix < ban.until ? banned(decision, ban, now.unix) : decision;
}

/** The headers of an admitted request describe the window with fewer requests left; the minute in a tie. */
function admitted(state: WindowState, limits: Limits, now: Moment): Decision {
  const minute = {
    limit: limits.minute,
    remaining: Math.max(0, limits.minute - state.minuteUsed),
    reset: state.minuteEnds + now.unix - now.steady,
  };
  const day = {
    limit: limits.day,
    remaining: Math.max(0, limits.day - state.dayUsed),
    reset: (state.day + 1) * DAY_SECONDS,
  };
  const tighter = day.remaining < minute.remaining ? day : minute;
  return { limit: tighter.limit, remaining: tighter.remaining, reset: tighter.reset, minute, day, now: now.unix };
}

/**
 * Applies the resets of a key to counts of before: what a window counted becomes 0, and its end stays. A reset is a
 * change of the key, and all counts name the last reset that they know of. So older ones are known as such wherever
 * they are met, in memory, Redis, storage or a merge after an outage, and nothing has to be emptied anywhere.
 */
export function withResets<T extends Counts>(counts: T, { minute, day }: Resets): T {
  if (counts.minuteReset >= minute && counts.dayReset >= day) return counts;
  const minuteReset = Math.max(counts.minuteReset, minute);
  const dayReset = Math.max(counts.dayReset, day);
  const minuteUsed = minuteReset > counts.minuteReset ? 0 : counts.minuteUsed;
  const dayUsed = dayReset > counts.dayReset ? 0 : counts.dayUsed;
  return { ...counts, minuteReset, minuteUsed, dayReset, dayUsed };
}

/** Opens what is over anew: the minute now, the day at midnight UTC; a clock set back does not bring yesterday back. */
function turned(state: WindowState, now: Moment): WindowState {
  const today = Math.floor(now.unix / DAY_SECONDS);
  const inDay = today > state.day ? { ...state, day: today, dayUsed: 0 } : state;
  return now.steady < inDay.minuteEnds ? inDay : { ...inDay, minuteEnds: now.steady + MINUTE_SECONDS, minuteUsed: 0 };
}
