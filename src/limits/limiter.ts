import type { ApiKey } from '../catalog/api-key.ts';
import type { Decision } from './window.ts';

export type { Decision };

/** `degraded`: the counts that several instances share cannot be had; each admits its share of every limit. */
export type LimiterState = 'ok' | 'degraded';

/**
 * Counts what each key spends, by the rules of `window.ts`.
 *
 * Exact: of any number of simultaneous requests at the last token, one is admitted. Counts and bans outlive the
 * process: a stop loses nothing, a crash at most the last second of counts and never a ban. A plan change holds from
 * the first call with the changed key on; a lifted ban within a second.
 */
export interface Limiter extends AsyncDisposable {
  readonly state: LimiterState;
  /**
   * Spends one request of the key's windows, or refuses: at once, if what was counted before is in memory. Rejects with
   * `unavailable` if it cannot be read.
   */
  charge(key: ApiKey): Decision | Promise<Decision>;
  /** What the next request would meet, free of charge. Fails as `charge` does. */
  peek(key: ApiKey): Decision | Promise<Decision>;
  /** Reads the bans anew, after one may have been lifted elsewhere. */
  refreshBans(): Promise<void>;
}
