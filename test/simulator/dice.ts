/** Seeded random numbers (mulberry32): the same seed gives the same sequence on every machine. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A fraction from 0 up to, but not including, 1. */
  roll(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  }

  chance(probability: number): boolean {
    return this.roll() < probability;
  }

  /** A whole number between two bounds, both included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.roll() * (most - least + 1));
  }

  /** One of some things, undefined if there are none. */
  pick<T>(things: readonly T[]): T | undefined {
    return things[Math.floor(this.roll() * things.length)];
  }

  /** One of some names, each as likely as its weight among all. */
  pickWeighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const entries = Object.entries(weights) as [Name, number][];
    let left = this.roll() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      left -= weight;
      if (left < 0) return name;
    }
    throw new Error('There is nothing to pick from');
  }
}
