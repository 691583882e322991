import { type Note, TOLERANCE_MS } from '../client/note.ts';
import { parseScript, type Step, type StepName, stepText } from '../client/script.ts';
import type { Clock } from './clock.ts';

/** Steps that are in force until their seconds are over. */
const HOLDING: ReadonlySet<StepName> = new Set(['limit', 'limit-date', 'quota', 'ban']);

const SECOND_MS = 1_000;
/** The forms that are in use (RFC 9110, section 5.6.7); `Date.parse` takes `1.5` and `soon 5` too. */
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*, .* GMT$/;

export interface CurrentStep {
  readonly step: Step;
  readonly place: number;
  /** True if the request consumes the step; one in force applies to later requests too. */
  readonly isConsumed: boolean;
  readonly isEarly: boolean;
}

/** The progress of a script. Moments are milliseconds of the monotonic clock. */
export interface Position {
  readonly reached: number;
  /** Until when a `limit`, `quota` or `ban` is in force; null without one. */
  readonly holdsUntilMs: number | null;
}

/** A limit, quota or ban in force. */
export interface Held {
  readonly step: Step;
  /** The time that is left of it, in whole seconds, rounded up. */
  readonly seconds: number;
  /** The `Retry-After` that ends with it: a date for `limit-date`, else the seconds. */
  readonly retryAfter: string;
}

/** A script that is being followed, step by step. */
export class Progress {
  readonly script: string;
  readonly #time: Clock;
  readonly #steps: readonly Step[];
  #position: Position;

  /** Throws `Mistake` for a wrong script. */
  constructor(script: string, time: Clock, position: Position = { reached: 0, holdsUntilMs: null }) {
    this.script = script;
    this.#time = time;
    this.#steps = parseScript(script);
    this.#position = position;
  }

  get position(): Position {
    return this.#position;
  }

  /** The step that would apply to a request; undefined when the script is over. */
  look(): CurrentStep | undefined {
    const { reached } = this.#position;
    const place = reached - 1;
    const last = this.#steps[place];
    if (last && this.#heldMs > 0) return { step: last, place, isConsumed: false, isEarly: true };
    if (last?.name === 'revoked') return { step: last, place, isConsumed: false, isEarly: false };
    const step = this.#steps[reached];
    return step && { step, place: reached, isConsumed: true, isEarly: false };
  }

  /**
   * Consumes the next step, unless an earlier one is in force. A `limit-date` ends with the first whole second of the
   * wall clock.
   */
  take(): CurrentStep | undefined {
    const current = this.look();
    if (!current?.isConsumed) return current;
    const { name, seconds } = current.step;
    const overMs = this.#time.unixMs() % SECOND_MS;
    const restMs = name === 'limit-date' && overMs > 0 ? 1_000 - overMs : 0;
    const holdsUntilMs = HOLDING.has(name) ? this.#nowMs + seconds * 1_000 + restMs : null;
    this.#position = { reached: current.place + 1, holdsUntilMs };
    return current;
  }

  /** Gives a step back that could not be played, unless a later one was consumed meanwhile. */
  giveBack({ place, isConsumed }: CurrentStep): void {
    const { reached, holdsUntilMs } = this.#position;
    if (isConsumed && reached === place + 1) this.#position = { reached: place, holdsUntilMs };
  }

  /** The limit, quota or ban in force. */
  held(): Held | undefined {
    const step = this.#steps[this.#position.reached - 1];
    const ms = this.#heldMs;
    if (!step || ms === 0) return undefined;
    const seconds = Math.ceil(ms / 1_000);
    return { step, seconds, retryAfter: step.name === 'limit-date' ? dateIn(ms, this.#time) : `${seconds}` };
  }

  /** The time that the last step is still in force; 0 once what is left is tolerated. */
  get #heldMs(): number {
    const ms = (this.#position.holdsUntilMs ?? 0) - this.#nowMs;
    return ms > TOLERANCE_MS ? ms : 0;
  }

  get #nowMs(): number {
    return Math.round(this.#time.steadyMs());
  }
}

/** The note of the step that a request met. */
export function notedStep(current: CurrentStep | undefined): Pick<Note, 'step' | 'isEarly'> {
  return { step: current?.isConsumed ? stepText(current.step) : null, isEarly: current?.isEarly ?? false };
}

/** The IMF-fixdate (RFC 9110, section 5.6.7) of a whole second so far from now. */
function dateIn(ms: number, time: Clock): string {
  return new Date(Math.round((time.unixMs() + ms) / SECOND_MS) * SECOND_MS).toUTCString();
}

/**
 * The seconds until a `Retry-After` is over (RFC 9110, section 10.2.3), fractional for a date; null for none, or one
 * that is malformed.
 */
export function secondsOf(retryAfter: string | undefined, time: Clock): number | null {
  if (retryAfter === undefined) return null;
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter);
  const dateMs = HTTP_DATE.test(retryAfter) ? Date.parse(retryAfter) : Number.NaN;
  return Number.isNaN(dateMs) ? null : Math.max(0, (dateMs - time.unixMs()) / SECOND_MS);
}
