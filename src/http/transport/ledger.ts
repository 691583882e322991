const MEBIBYTE = 1024 * 1024;
/** A connection that holds so much serves no further request until its peer has read. */
export const CONNECTION_BYTES_MAX = MEBIBYTE;
/** A key that holds so much on its connections together is refused. */
const KEY_BYTES_MAX = 8 * MEBIBYTE;
/** Beyond this the heaviest holder is cut off. The heap takes about twice as much before it is collected. */
const ALL_BYTES_MAX = 48 * MEBIBYTE;

export interface Account {
  heldBytes: number;
  /** Closes the connection, and gives back all that it holds. `keyId` is the key that held the most, if known. */
  cutOff(keyId: string | undefined): void;
}

/** Something that memory is held for: the input of a connection, or a request with its body and its answer. */
export interface Holding {
  heldBytes: number;
  readonly account: Account;
  /** The key that it is held for; as long as that is unknown the connection answers for it. */
  readonly keyId: string | undefined;
}

interface Holder {
  bytes: number;
  /** The oldest first. */
  readonly holdings: Set<Holding>;
}

/**
 * Bytes that a listener holds for its peers, charged where memory is taken and credited where it is given back: by
 * connection, by key and in all. From it alone is decided who is read from, who is refused and who is cut off. Bytes
 * that answers share, such as the list of categories, are not held for one peer.
 */
export class Ledger {
  #bytes = 0;
  readonly #byHolder = new Map<unknown, Holder>();

  /** Sets what is held for something, 0 at its end. Beyond what all may hold, cuts off the heaviest. */
  hold(holding: Holding, bytes: number): void {
    const more = bytes - holding.heldBytes;
    if (more === 0) return;
    const name = holding.keyId ?? holding.account;
    const holder = this.#byHolder.get(name) ?? { bytes: 0, holdings: new Set() };
    if (holder.holdings.size === 0) this.#byHolder.set(name, holder);
    holder.bytes += more;
    holding.account.heldBytes += more;
    holding.heldBytes = bytes;
    this.#bytes += more;
    if (bytes === more) holder.holdings.add(holding);
    else if (bytes === 0) holder.holdings.delete(holding);
    if (holder.holdings.size === 0) this.#byHolder.delete(name);
    // An operator's export may be larger, alone.
    while (more > 0 && this.#bytes > ALL_BYTES_MAX && this.#bytes > bytes) this.#cutOffHeaviest();
  }

  /** True if a key holds so much that it has to read before it may ask for more. */
  isFull(keyId: string): boolean {
    // Fast path: while all together hold less than one may, none is looked up.
    return this.#bytes >= KEY_BYTES_MAX && (this.#byHolder.get(keyId)?.bytes ?? 0) >= KEY_BYTES_MAX;
  }

  /** Cuts off the connection of the oldest holding of the holder that holds the most. */
  #cutOffHeaviest(): void {
    let heaviest: Holder | undefined;
    for (const holder of this.#byHolder.values()) if (holder.bytes > (heaviest?.bytes ?? 0)) heaviest = holder;
    const [oldest] = heaviest?.holdings ?? [];
    if (!oldest) throw new Error('More bytes are held than any holder has');
    this.hold(oldest, 0);
    oldest.account.cutOff(oldest.keyId);
  }
}
