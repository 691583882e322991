const KEYS_PER_PART = 500;
/** Keys sorted at once, which takes no longer than storing a part. */
const KEYS_PER_SORT = 10_000;

/**
 * Splits keys whose counts are to be stored into parts, one per transaction, so that the caller can yield in between.
 * Sorted, because neighbouring keys are neighbours in storage: a part then touches a fraction of the pages.
 */
export function* partsInKeyOrder(keyIds: Iterable<string>): Generator<string[]> {
  const all = [...keyIds];
  for (let first = 0; first < all.length; first += KEYS_PER_SORT) {
    const sorted = all.slice(first, first + KEYS_PER_SORT).sort();
    for (let at = 0; at < sorted.length; at += KEYS_PER_PART) yield sorted.slice(at, at + KEYS_PER_PART);
  }
}
