/**
 * The pages of the guide by the names of their files in `pages/`: one line about each, for `/llms.txt` and the search,
 * with words that a reader may bring along.
 */
export const GUIDE: Readonly<Record<string, string>> = {
  'get-started': 'from a key to a category, a pet, an order and a 429; SDKs',
  authentication: 'keys, environments and scopes',
  limits: 'plans, windows, headers, bans, and the bounds of every value',
  errors: 'the body of an error, and each code with its cause and remedy',
  paging: 'how lists are paged, filtered and ordered',
  conditional: 'changes and reads that depend on what you know: If-Match (optimistic locking), If-None-Match',
  retries: 'when to retry, how long to wait (backoff), and Idempotency-Key',
  recipes: 'whole programs: import, local copy, stock, limits, and the move to production',
  browsers: 'calls from a page: CORS, preflights, and where to keep the key',
  rehearse: 'a sandbox of failures, and a verdict on a client',
  versions: 'what may change within /v1, stability and sunsets',
  changelog: 'what changed for callers, and what may break them',
  deprecations: 'the operations that will be removed',
};

/** The address of a page, by the name of its file. */
export function pathOf(file: string): string {
  return file === 'get-started' ? '/docs' : `/docs/${file}`;
}
