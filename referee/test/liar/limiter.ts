/** One window of a key as the server reports it; `reset` is in Unix seconds. */
export interface Window {
  limit: number;
  remaining: number;
  reset: number;
}

/** What the limits say of one request. */
export interface Decision extends Window {
  minute: Window;
  day: Window;
  ban: { until: number; reason: unknown } | null;
  /** Why it is refused; undefined if it is admitted. */
  code?: 'rate_limit_exceeded' | 'daily_quota_exceeded' | 'key_banned' | undefined;
}

export interface Key {
  readonly secret: string;
  readonly plan: string;
  readonly minute: number;
  readonly day: number;
}

/** Counters of one key. A limiter of another kind keeps its own numbers in `more`. */
export interface Counters {
  minute: { ends: number; used: number };
  day: { ends: number; used: number };
  refusals: { since: number; count: number };
  bans: number[];
  more: number[];
}

/** Decides on a request at a moment in Unix seconds; `cost` is 0 for a look that counts nothing. */
export type Limiter = (key: Key, counters: Counters, now: number, cost: 0 | 1) => Decision;

const BAN_SECONDS = [60, 300, 900, 3_600];
const REFUSALS_MIN = 60;
const DAY_SECONDS = 86_400;

export function freshCounters(): Counters {
  return {
    minute: { ends: 0, used: 0 },
    day: { ends: 0, used: 0 },
    refusals: { since: 0, count: 0 },
    bans: [],
    more: [],
  };
}

/** A minute from the first request, and the day; more than 60 refusals in a minute ban. */
export const minuteAndDay: Limiter = (key, counters, now, cost) => {
  const second = Math.floor(now);
  if (second >= counters.minute.ends) counters.minute = { ends: 0, used: 0 };
  const dayEnds = (Math.floor(second / DAY_SECONDS) + 1) * DAY_SECONDS;
  if (counters.day.ends !== dayEnds) counters.day = { ends: dayEnds, used: 0 };
  const until = counters.bans.at(-1) ?? 0;
  const isMinuteFull = counters.minute.used >= key.minute;
  const isDayFull = counters.day.used >= key.day;
  let isBanned = second < until;
  if (cost === 1 && !isBanned && (isMinuteFull || isDayFull)) isBanned = isBanning(counters, key, second);
  else if (cost === 1 && !isBanned) {
    counters.minute = { ends: counters.minute.ends || second + 60, used: counters.minute.used + 1 };
    counters.day.used += 1;
  }
  const windowOf = (limit: number, used: number, reset: number) => ({
    limit,
    remaining: Math.max(0, limit - used),
    reset,
  });
  const minute = windowOf(key.minute, counters.minute.used, counters.minute.ends || second + 60);
  const day = windowOf(key.day, counters.day.used, dayEnds);
  const ban = isBanned ? { until: counters.bans.at(-1) ?? 0, reason: 'Too many refusals' } : null;
  const state = { minute, day, ban };
  if (ban) return { ...minute, remaining: 0, reset: ban.until, ...state, code: 'key_banned' };
  if (isDayFull) return { ...day, ...state, code: 'daily_quota_exceeded' };
  if (isMinuteFull) return { ...minute, ...state, code: 'rate_limit_exceeded' };
  return { ...(minute.remaining <= day.remaining ? minute : day), ...state };
};

/** Counts a refusal; true if it bans. Those in the second of the first refusal and in the next one do not count. */
function isBanning(counters: Counters, key: Key, second: number): boolean {
  const { refusals } = counters;
  if (second >= refusals.since + 60) Object.assign(refusals, { since: second, count: 0 });
  if (second - refusals.since >= 2) refusals.count += 1;
  if (refusals.count <= (key.plan === 'free' ? REFUSALS_MIN : key.minute)) return false;
  const seconds = BAN_SECONDS[Math.min(counters.bans.length, BAN_SECONDS.length - 1)] ?? 0;
  counters.bans.push(second + seconds);
  return true;
}

/** A single window as a decision. */
function single(window: Window, isRefused: boolean): Decision {
  return {
    ...window,
    minute: window,
    day: window,
    ban: null,
    code: isRefused ? 'rate_limit_exceeded' : undefined,
  };
}

/** Tokens that come back one by one; holds `size` of them, by default a minute's. */
export const bucket =
  (size?: number, resetAt?: (now: number) => number): Limiter =>
  ({ minute: rate }, { more }, now, cost) => {
    const limit = size ?? rate;
    const [before = limit, at = now] = more;
    const tokens = Math.min(limit, before + ((now - at) * rate) / 60);
    const isRefused = tokens < 1;
    const left = isRefused || cost === 0 ? tokens : tokens - 1;
    [more[0], more[1]] = [left, now];
    const [full, next] = [now + ((limit - left) * 60) / rate, now + ((1 - left) * 60) / rate];
    const reset = resetAt?.(now) ?? Math.max(Math.floor(now) + (isRefused ? 1 : 0), Math.ceil(isRefused ? next : full));
    return single({ limit, remaining: Math.floor(left), reset }, isRefused);
  };

/** The last 60 seconds, request by request. */
export const slidingLog: Limiter = ({ minute: limit }, counters, now, cost) => {
  const recent = counters.more.filter((at) => at > now - 60);
  const isRefused = recent.length >= limit;
  if (!isRefused && cost === 1) recent.push(now);
  counters.more = recent;
  return single({ limit, remaining: limit - recent.length, reset: Math.ceil((recent[0] ?? now) + 60) }, isRefused);
};

/** Windows of the clock: a minute by default. */
export const clockWindow =
  (seconds = 60): Limiter =>
  ({ minute: limit }, { more }, now, cost) => {
    const reset = (Math.floor(now / seconds) + 1) * seconds;
    const used = more[0] === reset ? (more[1] ?? 0) : 0;
    const isRefused = used >= limit;
    [more[0], more[1]] = [reset, isRefused ? used : used + cost];
    return single({ limit, remaining: Math.max(0, limit - (more[1] ?? 0)), reset }, isRefused);
  };
