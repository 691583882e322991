import assert from 'node:assert/strict';
import type { Clock } from '../../src/stdx/clock.ts';

const UNTIL_MS_MAX = 10_000;

/** A clock that moves only when a test moves it. */
export interface ManualClock {
  readonly now: Clock;
  /** Time passes on both clocks. */
  advance(seconds: number): void;
  /** Steps the system clock: Unix time jumps, durations do not. */
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

/** Polls until the condition holds. Fails after ten seconds, far above any promise, to tolerate a busy machine. */
export async function untilTrue(condition: () => boolean | Promise<boolean>): Promise<void> {
  const startedMs = performance.now();
  while (!(await condition())) {
    assert.ok(performance.now() - startedMs < UNTIL_MS_MAX, 'it did not come true in time');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
