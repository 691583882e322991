import { promise } from './promise.ts';

export type Outcome = 'served' | 'client_errors' | 'refused' | 'server_errors';

interface Recorded {
  readonly keyId: string;
  readonly outcome: Outcome;
  readonly atMs: number;
  readonly life: object;
}

/** A row of usage: the sums of one key. */
export type UsageRow = { readonly key_id: string } & Readonly<Record<Outcome, number>>;

/**
 * Every answer to a key, to be found again in the stored usage once, unless its process was killed, or suspended for a
 * day, soon after it.
 */
export class UsageModel {
  #answers: Recorded[] = [];
  /** What may be stored, once more than `#answers`. */
  readonly #uncertain: Recorded[] = [];

  record(keyId: string, status: number, { atMs, life }: { atMs: number; life: object }): void {
    this.#answers.push({ keyId, outcome: outcomeOf(status), atMs, life });
  }

  /** A process ended without storing what it counted after a moment. */
  lose(life: object, safeMs: number): void {
    this.#uncertain.push(...this.#answers.filter((each) => each.life === life && each.atMs >= safeMs));
    this.#answers = this.#answers.filter((each) => each.life !== life || each.atMs < safeMs);
  }

  /** What was counted after a moment was retried when the outcome of its first attempt was kept no longer. */
  repeat(safeMs: number): void {
    this.#uncertain.push(...this.#answers.filter((each) => each.atMs >= safeMs));
  }

  /** Throws if more is stored than was answered; `isAll` also if less is. */
  check(rows: readonly UsageRow[], { isAll }: { isAll: boolean }): void {
    const certain = tally(this.#answers);
    const uncertain = tally(this.#uncertain);
    for (const row of rows) {
      for (const outcome of ['served', 'client_errors', 'refused', 'server_errors'] as const) {
        const name = `${row.key_id} ${outcome}`;
        const [least = 0, more = 0] = [certain.get(name), uncertain.get(name)];
        const found = row[outcome];
        promise(found <= least + more, () => `usage: ${found} ${name} are stored of ${least + more}`);
        promise(!isAll || found >= least, () => `usage: only ${found} ${name} are stored of ${least}`);
        certain.delete(name);
      }
    }
    promise(!isAll || certain.size === 0, () => `usage: nothing is stored of ${[...certain.keys()].join(', ')}`);
  }
}

function tally(answers: readonly Recorded[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { keyId, outcome } of answers) {
    for (const key of [keyId, '*']) counts.set(`${key} ${outcome}`, (counts.get(`${key} ${outcome}`) ?? 0) + 1);
  }
  return counts;
}

function outcomeOf(status: number): Outcome {
  if (status < 400) return 'served';
  if (status === 429) return 'refused';
  return status < 500 ? 'client_errors' : 'server_errors';
}
