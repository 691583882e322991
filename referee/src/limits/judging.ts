import { printable } from '../report/write.ts';
import { type Answer, NoAnswer, type Sent, type Shown, Skipped, shown } from './exchange.ts';
import { limitedOf } from './limited.ts';
import { Broken, type Rule, type Verdict } from './rule.ts';
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
  /** A failure of the referee, or of the way to the server; undefined without one. */
  readonly failure: string | undefined;
}

/** Judges by each rule: what waits after the others, and what looks back at all answers last. */
export async function judgeBy(rules: readonly Rule[], trial: Trial, options: JudgingOptions): Promise<Judged> {
  const judging = new Judging(trial, options);
  const verdicts = new Map<string, Verdict>();
  const rankOf = ({ place }: Rule) => (place === undefined ? 0 : place === 'waits' ? 1 : 2);
  for (const rule of rules.toSorted((one, other) => rankOf(one) - rankOf(other))) {
    verdicts.set(rule.id, await judging.judge(rule));
  }
  const ordered = rules.flatMap(({ id }) => verdicts.get(id) ?? []);
  const nothing = ordered.every(({ verdict }) => verdict === 'skipped') ? 'nothing could be judged' : undefined;
  return { verdicts: ordered, failure: judging.failure ?? nothing };
}

/** Makes verdicts of what rules throw. A fault of the transport fails one rule; others that meet it are skipped. */
class Judging {
  readonly #trial: Trial;
  readonly #options: JudgingOptions;
  readonly #faults = new Map<string, string>();
  /** The reason why it cannot judge as it should. */
  failure: string | undefined;
  #isGone = false;

  constructor(trial: Trial, options: JudgingOptions) {
    this.#trial = trial;
    this.#options = options;
  }

  async judge(rule: Rule): Promise<Verdict> {
    const found = await this.#found(rule);
    const { id, expected } = rule;
    const about = { id, verdict: 'passed', expected, seen: null, reason: null } as const;
    return { ...about, exchanges: [], ...found };
  }

  async #found(rule: Rule): Promise<Partial<Verdict>> {
    const missing = this.#options.missingFor(rule);
    if (missing) return skipped(missing);
    if (this.#isGone && rule.place !== 'looks-back') return skipped(this.failure ?? '');
    try {
      await rule.judge(this.#trial);
      return {};
    } catch (error) {
      if (error instanceof Skipped) return skipped(printable(error.message));
      if (error instanceof Broken) {
        const exchanges = error.exchanges.map((exchange) => this.#shown(exchange.sent, exchange));
        return this.#failed(error.message, exchanges);
      }
      if (error instanceof NoAnswer) return await this.#unanswered(rule, error);
      this.failure = `the referee failed at ${rule.id}: ${printable(`${error}`)}`;
      return skipped(this.failure);
    }
  }

  async #unanswered({ id }: Rule, { message, sent }: NoAnswer): Promise<Partial<Verdict>> {
    const seen = `${message}, to ${sent.method} ${sent.path}`;
    const cause = this.#faults.get(message);
    if (cause !== undefined) return skipped(`${printable(seen)}; it is the failure of ${cause}`);
    this.#faults.set(message, id);
    try {
      await this.#requireAnswer();
    } catch (again) {
      if (again instanceof Skipped) return skipped(again.message);
      this.#isGone = true;
      this.failure = `the server no longer answers: ${printable((again as Error).message)}`;
      return skipped(this.failure);
    }
    return this.#failed(seen, [this.#shown(sent)]);
  }

  /** Rejects with `NoAnswer` if the server answers nothing in several tries. */
  async #requireAnswer(): Promise<void> {
    const { first } = limitedOf(this.#trial);
    for (let tries = 1; ; tries += 1) {
      try {
        await this.#trial.sendOnce(first);
        return;
      } catch (error) {
        if (error instanceof NoAnswer && error.isHttp) return;
        if (!(error instanceof NoAnswer) || tries === ANSWER_TRIES) throw error;
      }
    }
  }

  #failed(seen: string, exchanges: readonly Shown[]): Partial<Verdict> {
    return { verdict: 'failed', seen: this.#options.masked(printable(seen)), exchanges };
  }

  #shown(sent: Sent, answer?: Answer): Shown {
    const { request, response } = shown(sent, answer);
    return { request: this.#options.masked(request), response: this.#options.masked(response) };
  }
}

function skipped(reason: string): Partial<Verdict> {
  return { verdict: 'skipped', reason };
}
