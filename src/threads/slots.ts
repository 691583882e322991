import type { BanState, WindowState } from '../limits/window.ts';

/** Two cache lines: no two keys share one, and only a ban needs the second. */
const SLOT_BYTES = 128;
const SLOT_WORDS = SLOT_BYTES / Int32Array.BYTES_PER_ELEMENT;
const SLOT_NUMBERS = SLOT_BYTES / Float64Array.BYTES_PER_ELEMENT;
const FREE = 0;
const LOCKED = 1;
/** A charge takes about a microsecond, so a lock that is still held then is held by a thread that does not run. */
const SPINS_MAX = 1_000;
const LOCK_WAIT_MS = 1;
/** A thread that died within a charge took its lock with it: the process has to end, and must not hang. */
const LOCK_MS_MAX = 5_000;
const WORD_BITS = 32;

/** The places of a slot's numbers, in doubles from its beginning; the lock and the generation are before them. */
const MINUTE_ENDS = 1;
const MINUTE_USED = 2;
const DAY = 3;
const DAY_USED = 4;
const REFUSALS_END = 5;
const REFUSALS = 6;
/** 0 without a ban. */
const BAN_LEVEL = 7;
const BAN_STARTS = 8;
const BAN_ENDS = 9;

/** What threads share of the slots. */
export interface SlotMemory {
  readonly slots: SharedArrayBuffer;
  /** A bit for each slot that changed. */
  readonly changed: SharedArrayBuffer;
}

/** Of a ban what a slot cannot hold, because it is no number. */
export type BanReason = Pick<BanState, 'starts' | 'reason'>;

/** The reason of a ban of which this thread has not been told yet. */
export const UNTOLD = '';

/** Memory for so many slots. The system hands it out as slots are used. */
export function slotMemory(count: number): SlotMemory {
  const changedBytes = Math.ceil(count / WORD_BITS) * Int32Array.BYTES_PER_ELEMENT;
  return { slots: new SharedArrayBuffer(count * SLOT_BYTES), changed: new SharedArrayBuffer(changedBytes) };
}

/**
 * The limiter's states of keys as numbers in memory that all threads share. Each slot has a lock, under which it is
 * read and written, and a generation, which tells a thread that a slot went to another key.
 */
export class Slots {
  readonly #words: Int32Array;
  readonly #numbers: Float64Array;
  readonly #changed: Int32Array;

  constructor({ slots, changed }: SlotMemory) {
    this.#words = new Int32Array(slots);
    this.#numbers = new Float64Array(slots);
    this.#changed = new Int32Array(changed);
  }

  /** How many slots there are. */
  get count(): number {
    return this.#words.length / SLOT_WORDS;
  }

  /** Locks a slot, unless it is of another generation by now: then returns false. Blocks while it is locked. */
  lock(slot: number, generation: number): boolean {
    const at = slot * SLOT_WORDS;
    if (Atomics.compareExchange(this.#words, at, FREE, LOCKED) !== FREE) this.#awaitLock(at);
    if (this.#words[at + 1] === generation) return true;
    this.unlock(slot);
    return false;
  }

  unlock(slot: number): void {
    Atomics.store(this.#words, slot * SLOT_WORDS, FREE);
  }

  generation(slot: number): number {
    return Atomics.load(this.#words, slot * SLOT_WORDS + 1);
  }

  /** Runs work with a slot locked, whatever its generation. */
  locked<T>(slot: number, work: () => T): T {
    const at = slot * SLOT_WORDS;
    if (!this.#tryLock(at)) this.#awaitLock(at);
    try {
      return work();
    } finally {
      this.unlock(slot);
    }
  }

  /** Takes a slot that the caller has locked from its key: no thread that knows it can lock it from now on. */
  renew(slot: number): void {
    const at = slot * SLOT_WORDS + 1;
    this.#words[at] = (this.generation(slot) + 1) | 0;
  }

  /** The state in a slot that the caller has locked. A ban that `reason` is not of has the reason `UNTOLD`. */
  read(slot: number, reason: BanReason | undefined): WindowState {
    const numbers = this.#numbers;
    const at = slot * SLOT_NUMBERS;
    return {
      minuteEnds: numbers[at + MINUTE_ENDS] as number,
      minuteUsed: numbers[at + MINUTE_USED] as number,
      day: numbers[at + DAY] as number,
      dayUsed: numbers[at + DAY_USED] as number,
      refusalsEnd: numbers[at + REFUSALS_END] as number,
      refusals: numbers[at + REFUSALS] as number,
      ban: numbers[at + BAN_LEVEL] === 0 ? undefined : this.#readBan(at, reason),
    };
  }

  /** Writes a state into a slot that the caller has locked. */
  write(slot: number, state: WindowState): void {
    const numbers = this.#numbers;
    const at = slot * SLOT_NUMBERS;
    numbers[at + MINUTE_ENDS] = state.minuteEnds;
    numbers[at + MINUTE_USED] = state.minuteUsed;
    numbers[at + DAY] = state.day;
    numbers[at + DAY_USED] = state.dayUsed;
    numbers[at + REFUSALS_END] = state.refusalsEnd;
    numbers[at + REFUSALS] = state.refusals;
    const { ban } = state;
    numbers[at + BAN_LEVEL] = ban?.level ?? 0;
    if (!ban) return;
    numbers[at + BAN_STARTS] = ban.starts;
    numbers[at + BAN_ENDS] = ban.ends;
  }

  /** Notes that a slot changed. Call it with the slot locked, after the change. */
  markChanged(slot: number): void {
    const word = slot >>> 5;
    const bit = 1 << (slot & 31);
    // Fast path: a busy key is marked already, and a load shares the cache line with the other threads.
    if ((Atomics.load(this.#changed, word) & bit) === 0) Atomics.or(this.#changed, word, bit);
  }

  hasChanged(slot: number): boolean {
    return (Atomics.load(this.#changed, slot >>> 5) & (1 << (slot & 31))) !== 0;
  }

  /** The slots that changed since the last call. Read them afterwards: a later change is told of by the next call. */
  takeChanged(): number[] {
    const slots: number[] = [];
    for (let word = 0; word < this.#changed.length; word += 1) {
      if (this.#changed[word] === 0) continue;
      const bits = Atomics.exchange(this.#changed, word, 0);
      for (let bit = 0; bit < WORD_BITS; bit += 1) if (bits & (1 << bit)) slots.push(word * WORD_BITS + bit);
    }
    return slots;
  }

  #readBan(at: number, reason: BanReason | undefined): BanState {
    const starts = this.#numbers[at + BAN_STARTS] as number;
    return {
      starts,
      ends: this.#numbers[at + BAN_ENDS] as number,
      level: this.#numbers[at + BAN_LEVEL] as number,
      reason: reason?.starts === starts ? reason.reason : UNTOLD,
    };
  }

  #awaitLock(at: number): void {
    for (let spins = 0; spins < SPINS_MAX; spins += 1) if (this.#tryLock(at)) return;
    const startedMs = performance.now();
    while (!this.#tryLock(at)) {
      if (performance.now() - startedMs > LOCK_MS_MAX) throw new Error('A slot of the limiter stays locked');
      Atomics.wait(this.#words, at, LOCKED, LOCK_WAIT_MS);
    }
  }

  /** Looks before it tries, because trying takes the cache line from the holder. */
  #tryLock(at: number): boolean {
    return Atomics.load(this.#words, at) === FREE && Atomics.compareExchange(this.#words, at, FREE, LOCKED) === FREE;
  }
}
