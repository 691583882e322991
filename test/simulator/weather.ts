import type { Dice } from './dice.ts';
import type { VirtualTime } from './virtual-time.ts';

/**
 * What can be wrong on the way to a server. `slow`: every answer takes long. `lossy`: connections break before or after
 * the server did what it was asked. `silent`: nothing is answered. `down`: nothing can be reached.
 */
export type Fault = 'slow' | 'lossy' | 'silent' | 'down';

const FAIR_MS_MAX = 2;
/** How often something takes any time at all while nothing is wrong, and how often some time more. */
const FAIR_WAITS = 0.3;
const HICCUPS = 0.04;
/** Of the longest time that something takes while a way is slow. */
const HICCUP_SHARE = 0.2;
const LOSSES = 0.2;
/** The longest that something which waited during a fault takes after it: an answer's deadline, then a lock's. */
const AFTERMATH_MS = 6_000;

/** The way from one process to one server: how long things take on it, and what is lost. */
export class Weather {
  readonly #time: VirtualTime;
  readonly #dice: Dice;
  readonly #slowMsMax: number;
  #fault: Fault | undefined;
  #faultEndsMs = 0;

  constructor(time: VirtualTime, dice: Dice, slowMsMax: number) {
    this.#time = time;
    this.#dice = dice;
    this.#slowMsMax = slowMsMax;
  }

  get fault(): Fault | undefined {
    return this.#time.nowMs < this.#faultEndsMs ? this.#fault : undefined;
  }

  /** The last moment at which something was wrong, with what was on its way then. */
  get roughUntilMs(): number {
    if (this.#fault === undefined) return 0;
    return Math.min(this.#faultEndsMs + AFTERMATH_MS, this.#time.nowMs);
  }

  start(fault: Fault, ms: number): void {
    this.#fault = fault;
    this.#faultEndsMs = this.#time.nowMs + ms;
  }

  clear(): void {
    this.#faultEndsMs = Math.min(this.#faultEndsMs, this.#time.nowMs);
  }

  /** How long the next leg of the way takes, in milliseconds. */
  legMs(): number {
    if (this.fault === 'slow') return this.#dice.between(0, this.#slowMsMax);
    if (this.#dice.chance(HICCUPS)) return this.#dice.between(1, this.#slowMsMax * HICCUP_SHARE);
    return this.#dice.chance(FAIR_WAITS) ? this.#dice.between(1, FAIR_MS_MAX) : 0;
  }

  /** Whether what is on the way now is lost. */
  loses(): boolean {
    return this.fault === 'lossy' && this.#dice.chance(LOSSES);
  }
}
