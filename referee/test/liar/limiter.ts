/** What a limiter says of one request; `reset` is in Unix seconds. */
export interface Decision {
  readonly limit: number;
  readonly remaining: number;
  readonly reset: number;
  readonly isRefused: boolean;
}

export interface Key {
  readonly secret: string;
  /** True for the key whose limit is judged. */
  readonly isLimited: boolean;
  readonly minute: number;
}

/** Counters of one key. A limiter of another kind keeps its own numbers in `more`. */
export interface Counters {
  minute: { ends: number; used: number };
  more: number[];
}

/** Decides on a request at a moment in Unix seconds. */
export type Limiter = (key: Key, counters: Counters, now: number) => Decision;

export function freshCounters(): Counters {
  return { minute: { ends: 0, used: 0 }, more: [] };
}

/** A minute from the first request. */
export const minuteFromFirst: Limiter = ({ minute: limit }, counters, now) => {
  const second = Math.floor(now);
  if (second >= counters.minute.ends) counters.minute = { ends: second + 60, used: 0 };
  const { ends, used } = counters.minute;
  const isRefused = used >= limit;
  if (!isRefused) counters.minute.used += 1;
  return { limit, remaining: Math.max(0, limit - counters.minute.used), reset: ends, isRefused };
};

/** Tokens that come back one by one; holds `size` of them, by default a minute's. */
export const bucket =
  (size?: number, resetAt?: (now: number) => number): Limiter =>
  ({ minute: rate }, { more }, now) => {
    const limit = size ?? rate;
    const [before = limit, at = now] = more;
    const tokens = Math.min(limit, before + ((now - at) * rate) / 60);
    const isRefused = tokens < 1;
    const left = isRefused ? tokens : tokens - 1;
    [more[0], more[1]] = [left, now];
    const [full, next] = [now + ((limit - left) * 60) / rate, now + ((1 - left) * 60) / rate];
    const reset = resetAt?.(now) ?? Math.max(Math.floor(now) + (isRefused ? 1 : 0), Math.ceil(isRefused ? next : full));
    return { limit, remaining: Math.floor(left), reset, isRefused };
  };

/** The last 60 seconds, request by request. */
export const slidingLog: Limiter = ({ minute: limit }, counters, now) => {
  const recent = counters.more.filter((at) => at > now - 60);
  const isRefused = recent.length >= limit;
  if (!isRefused) recent.push(now);
  counters.more = recent;
  return { limit, remaining: limit - recent.length, reset: Math.ceil((recent[0] ?? now) + 60), isRefused };
};

/** Windows of the clock: a minute by default. */
export const clockWindow =
  (seconds = 60): Limiter =>
  ({ minute: limit }, { more }, now) => {
    const reset = (Math.floor(now / seconds) + 1) * seconds;
    const used = more[0] === reset ? (more[1] ?? 0) : 0;
    const isRefused = used >= limit;
    [more[0], more[1]] = [reset, isRefused ? used : used + 1];
    return { limit, remaining: Math.max(0, limit - (more[1] ?? 0)), reset, isRefused };
  };
