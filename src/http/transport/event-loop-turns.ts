/** Requests and reads that all connections together may have in one turn of the event loop. */
const GRANTS_PER_TURN = 16;
/** Time for them: a few large pages take as long as many refusals. */
const TURN_MS = 2;

/**
 * Shares the event loop among connections. Pipelined requests arrive by the hundred in one packet; served in a row,
 * they would keep every other caller waiting. Instead connections take turns, first come, first served. Each grant has
 * a separate callback of the event loop, so that what it does in microtasks counts as its time.
 */
export class Turns {
  readonly #queue = new Set<() => void>();
  /** True if the callbacks of the turn to come are asked for. */
  #isScheduled = false;
  #untilMs = 0;
  #isGranted = false;

  /** True to go on now. If not, `resume` is called, once, in a turn to come, to ask again. */
  take(resume: () => void): boolean {
    if (this.#isGranted) {
      this.#isGranted = false;
      return true;
    }
    this.#queue.add(resume);
    this.#schedule();
    return false;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(this.#begin);
    for (let more = GRANTS_PER_TURN - 1; more > 0; more -= 1) setImmediate(this.#grant);
  }

  /** The first callback of a turn. Callbacks asked for from now on run in the next. */
  readonly #begin = (): void => {
    this.#isScheduled = false;
    this.#untilMs = performance.now() + TURN_MS;
    this.#grant();
  };

  readonly #grant = (): void => {
    const [resume] = this.#queue;
    if (!resume) return;
    if (performance.now() < this.#untilMs) {
      this.#queue.delete(resume);
      this.#isGranted = true;
      resume();
      this.#isGranted = false;
    }
    if (this.#queue.size > 0) this.#schedule();
  };
}
