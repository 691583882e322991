import { CatalogError } from '../../catalog/error.ts';

const QUERIES_MAX = 2;
const NAMES_PER_QUERY = 1_000;

/**
 * Looks values up by name, so that a flood costs a handful of queries: those that wait for one of two queries on their
 * way are asked in the next, up to 1,000 of them. A look-up fails as its query does; when the database is unavailable
 * those that wait fail with it, instead of after one deadline for each query before theirs.
 */
export function coalesceLookups<Value>(
  query: (names: readonly string[]) => Promise<ReadonlyMap<string, Value>>,
): (name: string) => Promise<Value | undefined> {
  const waiting = new Map<string, PromiseWithResolvers<Value | undefined>>();
  let underWay = 0;

  async function ask(): Promise<void> {
    const lookups = [...waiting.entries().take(NAMES_PER_QUERY)];
    for (const [name] of lookups) waiting.delete(name);
    underWay += 1;
    try {
      const values = await query(lookups.map(([name]) => name));
      for (const [name, { resolve }] of lookups) resolve(values.get(name));
    } catch (error) {
      if (error instanceof CatalogError) {
        lookups.push(...waiting);
        waiting.clear();
      }
      for (const [, { reject }] of lookups) reject(error);
    }
    underWay -= 1;
    if (waiting.size > 0 && underWay < QUERIES_MAX) void ask();
  }

  return (name) => {
    const before = waiting.get(name);
    if (before) return before.promise;
    const lookup = Promise.withResolvers<Value | undefined>();
    waiting.set(name, lookup);
    if (underWay < QUERIES_MAX) void ask();
    return lookup.promise;
  };
}
