import type { Verdict } from '../report/write.ts';
import { type Exchange, Skipped } from './exchange.ts';
import type { Trial } from './trial.ts';

export interface Rule {
  readonly id: string;
  /** The request that is sent, and the answer that keeps the rule. */
  readonly expected: string;
  /** `full`: it can be judged with --full only. */
  readonly needs?: 'full';
  /** Judged after the others: `waits` for a window to end, or `looks-back` at all answers. */
  readonly place?: 'waits' | 'looks-back';
  /** Returns if the rule is kept. Throws `Broken` or `Skipped` if it is not, or cannot be judged here. */
  judge(trial: Trial): Promise<void> | void;
}

export type RuleTable = Readonly<Record<string, Omit<Rule, 'id'>>>;

/** A broken rule, with the exchanges that show it. */
export class Broken extends Error {
  readonly exchanges: readonly Exchange[];

  constructor(seen: string, exchanges: readonly Exchange[]) {
    super(seen);
    this.exchanges = exchanges;
  }
}

/** Throws `Broken` unless the condition holds. */
export function expect(holds: boolean, seen: string, ...exchanges: readonly Exchange[]): asserts holds {
  if (!holds) throw new Broken(seen, exchanges);
}

/** Judges the result of a probe. */
export function given<T>(
  probe: (trial: Trial) => Promise<T>,
  judge: (found: T, trial: Trial) => Promise<void> | void,
): Rule['judge'] {
  return async (trial) => judge(await trial.once(probe), trial);
}

/** Throws `Skipped` unless the value is known. */
export function known<T>(value: T | undefined, reason: string): T {
  if (value === undefined) throw new Skipped(reason);
  return value;
}

/** The verdict on a limit, as `--json` prints it. */
export interface Report extends Readonly<Record<Verdict['verdict'], number>> {
  readonly url: string;
  /** The headers that tell of the limit, in words. */
  readonly family: string;
  /** The requests that it admits; null if nothing tells. */
  readonly limit: number | null;
  readonly durationMs: number;
  /** Keys are masked. */
  readonly rules: readonly Verdict[];
}
