import type { Moment, Time } from '../../stdx/time.ts';

/** Minimum skew between two readings of the server's clock that counts as a clock step. */
const STEP_MS = 1_000;
/** Far above the deadline of an answer: one that took longer was read by a process that had been suspended. */
const SUSPENDED_MS = 5_000;

/**
 * The clock that counts in Redis: that of the server, in a cluster that of the key's master, so that all instances
 * agree on each window. A server has one clock, so its steady seconds are Unix seconds. Until its first reply the clock
 * of this process stands in for it.
 */
export class ServerClock {
  readonly #time: Time;
  readonly #onStep: () => void;
  /** Bounds of the skew between the server's clock and this process's, in milliseconds. */
  #skew: { readonly least: number; readonly most: number } | undefined;

  /** `onStep` is called when the server's clock was stepped, so that moments read from it earlier are invalid. */
  constructor(time: Time, onStep: () => void) {
    this.#time = time;
    this.#onStep = onStep;
  }

  /**
   * Bounds of the server's current time. A wait computed from `earliest` is never too short; what has not ended by
   * `latest` has certainly not ended.
   */
  now(): { readonly earliest: Moment; readonly latest: Moment } {
    if (!this.#skew) {
      const now = this.#time.now();
      return { earliest: now, latest: now };
    }
    const nowMs = this.#time.steadyMs();
    return { earliest: toMoment(nowMs + this.#skew.least), latest: toMoment(nowMs + this.#skew.most) };
  }

  /** Reads a reply: the server read its clock at some moment between sending and receiving. */
  read(serverMs: number, sentMs: number, receivedMs: number): void {
    const before = this.#skew;
    // Such a reading says little; the last one still holds.
    if (before && receivedMs - sentMs > SUSPENDED_MS) return;
    const skew = { least: serverMs - receivedMs, most: serverMs - sentMs };
    this.#skew = skew;
    if (before && (skew.least > before.most + STEP_MS || skew.most < before.least - STEP_MS)) this.#onStep();
  }
}

function toMoment(ms: number): Moment {
  const seconds = Math.floor(ms / 1000);
  return { unix: seconds, steady: seconds };
}
