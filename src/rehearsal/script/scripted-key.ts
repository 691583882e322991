import { BoundedMap } from '../../stdx/bounded-map.ts';
import type { Transactions } from '../../storage/sql/transactions.ts';
import { FORGIVEN_MS, type Note } from '../verdict/note.ts';
import { type Begun, readBegun, saveProgress } from '../verdict/notes.ts';
import { parseScript, type Step, type StepName } from './script.ts';

/** Keys without a script in memory. */
const KEYS_MAX = 10_000;
/** What is noted of a key at most. */
const NOTES_MAX = 10_000;
/** Steps that hold until their seconds are over. */
const HOLDING: ReadonlySet<StepName> = new Set(['limit', 'quota', 'ban']);

/** What a request meets. */
export interface Met {
  readonly step: Step;
  /** Whether it spends the step; what holds meets later requests too. */
  readonly isSpent: boolean;
  readonly isEarly: boolean;
}

/** The keys with a script, by id. One process serves them all, so their progress is kept in memory. */
export class ScriptedKeys {
  readonly #transactions: Transactions;
  readonly #keys: BoundedMap<Promise<ScriptedKey | undefined>>;
  /** Never evicted: it holds the progress of the scripts. Bounded, because operators issue each key. */
  readonly #scripted = new Set<string>();

  constructor(transactions: Transactions) {
    this.#transactions = transactions;
    this.#keys = new BoundedMap(KEYS_MAX, (keyId) => !this.#scripted.has(keyId));
  }

  /** The key with this id; undefined if it has no script. Throws `unavailable`. */
  find(keyId: string): Promise<ScriptedKey | undefined> {
    const known = this.#keys.get(keyId);
    if (known) return known;
    const reading = readBegun(this.#transactions, keyId).then((begun) => {
      if (!begun) return undefined;
      this.#scripted.add(keyId);
      return new ScriptedKey(keyId, begun, this.#transactions);
    });
    this.#keys.set(keyId, reading);
    reading.catch(() => this.#keys.delete(keyId));
    return reading;
  }
}

/** A key and how far its script was followed. */
export class ScriptedKey {
  readonly id: string;
  readonly #steps: readonly Step[];
  readonly #transactions: Transactions;
  #reached: number;
  #holdsUntilMs: number | null;
  #nextNumber: number;

  constructor(id: string, { script, reached, holdsUntilMs, nextNumber }: Begun, transactions: Transactions) {
    this.id = id;
    this.#steps = parseScript(script);
    this.#transactions = transactions;
    this.#reached = reached;
    this.#holdsUntilMs = holdsUntilMs;
    this.#nextNumber = nextNumber;
  }

  /** The number of the next request, in the order of their arrival. */
  nextNumber(): number {
    this.#nextNumber += 1;
    return this.#nextNumber - 1;
  }

  /** What a request would meet; undefined when the script is over. */
  look(nowMs: number): Met | undefined {
    const last = this.#steps[this.#reached - 1];
    if (last && this.#heldMs(nowMs) > 0) return { step: last, isSpent: false, isEarly: true };
    if (last?.name === 'revoked') return { step: last, isSpent: false, isEarly: false };
    const step = this.#steps[this.#reached];
    return step && { step, isSpent: true, isEarly: false };
  }

  /** Spends the next step, unless an earlier one holds. */
  take(nowMs: number): Met | undefined {
    const met = this.look(nowMs);
    if (!met?.isSpent) return met;
    this.#reached += 1;
    this.#holdsUntilMs = HOLDING.has(met.step.name) ? nowMs + met.step.seconds * 1_000 : null;
    return met;
  }

  /** The limit, quota or ban that holds, and its seconds that are left. */
  held(nowMs: number): { readonly step: Step; readonly seconds: number } | undefined {
    const step = this.#steps[this.#reached - 1];
    const ms = this.#heldMs(nowMs);
    return step && ms > 0 ? { step, seconds: Math.ceil(ms / 1_000) } : undefined;
  }

  /** How long the last step still holds; 0 once what is left is forgiven. */
  #heldMs(nowMs: number): number {
    const ms = (this.#holdsUntilMs ?? 0) - nowMs;
    return ms > FORGIVEN_MS ? ms : 0;
  }

  /** Stores how far the script was followed, and the note of a request. Throws `unavailable` or `outcome_unknown`. */
  save(number: number, note: Note): Promise<void> {
    return saveProgress(this.#transactions, this.id, {
      reached: this.#reached,
      holdsUntilMs: this.#holdsUntilMs,
      number,
      note: number < NOTES_MAX ? note : undefined,
    });
  }
}
