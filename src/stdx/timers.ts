/** A timer that is waiting; disposing of it cancels it. `unref` lets the process end before it. */
export interface Timer extends Disposable {
  unref(): this;
}

/**
 * The monotonic clock, in milliseconds, and the waits that it measures. An argument of everything that waits, so that
 * whole instances can run in virtual time.
 */
export interface Timers {
  now(): number;
  setTimeout(run: () => void, ms: number): Timer;
  setInterval(run: () => void, ms: number): Timer;
}

/** The timers of Node.js. */
export const SYSTEM_TIMERS: Timers = {
  now: () => performance.now(),
  setTimeout: (run, ms) => setTimeout(run, ms),
  setInterval: (run, ms) => setInterval(run, ms),
};
