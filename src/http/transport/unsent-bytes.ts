const MEBIBYTE = 1024 * 1024;
/** A connection that holds so much is not served, nor read from, until its peer has read. */
const CONNECTION_BYTES_MAX = MEBIBYTE;
/** A key that holds so much on its connections together is refused. */
const KEY_BYTES_MAX = 8 * MEBIBYTE;
/** Beyond this the connections of the heaviest key are cut off. */
const ALL_BYTES_MAX = 64 * MEBIBYTE;

/** An answer that the system has not taken yet. */
export interface UnsentAnswer {
  /** What it holds in memory for itself alone; 0 once it is counted no more. */
  unsentBytes: number;
  /** Undefined for a request without a valid key; all of those are bounded together. */
  readonly keyId: string | undefined;
  /** Closes its connection, with everything that is on it. */
  cutOff(): void;
}

interface Held {
  bytes: number;
  /** The oldest first. */
  readonly answers: Set<UnsentAnswer>;
}

/**
 * Counts what a listener holds of answers that peers do not read, so that one caller's unread answers never take the
 * memory of others. Bytes that answers share, such as the list of categories, are not counted.
 */
export class UnsentBytes {
  #all = 0;
  readonly #byKey = new Map<string | undefined, Held>();

  /** Counts an answer. Beyond what all may hold, cuts off the oldest of the key that holds the most. */
  add(answer: UnsentAnswer, bytes: number): void {
    answer.unsentBytes = bytes;
    this.#all += bytes;
    const held = this.#byKey.get(answer.keyId);
    if (held) {
      held.bytes += bytes;
      held.answers.add(answer);
    } else {
      this.#byKey.set(answer.keyId, { bytes, answers: new Set([answer]) });
    }
    // An operator's export may be larger, alone.
    while (this.#all > ALL_BYTES_MAX && this.#all > bytes) this.#cutOffHeaviest();
  }

  /** Counts an answer no more: it is sent, or never will be. */
  delete(answer: UnsentAnswer): void {
    const held = this.#byKey.get(answer.keyId);
    if (!held?.answers.delete(answer)) return;
    this.#all -= answer.unsentBytes;
    held.bytes -= answer.unsentBytes;
    answer.unsentBytes = 0;
    if (held.answers.size === 0) this.#byKey.delete(answer.keyId);
  }

  /** Whether a key holds so much that it has to read before it may ask for more. */
  isFull(keyId: string): boolean {
    // Fast path: while all together hold less than one may, none is looked up.
    return this.#all >= KEY_BYTES_MAX && (this.#byKey.get(keyId)?.bytes ?? 0) >= KEY_BYTES_MAX;
  }

  #cutOffHeaviest(): void {
    let heaviest: Held | undefined;
    for (const held of this.#byKey.values()) if (held.bytes > (heaviest?.bytes ?? 0)) heaviest = held;
    const [oldest] = heaviest?.answers ?? [];
    if (!oldest) throw new Error('More bytes are counted than any key holds');
    this.delete(oldest);
    oldest.cutOff();
  }
}

/** Whether a connection with these answers under way has to wait until its peer has read. */
export function isConnectionFull(answers: readonly UnsentAnswer[]): boolean {
  let bytes = 0;
  for (const answer of answers) bytes += answer.unsentBytes;
  return bytes >= CONNECTION_BYTES_MAX;
}
