import { promise } from './promise.ts';

export type Outcome = 'served' | 'client_errors' | 'refused' | 'server_errors';

interface Recorded {
  readonly keyId: string;
  readonly outcome: Outcome;
  readonly atMs: number;
  readonly life: object;
}

/** Counts by key and outcome, “*” being all keys. */
type Sums = Map<string, number>;

/** A row of usage: the sums of one key. */
export type UsageRow = { readonly key_id: string } & Readonly<Record<Outcome, number>>;

/**
 * Every answer to a key, to be found again in the stored usage once, unless its process was killed, or suspended for a
 * day, soon after it.
 */
export class UsageModel {
  #answers: Recorded[] = [];
  /** Sums of `#answers`, kept with it: summing at each check took nine tenths of a long run. */
  readonly #certain: Sums = new Map();
  /** Sums of what may be stored, once more than `#answers`. */
  readonly #uncertain: Sums = new Map();

  record(keyId: string, status: number, { atMs, life }: { atMs: number; life: object }): void {
    const answer = { keyId, outcome: outcomeOf(status), atMs, life };
    this.#answers.push(answer);
    add(this.#certain, answer, 1);
  }

  /** A process, or every one, ended without storing what it counted after a moment, or that was lost afterwards. */
  lose(life: object | undefined, safeMs: number): void {
    const kept: Recorded[] = [];
    for (const each of this.#answers) {
      if ((life && each.life !== life) || each.atMs < safeMs) {
        kept.push(each);
      } else {
        add(this.#certain, each, -1);
        add(this.#uncertain, each, 1);
      }
    }
    this.#answers = kept;
  }

  /** What was counted after a moment was retried when the outcome of its first attempt was kept no longer. */
  repeat(safeMs: number): void {
    for (const each of this.#answers) if (each.atMs >= safeMs) add(this.#uncertain, each, 1);
  }

  /** Throws if more is stored than was answered; `isAll` also if less is. */
  check(rows: readonly UsageRow[], { isAll }: { isAll: boolean }): void {
    const missing = new Map([...this.#certain].filter(([, count]) => count > 0));
    for (const row of rows) {
      for (const outcome of ['served', 'client_errors', 'refused', 'server_errors'] as const) {
        const name = `${row.key_id} ${outcome}`;
        const [least = 0, more = 0] = [this.#certain.get(name), this.#uncertain.get(name)];
        const found = row[outcome];
        promise(found <= least + more, () => `usage: ${found} ${name} are stored of ${least + more}`);
        promise(!isAll || found >= least, () => `usage: only ${found} ${name} are stored of ${least}`);
        missing.delete(name);
      }
    }
    promise(!isAll || missing.size === 0, () => `usage: nothing is stored of ${[...missing.keys()].join(', ')}`);
  }
}

function add(sums: Sums, { keyId, outcome }: Recorded, count: number): void {
  for (const key of [keyId, '*']) sums.set(`${key} ${outcome}`, (sums.get(`${key} ${outcome}`) ?? 0) + count);
}

function outcomeOf(status: number): Outcome {
  if (status < 400) return 'served';
  if (status === 429) return 'refused';
  return status < 500 ? 'client_errors' : 'server_errors';
}
