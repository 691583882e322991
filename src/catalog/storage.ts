import type { KeyStorage } from './api-key.ts';
import type { AuditStorage } from './audit.ts';
import type { CategoryStorage } from './category.ts';
import type { LimitStorage } from './limit.ts';
import type { OrderStorage } from './order.ts';
import type { PetStorage } from './pet.ts';
import type { SessionStorage } from './session.ts';
import type { UsageStorage } from './usage.ts';

/**
 * What every engine promises. One method is one transaction: it happens whole or not at all, and when a writing
 * method's promise is fulfilled, its effect outlives a power cut.
 *
 * Failures are `CatalogError`s: `unavailable` when the engine cannot do it now (locked, full, unreachable) and nothing
 * was stored, `outcome_unknown` when the engine did not say whether it was, and those that a method names. Anything else thrown is a defect.
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
  /**
   * Calls back, from now on, about changes of keys and bans, and of categories that were not inserted here: at once
   * if they were made here, within a second if another process made them.
   */
  watch(onChange: (change: Change) => Promise<void>): Promise<void>;
  /** Forgets the outcomes of creates that were kept for a retry and are older than `IDEMPOTENCY_SECONDS`. */
  purgeOutcomes(): Promise<void>;
  /** Fulfilled if the engine answers. */
  check(): Promise<void>;
}

/** What was changed, so that what is remembered of it must be read anew; of new categories, only those. */
export type Change = 'categories' | 'new-categories' | 'keys' | 'bans';
