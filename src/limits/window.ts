import type { Limits } from '../catalog/plan.ts';
import type { Moment } from '../stdx/clock.ts';
import { DAY_SECONDS, HOUR_SECONDS, MINUTE_SECONDS } from '../stdx/duration.ts';

const REFUSAL_WINDOW_SECONDS = 60;
/** Refusals this soon after the first were on their way when it was given. */
const IN_FLIGHT_SECONDS = 2;
const BAN_SECONDS = [MINUTE_SECONDS, 5 * MINUTE_SECONDS, 15 * MINUTE_SECONDS, HOUR_SECONDS] as const;
/** A key that has been without a ban for so long starts over at the shortest. */
const BAN_MEMORY_SECONDS = DAY_SECONDS;

type Refusal = 'rate_limit_exceeded' | 'daily_quota_exceeded' | 'key_banned';

/**
 * What is remembered of one key. `minuteEnds`, `refusalsEnd` and the ban's moments are steady seconds, so that a
 * stepped system clock neither frees nor locks anybody; `day` counts UTC days since 1970 and never goes back.
 */
export interface WindowState {
  readonly minuteEnds: number;
  readonly minuteUsed: number;
  readonly day: number;
  readonly dayUsed: number;
  readonly refusalsEnd: number;
  readonly refusals: number;
  /** The last ban, over or not. */
  readonly ban: BanState | undefined;
}

export interface BanState {
  readonly starts: number;
  readonly ends: number;
  readonly level: number;
  readonly reason: string;
}

/** One window as a caller sees it; `reset` is Unix time. */
interface WindowView {
  readonly limit: number;
  readonly remaining: number;
  readonly reset: number;
}

/** What a caller is told. The moments are Unix seconds. */
export interface Decision {
  /** Why the request is refused; absent when it is admitted. */
  readonly refusal?: Refusal;
  /** The window that the three published headers speak of; on a refusal `reset` is when all admit again. */
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
  /** The ban that this very request brought on. */
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
 * One request against both windows and the ban: admitted, and then counted in both, if and only if all have room;
 * refused, it is counted in neither. `banAfter` is the least number of refusals that bring a ban, 0 for none.
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

/** What the next request would meet, counting nothing. */
export function look(known: WindowState, limits: Limits, now: Moment): Decision {
  const state = turnDay(known, now);
  const ban = isBanned(state, now) ? state.ban : undefined;
  const decision = admitted(state, limits, now);
  const { minute, day } = decision;
  if (!ban && minute.remaining > 0 && day.remaining > 0) return decision;

  const stepped = now.unix - now.steady;
  const until = Math.max(
    minute.remaining === 0 ? minute.reset : 0,
    day.remaining === 0 ? day.reset : 0,
    ban ? ban.ends + stepped : 0,
  );
  if (ban) {
    return {
      refusal: 'key_banned',
      limit: minute.limit,
      remaining: 0,
      reset: until,
      minute: { limit: minute.limit, remaining: 0, reset: until },
      day,
      ban: { until: ban.ends + stepped, reason: ban.reason },
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

/** The headers of an admitted request speak of the window with the fewer requests left; of the minute in a tie. */
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
  const told = day.remaining < minute.remaining ? day : minute;
  return { limit: told.limit, remaining: told.remaining, reset: told.reset, minute, day, now: now.unix };
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

/** Begins a new day's count when there is one; a clock that was set back does not bring yesterday back. */
function turnDay(state: WindowState, now: Moment): WindowState {
  const today = Math.floor(now.unix / DAY_SECONDS);
  return today > state.day ? { ...state, day: today, dayUsed: 0 } : state;
}
