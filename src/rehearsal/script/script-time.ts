import type { Time } from '../../stdx/time.ts';

const SECOND_MS = 1_000;
/** The forms that are in use (RFC 9110, section 5.6.7); `Date.parse` takes `1.5` and `soon 5` too. */
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*, .* GMT$/;

/** The machine's time in milliseconds, to the microsecond, by which requests are noted. */
export function machineMs({ machine }: Time): number {
  return Math.round(machine.steadyMs() * 1_000) / 1_000;
}

/** The turned time in milliseconds: that by which a step is in force. */
export function turnedMs(time: Time): number {
  return Math.round(time.steadyMs());
}

/** The milliseconds that are over of the second which a date would name now. */
export function secondMs(time: Time): number {
  return time.unixMs() % SECOND_MS;
}

/** The IMF-fixdate (RFC 9110, section 5.6.7) of a whole second so far from now, by the turned time. */
export function dateIn(ms: number, time: Time): string {
  return new Date(Math.round((time.unixMs() + ms) / SECOND_MS) * SECOND_MS).toUTCString();
}

/**
 * The seconds until a `Retry-After` is over (RFC 9110, section 10.2.3), fractional for a date; null for none, or one
 * that is malformed.
 */
export function secondsOf(retryAfter: string | undefined, time: Time): number | null {
  if (retryAfter === undefined) return null;
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter);
  const dateMs = HTTP_DATE.test(retryAfter) ? Date.parse(retryAfter) : Number.NaN;
  return Number.isNaN(dateMs) ? null : Math.max(0, (dateMs - time.unixMs()) / SECOND_MS);
}
