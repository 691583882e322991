const WINDOW_SECONDS = 60;
const IN_FLIGHT_SECONDS = 2;
const STATES_MAX = 1_000;
/** How far two readings of the counter's clock may be apart. */
const READINGS_APART_SECONDS = 1;

interface State {
  readonly now: number;
  readonly opened: number;
  /** How many count by now. */
  readonly count: number;
  /** Whether it is known when the window opened: not if it may be one that was begun anew. */
  readonly isKnown: boolean;
}

const LONG_AGO = Number.NEGATIVE_INFINITY;
const NONE: State = { now: LONG_AGO, opened: LONG_AGO, count: 0, isKnown: true };

/** Counts the refusals of one key at one process, by the published rule of bans. */
export class RefusalCount {
  /** After each refusal, by when it was told. */
  #states: State[] = [];

  /**
   * A refusal over a window, at a second of the counter. Those in the second of the first refusal and in the next one
   * do not count. `mayForget`: those of before may be forgotten, because a ban was lifted.
   */
  add(now: number, { mayForget }: { mayForget: boolean }): State {
    // One that led to a ban which was over by then is told later than those that were decided after it.
    const at = this.#states.findLastIndex((state) => state.now <= now) + 1;
    const state = after(this.#states[at - 1], now);
    const added = { ...state, isKnown: state.isKnown && !mayForget };
    this.#insert(at, added);
    return added;
  }

  /**
   * The refusal that led to a ban, which is told later than refusals that were decided after it. The ban is dated by
   * when the request came, and a process that was suspended decides on it as late as `told`.
   */
  addBan(now: number, { told }: { told: number }): State {
    // It is dated by the clock of the process, refusals by that of the counter.
    const [first, end] = [now - READINGS_APART_SECONDS, Math.max(now, told) + READINGS_APART_SECONDS];
    const late = this.#states.filter((state) => state.now > first && state.now < end);
    const before = (reading: number) => this.#states.findLast((state) => state.now <= reading);
    const readings = [first, ...late.map((state) => state.now), end];
    const states = readings.map((reading) => after(before(reading), reading));
    if (before(now) === this.#states.at(-1)) this.#insert(this.#states.length, { ...NONE, now });
    return states.reduce((one, other) => (one.count < other.count ? other : one));
  }

  /** At most how many there were from a second on. */
  since(now: number): number {
    return this.#states.filter((state) => state.now >= now).length;
  }

  #insert(at: number, state: State): void {
    this.#states.splice(at, 0, state);
    if (this.#states.length > STATES_MAX) this.#states = this.#states.slice(STATES_MAX / 2);
  }
}

function after(last = NONE, now: number): State {
  const { opened, count } = last;
  // Whenever the last window opened, it is over that long after the last refusal in it.
  const isKnown = last.isKnown || now >= last.now + WINDOW_SECONDS;
  if (now >= opened + WINDOW_SECONDS) return { now, opened: now, count: 0, isKnown };
  return { now, opened, count: now >= opened + IN_FLIGHT_SECONDS ? count + 1 : count, isKnown };
}
