import assert from 'node:assert/strict';
import type { Clock } from '../../src/stdx/clock.ts';
import { SYSTEM_TIMERS, type Timers } from '../../src/stdx/timers.ts';

/** Far above any promise: it ends a test that hangs, and times nothing. */
const UNTIL_MS_MAX = 60_000;

/** A clock that moves only when a test moves it. */
export interface ManualClock {
  readonly now: Clock;
  /** Time passes on both clocks. */
  advance(seconds: number): void;
  /** Steps the system clock: Unix time jumps, durations do not. */
  step(seconds: number): void;
  /** What deadlines are measured with, if not by the machine. */
  readonly timers?: Timers;
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

/** A manual clock under which no deadline is missed, however busy the machine is. */
export function patientClock(): ManualClock {
  return { ...manualClock(), timers: { ...SYSTEM_TIMERS, now: () => 0 } };
}

/** Polls until the condition holds, however busy the machine is. Fails after a minute with what was awaited. */
export async function untilTrue(condition: () => boolean | Promise<boolean>, awaited = 'it'): Promise<void> {
  const startedMs = performance.now();
  while (!(await condition())) {
    assert.ok(performance.now() - startedMs < UNTIL_MS_MAX, `${awaited} did not come true`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
