/** Pipelined requests that all connections together may have served in one turn of the event loop. */
const REQUESTS_PER_TURN = 16;
/** Time for them: a few large pages take as long as many refusals. */
const TURN_MS = 2;

/**
 * Shares the event loop among connections. Pipelined requests arrive by the hundred in one packet; served in a row,
 * they would keep every other caller waiting. Beyond a budget, connections take turns, first come, first served.
 */
export class Turns {
  #left = 0;
  #untilMs = 0;
  #isOpen = false;
  #hasRead = false;
  readonly #queue = new Set<() => void>();

  /** Whether one more may be served now. If not, `resume` is called, once, in a turn to come, to ask again. */
  take(resume: () => void): boolean {
    if (this.#isLeft()) {
      this.#left -= 1;
      return true;
    }
    this.#queue.add(resume);
    return false;
  }

  /**
   * Whether a paused connection may be read from again: one per turn, since Node parses a packet as a whole. If not,
   * `resume` is called as by `take`.
   */
  takeRead(resume: () => void): boolean {
    if (this.#isLeft() && !this.#hasRead) {
      this.#hasRead = true;
      return true;
    }
    this.#queue.add(resume);
    return false;
  }

  #isLeft(): boolean {
    // After turns in which no one asked, nothing has opened this one.
    if (!this.#isOpen) this.#open();
    return this.#left > 0 && performance.now() < this.#untilMs;
  }

  #open(): void {
    this.#isOpen = true;
    this.#left = REQUESTS_PER_TURN;
    this.#untilMs = performance.now() + TURN_MS;
    this.#hasRead = false;
    setImmediate(() => this.#close());
  }

  /** Ends the budget of a turn, and lets those that wait begin the next. */
  #close(): void {
    this.#isOpen = false;
    // Only those that wait now: each may ask again, and is then behind the others.
    for (const resume of [...this.#queue]) {
      if (!this.#isLeft()) break;
      this.#queue.delete(resume);
      resume();
    }
  }
}
