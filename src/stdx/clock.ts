import { SYSTEM_TIMERS } from './timers.ts';

/**
 * One moment on both of the service's clocks, in whole seconds. `unix` (Unix time) is what clients are told; `steady`
 * measures durations and never jumps.
 */
export interface Moment {
  readonly unix: number;
  readonly steady: number;
}

/** Returns the current moment. Passed as an argument everywhere, so that tests can control it. */
export type Clock = () => Moment;

/**
 * The machine's clock. `steady` runs on the monotonic clock and starts equal to Unix time. If the system clock is
 * stepped by a second or more, `unix` follows within a second and `steady` does not. Smaller corrections are ignored,
 * so that moments sent to clients do not jitter. `systemMs` is the system clock, in Unix milliseconds;
 * `startMs` is what it showed when `timers` showed 0.
 */
export function systemClock(timers = SYSTEM_TIMERS, systemMs = Date.now, startMs = systemMs() - timers.now()): Clock {
  let steppedSeconds = 0;
  let latest: Moment = { unix: 0, steady: 0 };
  return () => {
    const steadyMs = startMs + timers.now();
    const steady = Math.floor(steadyMs / 1000);
    if (steady === latest.steady) return latest;
    const offMs = systemMs() - (steadyMs + steppedSeconds * 1000);
    if (Math.abs(offMs) >= 1000) steppedSeconds += Math.trunc(offMs / 1000);
    latest = { unix: steady + steppedSeconds, steady };
    return latest;
  };
}

/** The last formatted moment, cached because floods of refusals all carry the same one. */
let lastFormatted = { unixSeconds: Number.NaN, text: '' };

/** Formats a moment by RFC 3339, in UTC, to the second. */
export function utc(unixSeconds: number): string {
  if (unixSeconds !== lastFormatted.unixSeconds) {
    lastFormatted = { unixSeconds, text: `${new Date(unixSeconds * 1000).toISOString().slice(0, -'.000Z'.length)}Z` };
  }
  return lastFormatted.text;
}
