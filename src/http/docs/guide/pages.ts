/** A page of the guide. `file` names its text in `pages/` and its address (`pathOf`). */
export interface GuidePage {
  readonly file: string;
  readonly title: string;
  /** One line, for `/llms.txt` and the search, with words that a reader may bring along. */
  readonly about: string;
}

export const GUIDE: readonly GuidePage[] = [
  { file: 'get-started', title: 'Get started', about: 'from a key to a category, a pet, an order and a 429; SDKs' },
  { file: 'authentication', title: 'Authentication', about: 'keys, environments and scopes' },
  { file: 'limits', title: 'Limits', about: 'plans, windows, headers, bans, and the bounds of every value' },
  { file: 'errors', title: 'Errors', about: 'the body of an error, and each code with its cause and remedy' },
  { file: 'paging', title: 'Paging', about: 'how lists are paged, filtered and ordered' },
  {
    file: 'conditional',
    title: 'Conditional requests',
    about: 'changes and reads that depend on what you know: If-Match (optimistic locking), If-None-Match',
  },
  { file: 'retries', title: 'Retries', about: 'when to retry, how long to wait (backoff), and Idempotency-Key' },
  {
    file: 'recipes',
    title: 'Recipes',
    about: 'whole programs: import, local copy, stock, limits, and the move to production',
  },
  { file: 'browsers', title: 'Browsers', about: 'calls from a page: CORS, preflights, and where to keep the key' },
  { file: 'rehearse', title: 'Rehearse your client', about: 'a sandbox of failures, and a verdict on a client' },
  { file: 'versions', title: 'Versions', about: 'what may change within /v1, stability and sunsets' },
  { file: 'changelog', title: 'Changelog', about: 'what changed for callers, and what may break them' },
  { file: 'deprecations', title: 'Deprecations', about: 'the operations that will be removed' },
];

/** The address of a page, by the name of its file. */
export function pathOf(file: string): string {
  return file === 'get-started' ? '/docs' : `/docs/${file}`;
}
