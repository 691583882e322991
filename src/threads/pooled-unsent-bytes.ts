import { ALL_BYTES_MAX, KEY_BYTES_MAX, type Unsent, UnsentBytes } from '../http/transport/unsent-bytes.ts';

/** Places in each of the two rows in which bytes are counted by key. */
const PLACES = 65_536;
const ALL = 0;
const ROWS = 1;

/** Memory in which the threads of a process count what they hold unsent, in all and by key. */
export function unsentMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer((ROWS + 2 * PLACES) * Int32Array.BYTES_PER_ELEMENT);
}

/**
 * Counts what all threads hold, so that the bounds are of the process. By key it is the lesser of two counts, each of
 * which the key shares with one in 65,536 others.
 */
export class PooledUnsentBytes extends UnsentBytes {
  readonly #counts: Int32Array;
  readonly #relieve: () => void;

  /** `relieve` is called when all together hold more than they may. */
  constructor(memory: SharedArrayBuffer, relieve: () => void) {
    super();
    this.#counts = new Int32Array(memory);
    this.#relieve = relieve;
  }

  override add(item: Unsent, bytes: number): void {
    this.#count(item.holder, bytes);
    super.add(item, bytes);
    if (isOverfull(this.#counts)) this.#relieve();
  }

  override delete(item: Unsent): void {
    const before = item.unsentBytes;
    super.delete(item);
    this.#count(item.holder, item.unsentBytes - before);
  }

  override isFull(keyId: string): boolean {
    // Fast path, as for one thread.
    if (Atomics.load(this.#counts, ALL) < KEY_BYTES_MAX) return false;
    const [one, other] = placesOf(keyId);
    return Math.min(Atomics.load(this.#counts, one), Atomics.load(this.#counts, other)) >= KEY_BYTES_MAX;
  }

  #count(holder: unknown, bytes: number): void {
    if (bytes === 0) return;
    Atomics.add(this.#counts, ALL, bytes);
    if (typeof holder !== 'string') return;
    for (const place of placesOf(holder)) Atomics.add(this.#counts, place, bytes);
  }
}

/** Whether all threads together hold more than they may. */
export function isOverfull(counts: Int32Array): boolean {
  return Atomics.load(counts, ALL) > ALL_BYTES_MAX;
}

/** A key's places, one in each row, by the 32 bits of an FNV-1a hash. */
function placesOf(keyId: string): readonly [number, number] {
  let hash = 0x811c9dc5;
  for (let at = 0; at < keyId.length; at += 1) hash = Math.imul(hash ^ keyId.charCodeAt(at), 0x01000193);
  return [ROWS + (hash & 0xffff), ROWS + PLACES + (hash >>> 16)];
}
