import type { KeyStorage } from './api-key.ts';
import type { AuditStorage } from './audit.ts';
import type { CategoryStorage } from './category.ts';
import type { Once, OnceId } from './idempotency.ts';
import type { SessionStorage, TokenStorage } from './operator/access.ts';
import type { OrderStorage } from './order.ts';
import type { PetStorage } from './pet.ts';
import type { UsageStorage } from './usage.ts';
import type { KeyNearLimit, LimitStorage } from './window-counts.ts';

/**
 * The guarantees of every engine. One method is one atomic transaction, and when a writing method's promise is
 * fulfilled, its effect survives a power cut.
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
   * Does work on keys and tokens once: a repeat with the same id gets its outcome, as JSON keeps it. What `work` does
   * with the storage that it gets is stored whole with the outcome, or not at all. Throws `idempotency_key_reused`, or
   * what `work` throws.
   */
  once<T>(id: OnceId, work: (joined: Pick<Storage, 'keys' | 'tokens'>) => Promise<T>): Promise<Once<T>>;
  /**
   * Calls back on every later change of keys, and of categories not inserted here: at once for
   * changes made here, within a second for those of another process. A change of keys names them, unless more changed
   * than storage remembers.
   */
  watch(onChange: OnChange): Promise<void>;
  /** Deletes create outcomes and attempts older than `IDEMPOTENCY_SECONDS`. */
  purgeOutcomes(): Promise<void>;
  /** Measures how full the catalog is, how large its database, and how many keys are near their limit. */
  capacity(): Promise<Capacity>;
  /** Fulfilled if the engine answers a read; reports whether writes fail now. */
  check(): Promise<{ readonly isWriteFailing: boolean }>;
}

/** The size of the catalog against its bounds, that of its database, in bytes, and the keys near their own bound. */
export interface Capacity {
  readonly categories: number;
  /** The bytes of the list of all categories, as it is sent. */
  readonly listBytes: number;
  readonly databaseBytes: number;
  /** The log that is not yet in the file of an embedded database. */
  readonly logBytes: number;
  /** Free on the disk of an embedded database; NaN for a server's, which is not known. */
  readonly diskFreeBytes: number;
  /** The keys that are near their limit of the UTC day, as far as counts are saved. */
  readonly keysNearDayLimit: readonly KeyNearLimit[];
}

/**
 * The kinds of change that caches must reload: for `categories` the ids of `changesSince`, for `new-categories` only
 * the new ones, for `restored` everything, keys included, because the database may be at an earlier state.
 */
export type Change = 'categories' | 'new-categories' | 'restored' | 'keys';

/** Follows a change; rejects if that fails, to be called again. */
export type OnChange = (change: Change, keyIds?: readonly string[]) => Promise<void>;
