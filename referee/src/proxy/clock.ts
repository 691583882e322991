/** The clocks that a script and its notes go by. An argument, so that tests can stop them. */
export interface Clock {
  /** Milliseconds, to the microsecond, that never jump; they start at Unix time. */
  steadyMs(): number;
  /** The system clock in Unix milliseconds. */
  unixMs(): number;
}

/** The clocks of this machine. */
export const CLOCK: Clock = {
  steadyMs: () => Math.round((performance.timeOrigin + performance.now()) * 1_000) / 1_000,
  unixMs: () => Date.now(),
};
