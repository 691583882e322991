import type { Clock } from '../../src/stdx/clock.ts';

/** A clock that stands still until a test turns it. */
export interface ManualClock {
  readonly now: Clock;
  /** Time passes on both clocks. */
  advance(seconds: number): void;
  /** Somebody sets the system clock: Unix time jumps, durations do not. */
  step(seconds: number): void;
}

/** Starts at 2026-01-01T12:00:00Z unless told otherwise. */
export function manualClock(unix = Date.UTC(2026, 0, 1, 12) / 1000): ManualClock {
  let steady = unix;
  let stepped = 0;
  return {
    now: () => ({ unix: steady + stepped, steady }),
    advance: (seconds) => {
      steady += seconds;
    },
    step: (seconds) => {
      stepped += seconds;
    },
  };
}
