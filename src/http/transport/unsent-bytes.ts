const MEBIBYTE = 1024 * 1024;
/** A connection that holds so much is not served, nor read from, until its peer has read. */
const CONNECTION_BYTES_MAX = MEBIBYTE;
/** A key that holds so much on its connections together is refused. */
export const KEY_BYTES_MAX = 8 * MEBIBYTE;
/** Beyond this the connections of the heaviest holder are cut off. */
export const ALL_BYTES_MAX = 64 * MEBIBYTE;

/** A request that waits, or an answer that the system has not taken yet. */
export interface Unsent {
  /** What it holds in memory for itself alone; 0 once it is counted no more. */
  unsentBytes: number;
  /** Whose it is: the id of a key or, as long as that is unknown, the connection. */
  readonly holder: unknown;
  /** Closes its connection, with everything that is on it. */
  cutOff(): void;
}

interface Held {
  bytes: number;
  /** The oldest first. */
  readonly items: Set<Unsent>;
}

/**
 * Counts what a listener holds of pipelined requests that wait and of answers that peers do not read, so that one
 * caller never takes the memory of others. Bytes that answers share, such as the list of categories, are not counted.
 */
export class UnsentBytes {
  #all = 0;
  readonly #byHolder = new Map<unknown, Held>();

  /** Counts an item. Beyond what all may hold, cuts off the oldest of the key that holds the most. */
  add(item: Unsent, bytes: number): void {
    item.unsentBytes = bytes;
    this.#all += bytes;
    const held = this.#byHolder.get(item.holder);
    if (held) {
      held.bytes += bytes;
      held.items.add(item);
    } else {
      this.#byHolder.set(item.holder, { bytes, items: new Set([item]) });
    }
    // An operator's export may be larger, alone.
    while (this.#all > ALL_BYTES_MAX && this.#all > bytes) this.cutOffHeaviest();
  }

  /** Counts an item no more: it is served or sent, or never will be. */
  delete(item: Unsent): void {
    const held = this.#byHolder.get(item.holder);
    if (!held?.items.delete(item)) return;
    this.#all -= item.unsentBytes;
    held.bytes -= item.unsentBytes;
    item.unsentBytes = 0;
    if (held.items.size === 0) this.#byHolder.delete(item.holder);
  }

  /** Whether a key holds so much that it has to read before it may ask for more. */
  isFull(keyId: string): boolean {
    // Fast path: while all together hold less than one may, none is looked up.
    return this.#all >= KEY_BYTES_MAX && (this.#byHolder.get(keyId)?.bytes ?? 0) >= KEY_BYTES_MAX;
  }

  /** The bytes of the holder that holds the most. */
  get heaviestBytes(): number {
    return this.#heaviest?.bytes ?? 0;
  }

  /** Cuts off the oldest item of the holder that holds the most. */
  cutOffHeaviest(): void {
    const [oldest] = this.#heaviest?.items ?? [];
    if (!oldest) throw new Error('More bytes are counted than any holder has');
    this.delete(oldest);
    oldest.cutOff();
  }

  get #heaviest(): Held | undefined {
    let heaviest: Held | undefined;
    for (const held of this.#byHolder.values()) if (held.bytes > (heaviest?.bytes ?? 0)) heaviest = held;
    return heaviest;
  }
}

/** Whether a connection with these answers under way has to wait until its peer has read. */
export function isConnectionFull(answers: readonly Unsent[]): boolean {
  let bytes = 0;
  for (const answer of answers) bytes += answer.unsentBytes;
  return bytes >= CONNECTION_BYTES_MAX;
}
