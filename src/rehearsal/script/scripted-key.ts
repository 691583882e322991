import { BoundedMap } from '../../stdx/bounded-map.ts';
import type { Time } from '../../stdx/time.ts';
import type { Transactions } from '../../storage/sql/transactions.ts';
import type { Note } from '../verdict/note.ts';
import { readProgress, type SavedProgress, saveProgress } from '../verdict/stored-rehearsals.ts';
import { Progress } from './progress.ts';

/** Keys without a script in memory. */
const KEYS_MAX = 10_000;

/** Storage and time of the scripts. */
interface Context {
  readonly transactions: Transactions;
  readonly time: Time;
}

/** The keys with a script, by id. One process serves them all, so their progress is kept in memory. */
export class ScriptedKeys {
  readonly #context: Context;
  readonly #keys: BoundedMap<Promise<ScriptedKey | undefined>>;
  /** Never evicted: it holds the progress of the scripts. Bounded, because operators issue each key. */
  readonly #scripted = new Set<string>();

  constructor(context: Context) {
    this.#context = context;
    this.#keys = new BoundedMap(KEYS_MAX, (keyId) => !this.#scripted.has(keyId));
  }

  /** The key with this id; undefined if it has no script. Throws `unavailable`. */
  find(keyId: string): Promise<ScriptedKey | undefined> {
    const known = this.#keys.get(keyId);
    if (known) return known;
    const reading = readProgress(this.#context.transactions, keyId).then((saved) => {
      if (!saved) return undefined;
      this.#scripted.add(keyId);
      return new ScriptedKey(keyId, saved, this.#context);
    });
    this.#keys.set(keyId, reading);
    reading.catch(() => this.#keys.delete(keyId));
    return reading;
  }
}

/** A key and how far its script was followed. */
export class ScriptedKey {
  readonly progress: Progress;
  readonly #id: string;
  readonly #transactions: Transactions;
  #nextNumber: number;

  constructor(id: string, saved: SavedProgress, { transactions, time }: Context) {
    this.progress = new Progress(saved.script, time, saved);
    this.#id = id;
    this.#transactions = transactions;
    this.#nextNumber = saved.nextNumber;
  }

  /** The number of the next request, in the order of their arrival. */
  nextNumber(): number {
    this.#nextNumber += 1;
    return this.#nextNumber - 1;
  }

  /** Stores how far the script was followed, and the note of a request. Throws `unavailable` or `outcome_unknown`. */
  save(number: number, note: Note): Promise<void> {
    return saveProgress(this.#transactions, this.#id, { position: this.progress.position, number, note });
  }
}
