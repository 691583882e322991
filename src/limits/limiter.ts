import type { ApiKey } from '../catalog/api-key.ts';
import type { Decision } from './window.ts';

export type { Decision };

/**
 * Decides on the requests of each key, by the rules of `window.ts`.
 *
 * Exact: of simultaneous requests for the last token, one is admitted. Counts survive the process: a graceful stop
 * loses nothing, a crash at most their last second. A change of the key applies from the first call with the changed
 * key.
 */
export interface Limiter extends AsyncDisposable {
  /** The servers whose counts are unavailable, `REDIS_URL` or masters: of keys there each instance admits its share. */
  readonly lost: readonly string[];
  /**
   * Spends one request of the key's windows, or refuses; synchronously if the key's counts are in memory. Rejects with
   * `unavailable` if they cannot be read.
   */
  charge(key: ApiKey): Decision | Promise<Decision>;
  /**
   * The decision that the next request would get, without counting it. Fails as `charge` does. For a key that is
   * banned, whose counts nothing changes, from memory if this process has met it.
   */
  peek(key: ApiKey, isBanned?: boolean): Decision | Promise<Decision>;
  /**
   * Restates an earlier decision for the present second: itself within its own second, later what the next request
   * would get. Answers from memory, synchronously.
   */
  current(key: ApiKey, decision: Decision): Decision;
}
