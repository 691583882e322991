import { TOLERANCE_MS } from '../verdict/note.ts';
import { parseScript, type Step, type StepName } from './script.ts';

/** Steps that are in force until their seconds are over. */
const HOLDING: ReadonlySet<StepName> = new Set(['limit', 'limit-date', 'quota', 'ban']);

/** The step that a request meets. */
export interface Met {
  readonly step: Step;
  /** The place of the step in the script. */
  readonly place: number;
  /** True if it spends the step; one in force meets later requests too. */
  readonly isSpent: boolean;
  readonly isEarly: boolean;
}

/** The progress of a script. Moments are milliseconds of the turned clock. */
export interface Position {
  /** The number of steps that were spent. */
  readonly reached: number;
  /** Until when a `limit`, `quota` or `ban` is in force; null without one. */
  readonly holdsUntilMs: number | null;
}

/** A limit, quota or ban in force. */
export interface Held {
  readonly step: Step;
  /** The time that is left of it, in milliseconds and in whole seconds, rounded up. */
  readonly ms: number;
  readonly seconds: number;
}

/** A script that is being followed, step by step. */
export class Progress implements Position {
  readonly #steps: readonly Step[];
  #reached: number;
  #holdsUntilMs: number | null;

  /** Throws `validation_failed` for a wrong script. */
  constructor(script: string, { reached, holdsUntilMs }: Position = { reached: 0, holdsUntilMs: null }) {
    this.#steps = parseScript(script);
    this.#reached = reached;
    this.#holdsUntilMs = holdsUntilMs;
  }

  get reached(): number {
    return this.#reached;
  }

  get holdsUntilMs(): number | null {
    return this.#holdsUntilMs;
  }

  /** The step that a request would meet; undefined when the script is over. */
  look(nowMs: number): Met | undefined {
    const place = this.#reached - 1;
    const last = this.#steps[place];
    if (last && this.#heldMs(nowMs) > 0) return { step: last, place, isSpent: false, isEarly: true };
    if (last?.name === 'revoked') return { step: last, place, isSpent: false, isEarly: false };
    const step = this.#steps[this.#reached];
    return step && { step, place: this.#reached, isSpent: true, isEarly: false };
  }

  /**
   * Spends the next step, unless an earlier one is in force. A `limit-date` ends with the first whole second of the
   * wall clock, of which `secondMs` are over.
   */
  take(nowMs: number, secondMs: number): Met | undefined {
    const met = this.look(nowMs);
    if (!met?.isSpent) return met;
    this.#reached += 1;
    const { name, seconds } = met.step;
    const restMs = name === 'limit-date' && secondMs > 0 ? 1_000 - secondMs : 0;
    this.#holdsUntilMs = HOLDING.has(name) ? nowMs + seconds * 1_000 + restMs : null;
    return met;
  }

  /** Gives a step back that could not be played, unless a later one was spent meanwhile. */
  giveBack({ place, isSpent }: Met): void {
    if (isSpent && this.#reached === place + 1) this.#reached = place;
  }

  /** The limit, quota or ban in force. */
  held(nowMs: number): Held | undefined {
    const step = this.#steps[this.#reached - 1];
    const ms = this.#heldMs(nowMs);
    return step && ms > 0 ? { step, ms, seconds: Math.ceil(ms / 1_000) } : undefined;
  }

  /** The time that the last step is still in force; 0 once what is left is tolerated. */
  #heldMs(nowMs: number): number {
    const ms = (this.#holdsUntilMs ?? 0) - nowMs;
    return ms > TOLERANCE_MS ? ms : 0;
  }
}
