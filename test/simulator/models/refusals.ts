/** Counts the refusals of one key at one process, by the published rule of bans. */
export class RefusalCount {
  #opened = Number.NEGATIVE_INFINITY;
  #count = 0;

  /**
   * A refusal over a window, at a second of the counter. Those in the second of the first refusal and in the next one
   * do not count. Returns how many count by now.
   */
  add(now: number): number {
    if (now >= this.#opened + 60) {
      this.#opened = now;
      this.#count = 0;
    } else if (now >= this.#opened + 2) this.#count += 1;
    return this.#count;
  }

  reset(): void {
    this.#opened = Number.NEGATIVE_INFINITY;
    this.#count = 0;
  }
}
