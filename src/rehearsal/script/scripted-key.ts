import { BoundedMap } from '../../stdx/bounded-map.ts';
import type { Time } from '../../stdx/time.ts';
import type { Transactions } from '../../storage/sql/transactions.ts';
import type { Note } from '../verdict/note.ts';
import { readProgress, saveProgress } from '../verdict/stored-rehearsals.ts';
import { Progress } from './progress.ts';

/** Keys without a script in memory. */
const KEYS_MAX = 10_000;

/** The keys with a script, by id. One process serves them all, so their progress is kept in memory. */
export class ScriptedKeys {
  readonly #transactions: Transactions;
  readonly #time: Time;
  readonly #keys: BoundedMap<Promise<ScriptedKey | undefined>>;
  /** Never evicted: it holds the progress of the scripts. Bounded, because operators issue each key. */
  readonly #scripted = new Set<string>();

  constructor(transactions: Transactions, time: Time) {
    this.#transactions = transactions;
    this.#time = time;
    this.#keys = new BoundedMap(KEYS_MAX, (keyId) => !this.#scripted.has(keyId));
  }

  /** The key with this id; undefined if it has no script. Throws `unavailable`. */
  find(keyId: string): Promise<ScriptedKey | undefined> {
    const known = this.#keys.get(keyId);
    if (known) return known;
    const reading = this.#read(keyId);
    this.#keys.set(keyId, reading);
    reading.catch(() => this.#keys.delete(keyId));
    return reading;
  }

  async #read(keyId: string): Promise<ScriptedKey | undefined> {
    const saved = await readProgress(this.#transactions, keyId);
    if (!saved) return undefined;
    this.#scripted.add(keyId);
    const progress = new Progress(saved.script, this.#time, saved);
    let { nextNumber } = saved;
    return {
      progress,
      nextNumber: () => nextNumber++,
      save: (number, note) => saveProgress(this.#transactions, keyId, { position: progress.position, number, note }),
    };
  }
}

/** A key and how far its script was followed. */
export interface ScriptedKey {
  readonly progress: Progress;
  /** The number of the next request, in the order of their arrival. */
  nextNumber(): number;
  /** Stores how far the script was followed, and the note of a request. Throws `unavailable` or `outcome_unknown`. */
  save(number: number, note: Note): Promise<void>;
}
