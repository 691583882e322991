/** What one transaction takes. */
const KEYS_PER_PART = 500;
/** What is sorted at once: no more work than storing a part. */
const KEYS_PER_SORT = 10_000;

/**
 * Keys whose counts are to be stored, in parts to be stored one after the other, with whatever else there is to do in
 * between. Neighbours in the order of keys are neighbours in storage: sorted, a part touches a fraction of the pages.
 */
export function* partsInKeyOrder(keyIds: Iterable<string>): Generator<string[]> {
  const all = [...keyIds];
  for (let first = 0; first < all.length; first += KEYS_PER_SORT) {
    const sorted = all.slice(first, first + KEYS_PER_SORT).sort();
    for (let at = 0; at < sorted.length; at += KEYS_PER_PART) yield sorted.slice(at, at + KEYS_PER_PART);
  }
}
