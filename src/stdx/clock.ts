/**
 * One moment on both of the service's clocks, in whole seconds.
 * `unix` is what callers are told (Unix time); `steady` is what durations are measured on: it never jumps.
 */
export interface Moment {
  readonly unix: number;
  readonly steady: number;
}

/** Tells the present moment. An argument everywhere, so that tests can turn it. */
export type Clock = () => Moment;

/**
 * The machine's clock. `steady` runs on the monotonic clock and starts out equal to Unix time; when somebody steps
 * the system clock by a second or more, `unix` follows within a second and `steady` does not. Smaller corrections are
 * ignored, so that moments told to callers do not wobble.
 */
export function systemClock(): Clock {
  const startMs = Date.now() - performance.now();
  let steppedSeconds = 0;
  let latest: Moment = { unix: 0, steady: 0 };
  return () => {
    const steadyMs = startMs + performance.now();
    const steady = Math.floor(steadyMs / 1000);
    if (steady === latest.steady) return latest;
    const offMs = Date.now() - (steadyMs + steppedSeconds * 1000);
    if (Math.abs(offMs) >= 1000) steppedSeconds += Math.trunc(offMs / 1000);
    latest = { unix: steady + steppedSeconds, steady };
    return latest;
  };
}

/** The moment that was last written: refusals come in floods, which all name the same one. */
let written = { unixSeconds: Number.NaN, text: '' };

/** A moment as people and JSON have it: RFC 3339, in UTC, to the second. */
export function utc(unixSeconds: number): string {
  if (unixSeconds !== written.unixSeconds) {
    written = { unixSeconds, text: `${new Date(unixSeconds * 1000).toISOString().slice(0, -'.000Z'.length)}Z` };
  }
  return written.text;
}
