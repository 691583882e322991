/**
 * The number of the oldest entries that one `set` examines for one that may be evicted; each `set` adds at most one.
 */
const LOOKS_MAX = 16;

/**
 * A map of at most `sizeMax` entries: a new one beyond the bound evicts the oldest. Entries for which `mayEvict` is
 * false stay, and can keep the map over its bound until it is true.
 */
export class BoundedMap<V> extends Map<string, V> {
  readonly #sizeMax: number;
  readonly #mayEvict: (key: string) => boolean;
  /**
   * The position of the search for the oldest entry: a fresh iterator would skip all entries deleted at the front every
   * time. Dropped on every other delete, because an iterator retains each table that the map has outgrown.
   */
  #oldest: MapIterator<string> | undefined;

  constructor(sizeMax: number, mayEvict: (key: string) => boolean = () => true) {
    super();
    this.#sizeMax = sizeMax;
    this.#mayEvict = mayEvict;
  }

  override set(key: string, value: V): this {
    super.set(key, value);
    if (this.size > this.#sizeMax) this.#evict(key);
    return this;
  }

  override delete(key: string): boolean {
    this.#oldest = undefined;
    return super.delete(key);
  }

  override clear(): void {
    this.#oldest = undefined;
    super.clear();
  }

  /** Evicts entries down to the bound, but never the one just set. */
  #evict(justSet: string): void {
    for (let looks = 0; looks < LOOKS_MAX && this.size > this.#sizeMax; looks += 1) {
      this.#oldest ??= this.keys();
      const { value: oldest, done } = this.#oldest.next();
      if (done) this.#oldest = undefined;
      else if (oldest !== justSet && this.#mayEvict(oldest)) super.delete(oldest);
    }
  }
}
