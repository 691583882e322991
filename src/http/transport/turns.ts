/** Pipelined requests that all connections together may have served in one turn of the event loop. */
const REQUESTS_PER_TURN = 16;

/**
 * Shares the event loop among connections. Pipelined requests arrive by the hundred in one packet; served in a row,
 * they would keep every other caller waiting. Beyond a budget, connections take turns, first come, first served.
 */
export class Turns {
  #left = REQUESTS_PER_TURN;
  #isScheduled = false;
  readonly #queue = new Set<() => void>();

  /** Whether one more may be served now. If not, `resume` is called, once, in a turn to come, to ask again. */
  take(resume: () => void): boolean {
    if (this.#left > 0) {
      this.#left -= 1;
      return true;
    }
    this.#queue.add(resume);
    this.#schedule();
    return false;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#begin());
  }

  #begin(): void {
    this.#isScheduled = false;
    this.#left = REQUESTS_PER_TURN;
    for (const resume of this.#queue) {
      if (this.#left === 0) break;
      this.#queue.delete(resume);
      resume();
    }
    if (this.#queue.size > 0) this.#schedule();
  }
}
