/** A promise of the service was broken. */
export class Broken extends Error {}

/** Throws `Broken` unless the condition holds. */
export function promise(holds: boolean, broken: () => string): asserts holds {
  if (!holds) throw new Broken(broken());
}
