/**
 * Remembers until when everything that a process does at an interval was done: the latest moment after which nothing
 * was wrong for long enough.
 */
export class SafePoint {
  readonly #neededMs: number;
  #ms: number;

  constructor(startMs: number, neededMs: number) {
    this.#ms = startMs;
    this.#neededMs = neededMs;
  }

  get ms(): number {
    return this.#ms;
  }

  /** Call often. `roughUntilMs` is when something was wrong last. */
  update(nowMs: number, roughUntilMs: number): void {
    if (nowMs - roughUntilMs >= this.#neededMs) this.#ms = nowMs - this.#neededMs;
  }
}
