/** One moment in whole seconds. `unix` (Unix time) is what clients see; `steady` measures durations. */
export interface Moment {
  readonly unix: number;
  readonly steady: number;
}

/** A timer that is waiting; disposing of it cancels it. `unref` lets the process end before it. */
export interface Timer extends Disposable {
  unref(): this;
}

/** The time of a service. An argument of everything that reads a clock or waits, so that tests can control both. */
export interface Time {
  /** The present moment. `steady` never jumps; it equals Unix time until the system clock is stepped. */
  now(): Moment;
  steadyMs(): number;
  setTimeout(run: () => void, ms: number): Timer;
  setInterval(run: () => void, ms: number): Timer;
}

/** The clocks and timers that a `Time` is made of. */
export interface Machine extends Pick<Time, 'setTimeout' | 'setInterval'> {
  /** Monotonic, from any beginning. */
  monotonicMs(): number;
  /** The system clock, in Unix milliseconds. */
  systemMs(): number;
}

const MACHINE: Machine = {
  monotonicMs: () => performance.now(),
  systemMs: () => Date.now(),
  setTimeout: (run, ms) => setTimeout(run, ms),
  setInterval: (run, ms) => setInterval(run, ms),
};

/**
 * Creates the time of a machine. `steady` runs on its monotonic clock. If the system clock is stepped by a second or
 * more, `unix` follows within a second and `steady` does not. Smaller corrections are ignored, so that moments sent to
 * clients do not jitter.
 */
export function systemTime({ monotonicMs, systemMs, ...timers }: Machine = MACHINE): Time {
  const startMs = systemMs() - monotonicMs();
  let steppedSeconds = 0;
  let latest: Moment = { unix: 0, steady: 0 };
  return {
    ...timers,
    now() {
      const steadyMs = startMs + monotonicMs();
      const steady = Math.floor(steadyMs / 1000);
      if (steady === latest.steady) return latest;
      const offMs = systemMs() - (steadyMs + steppedSeconds * 1000);
      if (Math.abs(offMs) >= 1000) steppedSeconds += Math.trunc(offMs / 1000);
      latest = { unix: steady + steppedSeconds, steady };
      return latest;
    },
    steadyMs: () => startMs + monotonicMs(),
  };
}

interface Deadline {
  readonly ms: number;
  readonly lateness: () => Error;
  readonly time: Pick<Time, 'setTimeout'>;
}

/** Settles as `work` does, unless that takes longer than `ms`: then rejects with what `lateness` makes. */
export async function within<T>(work: Promise<T>, { ms, lateness, time }: Deadline): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  using _timer = time.setTimeout(() => reject(lateness()), ms);
  return await Promise.race([work, late]);
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
