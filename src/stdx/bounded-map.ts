/** A map that holds so many entries at most: a new one beyond pushes out the oldest. */
export class BoundedMap<V> extends Map<string, V> {
  readonly #sizeMax: number;
  /**
   * Where the oldest is looked for while the map is full: from its beginning, a map passes over all that was deleted
   * there. Not kept any longer, since an iterator that stands still holds every table that the map has grown out of.
   */
  #oldest: MapIterator<string> | undefined;

  constructor(sizeMax: number) {
    super();
    this.#sizeMax = sizeMax;
  }

  override set(key: string, value: V): this {
    super.set(key, value);
    while (this.size > this.#sizeMax) {
      this.#oldest ??= this.keys();
      const { value: oldest, done } = this.#oldest.next();
      if (done) this.#oldest = undefined;
      else super.delete(oldest);
    }
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
}
