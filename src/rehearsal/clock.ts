import type { Clock } from '../stdx/clock.ts';
import type { TurnedTime } from './turns.ts';

/**
 * A clock that can be put forward, and continues from there at its usual pace. Both readings move: turning `unix` alone
 * would look like a stepped system clock, which moves the windows.
 */
export class TurnedClock {
  /** The clock underneath, which is never turned. */
  readonly machine: Clock;
  #turnedBy: number;

  constructor(machine: Clock, turnedBy = 0) {
    this.machine = machine;
    this.#turnedBy = turnedBy;
  }

  /** The time in Unix seconds, and by how many seconds it is ahead of the machine's. */
  get time(): TurnedTime {
    return { now: this.now().unix, turnedBy: this.#turnedBy };
  }

  /** Reads the turned time. */
  readonly now: Clock = () => {
    const { unix, steady } = this.machine();
    return { unix: unix + this.#turnedBy, steady: steady + this.#turnedBy };
  };

  /** The turned time for a machine's time, both in milliseconds. */
  turnedMs(machineMs: number): number {
    return machineMs + this.#turnedBy * 1_000;
  }

  /** Puts the time forward, by so many seconds in all; fewer than before change nothing. */
  turn(seconds: number): void {
    this.#turnedBy = Math.max(this.#turnedBy, seconds);
  }
}
