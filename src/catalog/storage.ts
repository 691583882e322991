import type { KeyStorage } from './api-key.ts';
import type { AuditStorage } from './audit.ts';
import type { CategoryStorage } from './category.ts';
import type { LimitStorage } from './limit.ts';
import type { SessionStorage } from './operator/session.ts';
import type { TokenStorage } from './operator/token.ts';
import type { OrderStorage } from './order.ts';
import type { PetStorage } from './pet.ts';
import type { UsageStorage } from './usage.ts';

/**
 * What every engine guarantees. One method is one atomic transaction, and when a writing method's promise is fulfilled,
 * its effect survives a power cut.
 *
 * Failures are `CatalogError`s: `unavailable` if the engine cannot do it now (locked, full, unreachable) and nothing
 * was stored, `outcome_unknown` if it did not confirm either way, and those that a method names. Anything else thrown
 * is a defect. A method with an `attempt` (any unique text) does its work once per attempt: a retry passes the same.
 */
export interface Storage extends AsyncDisposable {
  readonly categories: CategoryStorage;
  readonly pets: PetStorage;
  readonly orders: OrderStorage;
  readonly keys: KeyStorage;
  readonly limits: LimitStorage;
  readonly usage: UsageStorage;
  readonly audit: AuditStorage;
  readonly sessions: SessionStorage;
  readonly tokens: TokenStorage;
  /**
   * Calls back on every later change of keys, bans and the turned clock, and of categories not inserted here: at once
   * for changes made here, within a second for those of another process.
   */
  watch(onChange: (change: Change) => Promise<void>): Promise<void>;
  /** Deletes create outcomes and attempts older than `IDEMPOTENCY_SECONDS`. */
  purgeOutcomes(): Promise<void>;
  /** Fulfilled if the engine answers a read; tells whether writes fail now. */
  check(): Promise<{ readonly isWriteFailing: boolean }>;
}

/**
 * What caches must reload: for `categories` the ids of `changesSince`, for `new-categories` only the new ones, for
 * `restored` everything, because the database went back to an earlier state.
 */
export type Change = 'categories' | 'new-categories' | 'restored' | 'keys' | 'bans' | 'clock';
