import type { Limits } from '../catalog/plan.ts';
import type { Moment } from '../stdx/clock.ts';
import { DAY_SECONDS, HOUR_SECONDS, MINUTE_SECONDS } from '../stdx/duration.ts';

const REFUSAL_WINDOW_SECONDS = 60;
/** Refusals this soon after the first may have been in flight when it was sent, so they do not count. */
const IN_FLIGHT_SECONDS = 2;
const BAN_SECONDS = [MINUTE_SECONDS, 5 * MINUTE_SECONDS, 15 * MINUTE_SECONDS, HOUR_SECONDS] as const;
/** After this long without a ban, a key starts over at the shortest. */
const BAN_MEMORY_SECONDS = DAY_SECONDS;

type Refusal = 'rate_limit_exceeded' | 'daily_quota_exceeded' | 'key_banned';

/**
 * The limiter's state of one key. `minuteEnds`, `refusalsEnd` and the ban's moments are steady seconds, so that a
 * stepped system clock neither frees nor locks out a client; `day` counts UTC days since 1970 and never goes back.
 */
export interface WindowState {
  readonly minuteEnds: number;
  readonly minuteUsed: number;
  readonly day: number;
  readonly dayUsed: number;
  readonly refusalsEnd: number;
  readonly refusals: number;
  /** The last ban, active or expired. */
  readonly ban: BanState | undefined;
}

export interface BanState {
  readonly starts: number;
  readonly ends: number;
  readonly level: number;
  readonly reason: string;
}

/** One window as the client sees it; `reset` is in Unix seconds. */
interface WindowView {
  readonly limit: number;
  readonly remaining: number;
  readonly reset: number;
}

/** What the client is told. Moments are Unix seconds. */
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
}

export interface Charge {
  readonly state: WindowState;
  readonly decision: Decision;
  /** The ban that this request triggered. */
  readonly newBan?: BanState;
}

export const UNUSED: WindowState = {
  minuteEnds: 0,
  minuteUsed: 0,
  day: 0,
  dayUsed: 0,
  refusalsEnd: 0,
  refusals: 0,
  ban: undefined,
};

/**
 * Decides one request against both windows and the ban. It is admitted, and counted in both windows, if and only if
 * all have room; a refused one is counted in neither. `banAfter` is the fewest refusals that lead to a ban; 0 disables
 * bans.
 */
export function charge(known: WindowState, limits: Limits, now: Moment, banAfter: number): Charge {
  const state = turnDay(known, now);
  const minuteOpen = now.steady < state.minuteEnds;
  const minuteUsed = minuteOpen ? state.minuteUsed : 0;
  if (isBanned(state, now) || minuteUsed >= limits.minute || state.dayUsed >= limits.day) {
    return refuse(state, limits, now, banAfter);
  }
  const counted = {
    minuteEnds: minuteOpen ? state.minuteEnds : now.steady + MINUTE_SECONDS,
    minuteUsed: minuteUsed + 1,
    day: state.day,
    dayUsed: state.dayUsed + 1,
    refusalsEnd: state.refusalsEnd,
    refusals: state.refusals,
    ban: state.ban,
  };
  return { state: counted, decision: admitted(counted, limits, now) };
}

/** Decides what the next request would get, counting nothing. */
export function look(known: WindowState, limits: Limits, now: Moment): Decision {
  const state = turnDay(known, now);
  const ban = isBanned(state, now) ? state.ban : undefined;
  const decision = admitted(state, limits, now);
  const { minute, day } = decision;
  if (!ban && minute.remaining > 0 && day.remaining > 0) return decision;

  const offset = now.unix - now.steady;
  const until = Math.max(
    minute.remaining === 0 ? minute.reset : 0,
    day.remaining === 0 ? day.reset : 0,
    ban ? ban.ends + offset : 0,
  );
  if (ban) {
    return {
      refusal: 'key_banned',
      limit: minute.limit,
      remaining: 0,
      reset: until,
      minute: { limit: minute.limit, remaining: 0, reset: until },
      day,
      ban: { until: ban.ends + offset, reason: ban.reason },
      now: now.unix,
    };
  }
  const daySpent = day.remaining === 0;
  return {
    refusal: daySpent ? 'daily_quota_exceeded' : 'rate_limit_exceeded',
    limit: daySpent ? day.limit : minute.limit,
    remaining: 0,
    reset: until,
    minute,
    day,
    now: now.unix,
  };
}

/** The decision that a request would get later, computed from an earlier decision alone. */
export function later({ minute, day, ban }: Decision, now: Moment): Decision {
  const stepped = now.unix - now.steady;
  const minuteUsed = minute.limit - minute.remaining;
  const state = {
    ...UNUSED,
    // An unused window is not open yet.
    minuteEnds: minuteUsed > 0 ? minute.reset - stepped : 0,
    minuteUsed,
    day: day.reset / DAY_SECONDS - 1,
    dayUsed: day.limit - day.remaining,
    ban: ban && { starts: 0, ends: ban.until - stepped, level: 1, reason: ban.reason },
  };
  return look(state, { minute: minute.limit, day: day.limit }, now);
}

/** The headers of an admitted request describe the window with fewer requests left; the minute in a tie. */
function admitted(state: WindowState, limits: Limits, now: Moment): Decision {
  const minuteOpen = now.steady < state.minuteEnds;
  const minuteEnds = minuteOpen ? state.minuteEnds : now.steady + MINUTE_SECONDS;
  const minute = {
    limit: limits.minute,
    remaining: Math.max(0, limits.minute - (minuteOpen ? state.minuteUsed : 0)),
    reset: minuteEnds + now.unix - now.steady,
  };
  const day = {
    limit: limits.day,
    remaining: Math.max(0, limits.day - state.dayUsed),
    reset: (state.day + 1) * DAY_SECONDS,
  };
  const tighter = day.remaining < minute.remaining ? day : minute;
  return { limit: tighter.limit, remaining: tighter.remaining, reset: tighter.reset, minute, day, now: now.unix };
}

function isBanned({ ban }: WindowState, now: Moment): boolean {
  return ban !== undefined && now.steady < ban.ends;
}

function refuse(state: WindowState, limits: Limits, now: Moment, banAfter: number): Charge {
  const decision = look(state, limits, now);
  if (decision.refusal === 'key_banned' || banAfter === 0) return { state, decision };
  if (now.steady >= state.refusalsEnd) {
    return { state: { ...state, refusalsEnd: now.steady + REFUSAL_WINDOW_SECONDS, refusals: 0 }, decision };
  }
  const opened = state.refusalsEnd - REFUSAL_WINDOW_SECONDS;
  if (now.steady < opened + IN_FLIGHT_SECONDS) return { state, decision };

  const refusals = state.refusals + 1;
  if (refusals <= limits.minute || refusals < banAfter) return { state: { ...state, refusals }, decision };

  const level = nextBanLevel(state.ban, now);
  const newBan = {
    starts: now.steady,
    ends: now.steady + (BAN_SECONDS[level - 1] ?? 0),
    level,
    reason: `refused ${refusals} more times within a minute of a 429`,
  };
  const banned = { ...state, refusalsEnd: 0, refusals: 0, ban: newBan };
  return { state: banned, decision: look(banned, limits, now), newBan };
}

function nextBanLevel(last: BanState | undefined, now: Moment): number {
  if (!last || now.steady - last.ends >= BAN_MEMORY_SECONDS) return 1;
  return Math.min(last.level + 1, BAN_SECONDS.length);
}

/** Resets the day's count at midnight UTC; a clock that was set back does not bring yesterday back. */
function turnDay(state: WindowState, now: Moment): WindowState {
  const today = Math.floor(now.unix / DAY_SECONDS);
  return today > state.day ? { ...state, day: today, dayUsed: 0 } : state;
}
