const WINDOW_SECONDS = 60;
const IN_FLIGHT_SECONDS = 2;
const STATES_MAX = 1_000;

interface State {
  readonly now: number;
  readonly opened: number;
  readonly count: number;
}

const NONE: State = { now: Number.NEGATIVE_INFINITY, opened: Number.NEGATIVE_INFINITY, count: 0 };

/** Counts the refusals of one key at one process, by the published rule of bans. */
export class RefusalCount {
  /** After each refusal, by when it was told. */
  #states: State[] = [];

  /**
   * A refusal over a window, at a second of the counter. Those in the second of the first refusal and in the next one
   * do not count. Returns how many count by now.
   */
  add(now: number): number {
    const state = after(this.#states.at(-1), now);
    this.#push(state);
    return state.count;
  }

  /** The refusal that led to a ban, which is told later than refusals that were decided after it. */
  addBan(now: number): number {
    const last = this.#states.findLast((state) => state.now <= now);
    if (last === this.#states.at(-1)) this.#push({ ...NONE, now });
    return after(last, now).count;
  }

  /** At most how many there were from a second on. */
  since(now: number): number {
    return this.#states.filter((state) => state.now >= now).length;
  }

  #push(state: State): void {
    this.#states.push(state);
    if (this.#states.length > STATES_MAX) this.#states = this.#states.slice(STATES_MAX / 2);
  }
}

function after({ opened, count } = NONE, now: number): State {
  if (now >= opened + WINDOW_SECONDS) return { now, opened: now, count: 0 };
  return { now, opened, count: now >= opened + IN_FLIGHT_SECONDS ? count + 1 : count };
}
