import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { systemTime, type Time } from '../../src/stdx/time.ts';

/** Far above any promise: it ends a test that hangs, and times nothing. */
const UNTIL_MS_MAX = 30_000;

/** Time whose seconds pass only when a test says so; milliseconds and waits are the machine's. */
export interface ManualClock extends Time {
  /** Time passes on both readings. */
  advance(seconds: number): void;
  /** Steps the system clock: Unix time jumps, durations do not. */
  step(seconds: number): void;
}

/** Starts at 2026-01-01T12:00:00Z unless told otherwise. */
export function manualClock(unix = Date.UTC(2026, 0, 1, 12) / 1000): ManualClock {
  let steady = unix;
  let stepped = 0;
  return {
    ...systemTime(),
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
  return { ...manualClock(), steadyMs: () => 0 };
}

/**
 * Polls until the condition holds, however busy the machine is. Fails after thirty seconds with what was awaited: its
 * name, or the text of the condition.
 */
export async function untilTrue(
  condition: () => boolean | Promise<boolean>,
  awaited = condition.toString(),
): Promise<void> {
  assert.ok(await polled(condition, Boolean), `this did not come true within 30 s: ${awaited}`);
}

/** Polls until a value is the expected one. Fails after thirty seconds with the last value beside it. */
export async function untilEqual<T>(value: () => T | Promise<T>, expected: T): Promise<void> {
  const last = await polled(value, (each) => isDeepStrictEqual(each, expected));
  assert.deepEqual(last, expected, `within 30 s it was not what it should be: ${value.toString()}`);
}

/** The first value that will do, or the last one when the time is over; asked ever more seldom. */
async function polled<T>(value: () => T | Promise<T>, isEnough: (value: T) => boolean): Promise<T> {
  const startedMs = performance.now();
  for (;;) {
    const last = await value();
    const passedMs = performance.now() - startedMs;
    if (isEnough(last) || passedMs >= UNTIL_MS_MAX) return last;
    await new Promise((resolve) => setTimeout(resolve, Math.min(10 + passedMs / 20, 50)));
  }
}
