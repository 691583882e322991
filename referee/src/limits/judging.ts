import { printable, type Verdict } from '../report/write.ts';
import { type Answer, NoAnswer, type Sent, Skipped, shown } from './exchange.ts';
import { limitedOf } from './limited.ts';
import { Broken, type Rule } from './rule.ts';
import type { Trial } from './trial.ts';

const ANSWER_TRIES = 5;

export interface JudgingOptions {
  /** A text without the credentials that stand in it. */
  masked(text: string): string;
  /** Why a rule cannot be judged with the options of the run; undefined if it can. */
  missingFor(rule: Rule): string | undefined;
}

/** Verdicts in the order of their rules, and what kept the referee from judging as it should. */
export interface Judged {
  readonly verdicts: readonly Verdict[];
  /** A failure of the way to the server; undefined without one. */
  readonly failure: string | undefined;
}

/**
 * Judges by each rule: what waits after the others, and what looks back at all answers last. A fault of the transport
 * fails one rule; others that meet it are skipped.
 */
export async function judgeBy(rules: readonly Rule[], trial: Trial, options: JudgingOptions): Promise<Judged> {
  const { masked, missingFor } = options;
  const faults = new Map<string, string>();
  let failure: string | undefined;
  const failed = (seen: string, exchanges: readonly (readonly [Sent, Answer?])[]) => {
    const lines = exchanges.flatMap(([sent, answer]) => shown(sent, answer)).map(masked);
    return { verdict: 'failed', message: masked(printable(seen)), details: lines } as const;
  };
  const found = async (rule: Rule): Promise<Partial<Verdict>> => {
    const missing = missingFor(rule) ?? (rule.place === 'looks-back' ? undefined : failure);
    if (missing) return skipped(missing);
    try {
      await rule.judge(trial);
      return {};
    } catch (error) {
      if (error instanceof Skipped) return skipped(error.message);
      if (error instanceof Broken)
        return failed(
          error.message,
          error.exchanges.map((each) => [each.sent, each]),
        );
      if (!(error instanceof NoAnswer)) throw error;
      const { message, sent } = error;
      const seen = `${message}, to ${sent.method} ${sent.path}`;
      const cause = faults.get(message);
      if (cause !== undefined) return skipped(`${seen}; it is the failure of ${cause}`);
      faults.set(message, rule.id);
      failure = await failureOf(trial);
      return failure === undefined ? failed(seen, [[sent]]) : skipped(failure);
    }
  };
  const rankOf = ({ place }: Rule) => (place === undefined ? 0 : place === 'waits' ? 1 : 2);
  const verdicts = new Map<string, Verdict>();
  for (const rule of rules.toSorted((one, other) => rankOf(one) - rankOf(other))) {
    const { id, expected } = rule;
    const about = { id, verdict: 'passed', sentence: expected, message: '', details: [] } as const;
    verdicts.set(id, { ...about, ...(await found(rule)) });
  }
  const ordered = rules.flatMap(({ id }) => verdicts.get(id) ?? []);
  const nothing = ordered.every(({ verdict }) => verdict === 'skipped') ? 'nothing could be judged' : undefined;
  return { verdicts: ordered, failure: failure ?? nothing };
}

/** Why the server answers nothing any more, in several tries; undefined if it does. */
async function failureOf(trial: Trial): Promise<string | undefined> {
  for (let tries = 1; ; tries += 1) {
    try {
      await trial.sendOnce(limitedOf(trial).first);
      return undefined;
    } catch (error) {
      if (error instanceof Skipped) return error.message;
      if (!(error instanceof NoAnswer) || error.isHttp) return undefined;
      if (tries === ANSWER_TRIES) return `the server no longer answers: ${printable(error.message)}`;
    }
  }
}

function skipped(reason: string): Partial<Verdict> {
  return { verdict: 'skipped', message: printable(reason) };
}
