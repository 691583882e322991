import type { Moment, Time } from '../stdx/time.ts';
import type { ShownTime } from './clock-turns.ts';

/**
 * Time that can be put forward, and continues from there at its usual pace. All readings move: turning `unix` alone
 * would look like a stepped system clock, which moves the windows. Waits take as long as ever.
 */
export class TurnedTime implements Time {
  readonly machine: Time;
  readonly setTimeout: Time['setTimeout'];
  readonly setInterval: Time['setInterval'];
  #turnedBy: number;

  constructor(machine: Time, turnedBy = 0) {
    this.machine = machine;
    this.setTimeout = machine.setTimeout;
    this.setInterval = machine.setInterval;
    this.#turnedBy = turnedBy;
  }

  now(): Moment {
    const { unix, steady } = this.machine.now();
    return { unix: unix + this.#turnedBy, steady: steady + this.#turnedBy };
  }

  steadyMs(): number {
    return this.machine.steadyMs() + this.#turnedBy * 1_000;
  }

  unixMs(): number {
    return this.machine.unixMs() + this.#turnedBy * 1_000;
  }

  /** By how many seconds it is ahead of the machine's. */
  get turnedBy(): number {
    return this.#turnedBy;
  }

  /** The time as commands, API and console show it. */
  get shown(): ShownTime {
    return { now: this.now().unix, turnedBy: this.#turnedBy };
  }

  /** Puts the time forward, by `seconds` in all; fewer than before change nothing. */
  turn(seconds: number): void {
    this.#turnedBy = Math.max(this.#turnedBy, seconds);
  }
}
