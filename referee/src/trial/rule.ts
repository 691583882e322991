import { type Exchange, type Shown, Skipped, type Wanted } from './exchange.ts';
import type { Trial } from './trial.ts';

/** `published`: what the interface says, and nothing more. `ours`: also this project's decisions where it is silent. */
export type Level = 'published' | 'ours';

export const LEVELS: readonly Level[] = ['published', 'ours'];

export interface Clause {
  readonly level: Level;
  /** A section of the interface, of an RFC or of this project's pages. */
  readonly source: string;
  readonly sentence: string;
}

/** A sentence of the published interface. */
export function published(source: string, sentence: string): Clause {
  return { level: 'published', source, sentence };
}

/** A decision of this project, or of a standard that it follows, where the interface is silent. */
export function ours(source: string, sentence: string): Clause {
  return { level: 'ours', source, sentence };
}

export interface Rule extends Clause {
  readonly id: string;
  /** The request that is sent, and the answer that keeps the rule. */
  readonly expected: string;
  /** The condition without which it cannot be judged. */
  readonly needs?: 'limited-key' | 'other-environment-key' | 'plan' | 'key-plan' | 'full';
  /** Judged after the others: `waits` for a window to end, or `looks-back` at all answers. */
  readonly place?: 'waits' | 'looks-back';
  /** Returns if the rule is kept. Throws `Broken` or `Skipped` if it is not, or cannot be judged here. */
  judge(trial: Trial): Promise<void> | void;
}

export type RuleTable = Readonly<Record<string, Omit<Rule, 'id'>>>;

/** The rules of a table, with what they need and their place unless they say otherwise. */
export function usually(usual: Pick<Rule, 'needs' | 'place'>, table: RuleTable): RuleTable {
  return Object.fromEntries(Object.entries(table).map(([id, rule]) => [id, { ...usual, ...rule }]));
}

/** A probe, or a request of the rule itself. */
export type Asked = ((trial: Trial) => Promise<Exchange | readonly Exchange[]>) | Wanted;

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

/** Throws `Broken` unless the answer has this status. */
export function expectStatus(exchange: Exchange, ...wanted: readonly number[]): void {
  const { status } = exchange;
  expect(wanted.includes(status), `the status is ${status}, not ${wanted.join(' or ')}`, exchange);
}

/** Judges the result of a probe. */
export function given<T>(
  probe: (trial: Trial) => Promise<T>,
  judge: (found: T, trial: Trial) => Promise<void> | void,
): Rule['judge'] {
  return async (trial) => judge(await trial.once(probe), trial);
}

/** Throws `Broken` unless the answer is a success: that it is 201, and not another one, is a rule of its own. */
export function expectSuccess(exchange: Exchange): void {
  expect(exchange.status < 300, `the status is ${exchange.status}`, exchange);
}

/** Judges the answers to probes, and to requests of the rule itself, before the next one is sent: it may create. */
export function each(asked: readonly Asked[], judge: (exchange: Exchange) => void): Rule['judge'] {
  return async (trial) => {
    for (const one of asked) (await answersTo(trial, [one])).forEach(judge);
  };
}

/** Judges the status of the answers to probes, and to requests of the rule itself. */
export function statuses(status: number, ...asked: readonly Asked[]): Rule['judge'] {
  return each(asked, (exchange) => expectStatus(exchange, status));
}

/** The answers to probes and requests, which are sent in turn. */
export async function answersTo(trial: Trial, asked: readonly Asked[]): Promise<Exchange[]> {
  const exchanges: Exchange[] = [];
  for (const ask of asked) {
    exchanges.push(...[typeof ask === 'function' ? await trial.once(ask) : await trial.send(ask)].flat());
  }
  return exchanges;
}

/** Throws `Skipped` unless the value is known. */
export function known<T>(value: T | undefined, reason: string): T {
  if (value === undefined) throw new Skipped(reason);
  return value;
}

/** A rule as it was judged. Keys are masked. */
export interface Verdict extends Clause {
  readonly id: string;
  readonly verdict: 'passed' | 'failed' | 'skipped';
  readonly expected: string;
  readonly seen: string | null;
  /** Why it was skipped. */
  readonly reason: string | null;
  readonly exchanges: readonly Shown[];
}

export interface Report extends Readonly<Record<Verdict['verdict'], number>> {
  readonly url: string;
  readonly level: Level;
  /** The headers that tell of a limit, in words, and the requests that it admits; both of a judged limit alone. */
  readonly family?: string;
  readonly limit?: number | null;
  readonly durationMs: number;
  readonly rules: readonly Verdict[];
}
