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
  /** Its readings, for other threads: `clockOf` reads them there. */
  readonly readings: SharedArrayBuffer;
  /** What deadlines are measured with, if not by the machine. */
  readonly timers?: Timers;
}

/** Starts at 2026-01-01T12:00:00Z unless told otherwise. */
export function manualClock(unix = Date.UTC(2026, 0, 1, 12) / 1000): ManualClock {
  const readings = new SharedArrayBuffer(2 * Float64Array.BYTES_PER_ELEMENT);
  const [moments, now] = [new Float64Array(readings), clockOf(readings)];
  const turn = (steady: number, stepped: number) => moments.set([now().unix + steady + stepped, now().steady + steady]);
  turn(unix, 0);
  return {
    now,
    advance: (seconds) => turn(seconds, 0),
    step: (seconds) => turn(0, seconds),
    readings,
  };
}

/** The clock that shows these readings. */
export function clockOf(readings: SharedArrayBuffer): Clock {
  const moments = new Float64Array(readings);
  return () => ({ unix: moments[0] ?? 0, steady: moments[1] ?? 0 });
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
