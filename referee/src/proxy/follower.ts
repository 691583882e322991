import { kindOf, TOLERANCE_MS } from '../client/note.ts';
import { type Aim, parseScript, type Step, type StepName } from '../client/script.ts';
import type { Clock } from './clock.ts';

/** Steps that refuse every request of their scope until their time is over. */
const HOLDING: ReadonlySet<StepName> = new Set(['limit', 'limit-date', 'limit-reset', 'limit-ms', 'quota', 'ban']);
const SECOND_MS = 1_000;

/** The requests that share a limit: those with the same credentials, those of the same route, or all. */
export type Scope = 'key' | 'route' | 'all';

/** A request, as far as a script asks. */
export interface Arriving {
  readonly method: string;
  readonly path: string;
  /** The path below the upstream's base address, by which a step may be aimed too. */
  readonly ownPath: string;
  readonly operation?: string | undefined;
  readonly credentials: string;
}

/** The step that applies to a request. */
export interface Turn {
  readonly step: Step;
  readonly place: number;
  /** True if the request spends the step; one in force applies to later requests too. */
  readonly isSpent: boolean;
  /** True if the request came while a limit was in force. */
  readonly isEarly: boolean;
  /** Until when the limit is in force, by the steady clock; undefined for other steps. */
  readonly untilMs: number | undefined;
}

interface Held {
  readonly turn: Turn;
  readonly scope: string;
}

/** Follows a script, step by step. */
export class Follower {
  readonly script: string;
  readonly steps: readonly Step[];
  readonly #clock: Clock;
  readonly #scope: Scope;
  readonly #spent: boolean[];
  readonly #aims: ReadonlySet<Aim>;
  /** How many requests each aim has matched. */
  readonly #matched = new Map<Aim, number>();
  #held: Held[] = [];
  #revoked: Turn | undefined;

  /** Throws `Mistake` for a wrong script. */
  constructor(script: string, { clock, scope = 'key' }: { clock: Clock; scope?: Scope }) {
    this.script = script;
    this.steps = parseScript(script);
    this.#spent = this.steps.map(() => false);
    this.#aims = new Set(this.steps.flatMap(({ aim }) => aim ?? []));
    this.#clock = clock;
    this.#scope = scope;
  }

  /** True if a step waits for an operation, which may stand in the body of a request. */
  get isByOperation(): boolean {
    return [...this.#aims].some(({ operation }) => operation !== undefined);
  }

  /** The number of steps that were spent. */
  get reached(): number {
    return this.#spent.filter(Boolean).length;
  }

  /** The step for a request, which it spends; undefined when the script is over. */
  take(request: Arriving): Turn | undefined {
    const nowMs = this.#clock.steadyMs();
    this.#held = this.#held.filter(({ turn }) => (turn.untilMs ?? 0) - nowMs > TOLERANCE_MS);
    for (const aim of this.#aims) {
      if (matches(aim, request)) this.#matched.set(aim, (this.#matched.get(aim) ?? 0) + 1);
    }
    const scope = this.#scopeOf(request);
    const held = this.#held.find((each) => each.scope === scope);
    if (held) return { ...held.turn, isSpent: false, isEarly: true };
    if (this.#revoked) return { ...this.#revoked, isSpent: false };
    const place = this.#placeFor(request);
    const step = this.steps[place];
    if (!step) return undefined;
    this.#spent[place] = true;
    const untilMs = HOLDING.has(step.name) ? nowMs + this.#holdMs(step) : undefined;
    const turn = { step, place, isSpent: true, isEarly: false, untilMs };
    if (untilMs !== undefined) this.#held.push({ turn, scope });
    if (step.name === 'revoked') this.#revoked = turn;
    return turn;
  }

  /** Gives a step back that could not be played. */
  giveBack({ place, isSpent }: Turn): void {
    if (isSpent) this.#spent[place] = false;
  }

  /** The first aimed step that waits for such a request, else the next one that is aimed at none. */
  #placeFor(request: Arriving): number {
    const isOpen = (_: Step, place: number) => !this.#spent[place];
    const aimed = this.steps.findIndex(
      (step, place) =>
        isOpen(step, place) &&
        step.aim &&
        matches(step.aim, request) &&
        (this.#matched.get(step.aim) ?? 0) >= step.aim.nth,
    );
    return aimed >= 0 ? aimed : this.steps.findIndex((step, place) => isOpen(step, place) && !step.aim);
  }

  /** A date, and a Reset, is over with the first whole second that is not before its time. */
  #holdMs({ name, value }: Step): number {
    if (name === 'limit-ms') return value;
    const overMs = this.#clock.unixMs() % SECOND_MS;
    const isOfClock = name === 'limit-date' || name === 'limit-reset';
    return value * SECOND_MS + (isOfClock && overMs > 0 ? SECOND_MS - overMs : 0);
  }

  #scopeOf({ method, path, credentials }: Arriving): string {
    if (this.#scope === 'all') return '';
    return this.#scope === 'key' ? credentials : kindOf(method, path);
  }
}

/** True if a step may be met by a request, whichever it is of its kind. */
function matches({ method, path, operation }: Aim, request: Arriving): boolean {
  if (method !== request.method || (operation ?? request.operation) !== request.operation) return false;
  return path === undefined || [request.path, request.ownPath].some((each) => isLike(path, each));
}

function isLike(pattern: string, path: string): boolean {
  const wanted = pattern.split('/');
  const segments = path.split('/');
  return wanted.length === segments.length && wanted.every((each, place) => each === '*' || each === segments[place]);
}
