/** A map that holds so many entries at most: a new one beyond pushes out the oldest. */
export class BoundedMap<V> extends Map<string, V> {
  readonly #sizeMax: number;
  /** Goes on where it stopped: from its beginning, a map passes over all that was deleted there. */
  #oldest = this.keys();

  constructor(sizeMax: number) {
    super();
    this.#sizeMax = sizeMax;
  }

  override set(key: string, value: V): this {
    super.set(key, value);
    while (this.size > this.#sizeMax) {
      const { value: oldest, done } = this.#oldest.next();
      if (done) this.#oldest = this.keys();
      else this.delete(oldest);
    }
    return this;
  }
}
