import { type Clock, type Moment, systemClock } from '../stdx/clock.ts';
import { SYSTEM_TIMERS } from '../stdx/timers.ts';

/** The tightest of so many readings is right to a microsecond, though the thread may be interrupted during one. */
const READINGS = 10;
const NANOSECONDS = 1e6;

/** What threads share of the clock. */
export interface ClockMemory {
  /** The system clock, in Unix milliseconds, when the monotonic clock of the machine showed 0. */
  readonly startMs: number;
  /** By how many seconds the system clock was stepped since. */
  readonly stepped: SharedArrayBuffer;
}

/** The machine's clock as the main thread reads it for all: their moments begin and are stepped together. */
export interface SharedClock {
  readonly now: Clock;
  readonly memory: ClockMemory;
}

/** Creates the clock of the main thread. Its reading is what tells the other threads of a step. */
export function shareClock(): SharedClock {
  const now = monotonicClock();
  const startMs = Date.now() - now();
  const stepped = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const steps = new Int32Array(stepped);
  const clock = systemClock({ ...SYSTEM_TIMERS, now }, Date.now, startMs);
  return {
    now: () => {
      const moment = clock();
      const seconds = moment.unix - moment.steady;
      if (steps[0] !== seconds) Atomics.store(steps, 0, seconds);
      return moment;
    },
    memory: { startMs, stepped },
  };
}

/** The same clock in another thread. */
export function threadClock({ startMs, stepped }: ClockMemory): Clock {
  const now = monotonicClock();
  const steps = new Int32Array(stepped);
  let latest: Moment = { unix: 0, steady: 0 };
  return () => {
    const steady = Math.floor((startMs + now()) / 1000);
    if (steady !== latest.steady) latest = { unix: steady + Atomics.load(steps, 0), steady };
    return latest;
  };
}

/** Creates the monotonic clock of the machine, in milliseconds: `performance.now` starts at 0 in each thread. */
export function monotonicClock(): () => number {
  let offsetMs = 0;
  let tightestMs = Number.POSITIVE_INFINITY;
  for (let reading = 0; reading < READINGS; reading += 1) {
    const beforeMs = performance.now();
    const machineMs = Number(process.hrtime.bigint()) / NANOSECONDS;
    const afterMs = performance.now();
    if (afterMs - beforeMs >= tightestMs) continue;
    tightestMs = afterMs - beforeMs;
    offsetMs = machineMs - (beforeMs + afterMs) / 2;
  }
  return () => performance.now() + offsetMs;
}
