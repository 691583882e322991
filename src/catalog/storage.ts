import type { ApiKey, FoundKey, Scope, SecretRecord } from './api-key.ts';
import type { AuditEntry, Operator } from './audit.ts';
import type { Category, NewCategory } from './category.ts';
import type { NewOrder, Order } from './order.ts';
import type { InventoryItem, NewPet, Pet, PetStatus } from './pet.ts';
import type { Limits, PlanName } from './plan.ts';
import type { KeyUsage, UsagePeriod, UsagePoint, UsageRecord } from './usage.ts';

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

/** How long the outcome of a create is kept for a retry with the same Idempotency-Key. */
export const IDEMPOTENCY_SECONDS = 86_400;

/** Who creates something, and how a retry of the same create is told. */
export interface Origin {
  readonly keyId: string;
  readonly idempotency?: {
    /** The caller's own name for the create, unique within its API key. */
    readonly key: string;
    /** Stands for everything that a retry must repeat. */
    readonly fingerprint: string;
  };
}

/** What a create gave; `isReplay` if it did so the first time that it was tried. */
export interface Created<T> {
  readonly resource: T;
  readonly isReplay: boolean;
}

export interface Page {
  /** Only ids above this one. */
  readonly after: number;
  readonly limit: number;
}

/**
 * Inserts take the next id, above all ids ever given, and keep the outcome if the origin names it: a second insert
 * of that name gives the first outcome again, or throws `idempotency_key_reused` if it is another create.
 */
export interface CategoryStorage {
  /** Throws `catalog_full` at the catalog's bound. */
  insert(category: NewCategory, origin: Origin): Promise<Created<Category>>;
  find(id: number): Promise<Category | undefined>;
  /** Categories with the id ascending: all, or one page. */
  list(page?: Page): Promise<Category[]>;
  /** Undefined if there is no such category. */
  rename(id: number, name: string, by: Operator): Promise<Category | undefined>;
  /** Removes a category that no pet belongs to. */
  delete(id: number, by: Operator): Promise<'deleted' | 'not found' | 'in use'>;
  /**
   * Inserts all, in their order, or none; `onProgress` hears how many are through. Throws `catalog_full` if they do
   * not all fit.
   */
  import(categories: readonly NewCategory[], by: Operator, onProgress?: (inserted: number) => void): Promise<void>;
}

export interface PetStorage {
  /** Throws `validation_failed` if there is no such category. */
  insert(pet: NewPet, origin: Origin): Promise<Created<Pet>>;
  find(id: number): Promise<Pet | undefined>;
  /** Pets with the id ascending, of one status if it is given. */
  list(page: Page & { readonly status?: PetStatus }): Promise<Pet[]>;
  /** The stock of each pet, the id ascending: a page of them. */
  listInventory(page: Page): Promise<InventoryItem[]>;
  /** Sets the stock, and the status with it. Undefined if there is no such pet. */
  setQuantity(petId: number, quantity: number): Promise<InventoryItem | undefined>;
}

export interface OrderStorage {
  /** Takes the stock with it. Throws `validation_failed` if there is no such pet, or `insufficient_stock`. */
  insert(order: NewOrder, origin: Origin): Promise<Created<Order>>;
  /** Orders with the id ascending: a page of them. */
  list(page: Page): Promise<Order[]>;
  /** Removes an order and returns its stock, once. False if there is none; throws `order_not_cancellable`. */
  cancel(id: number): Promise<boolean>;
}

export interface KeyStorage {
  insert(key: ApiKey, secret: SecretRecord, by: Operator): Promise<void>;
  /** The key that owns a secret, whether or not it is still usable. */
  findBySecret(secretHash: string): Promise<FoundKey | undefined>;
  find(id: string): Promise<ApiKey | undefined>;
  /** Keys, oldest first. */
  list(): Promise<ApiKey[]>;
  /** A page of the keys, newest first, whose name, id or prefix holds some text, with the number of all of them. */
  search(search: KeySearch): Promise<{ keys: ApiKey[]; count: number }>;
  /** Each of the next three returns the key as it then is, or undefined if there is none with that id. */
  update(id: string, changes: KeyChanges, by: Operator): Promise<ApiKey | undefined>;
  /** Adds a secret; those before it end at `oldEndAt` or earlier. A revoked key is returned as it was. */
  rotate(id: string, secret: SecretRecord, rotation: Rotation): Promise<ApiKey | undefined>;
  /** Revokes for good; doing it twice keeps the first moment. */
  revoke(id: string, now: number, by: Operator): Promise<ApiKey | undefined>;
}

export interface KeySearch {
  /** In whatever case; empty for every key. */
  readonly text: string;
  readonly offset: number;
  readonly limit: number;
}

/** What an operator may change of a key; what is absent stays. */
export interface KeyChanges {
  readonly name?: string;
  readonly plan?: PlanName;
  readonly limits?: Limits;
  readonly scopes?: readonly Scope[];
  readonly expiresAt?: number | null;
}

/** Moments in Unix seconds. */
export interface Rotation {
  readonly now: number;
  readonly oldEndAt: number;
  readonly by: Operator;
}

export interface LimitStorage {
  /** What a limiter needs to go on with a key where it, or its predecessor, stopped. */
  memory(keyId: string): Promise<LimiterMemory>;
  /** Replaces the counts of each key named. */
  saveCounts(counts: readonly WindowCounts[]): Promise<void>;
  /**
   * Brings the counts of each key up to these, never down: in each of the two windows a later one replaces, of the same
   * the greater count stays, an earlier one is ignored. So several instances may tell what they saw in any order.
   */
  raiseCounts(counts: readonly WindowCounts[]): Promise<void>;
  /** Moves the open windows and the bans by so many seconds, after the system clock was stepped by them. */
  move(seconds: number): Promise<void>;
  insertBan(ban: Ban): Promise<void>;
  /** The bans that have not ended by `now` and were not lifted. */
  listBans(now: number): Promise<Ban[]>;
  /** Ends the key's ban and forgets it for the length of later ones. False if it had none that was still on. */
  liftBan(keyId: string, now: number, by: Operator): Promise<boolean>;
  /** The bans of a key, over, lifted or on, the newest first. */
  banHistory(keyId: string, limit: number): Promise<(Ban & { readonly liftedAt: number | null })[]>;
}

export interface UsageStorage {
  /** Adds what was counted within the minute that begins at `minute`; several instances add up. */
  add(minute: number, records: readonly UsageRecord[]): Promise<void>;
  /** The usage of each key since a moment, rounded down to a period, the busiest first; of one key if it is named. */
  byKey(query: { since: number; now: number; keyId?: string; limit?: number }): Promise<KeyUsage[]>;
  /** The usage of one key, or `ALL_KEYS`, in each period in which there was some. */
  series(query: { keyId: string; period: UsagePeriod; since: number }): Promise<UsagePoint[]>;
  /** Forgets what is older than is kept. */
  purge(now: number): Promise<void>;
}

export interface AuditStorage {
  /** What operators changed, the newest first: a page of it, of one target if it is named. */
  list(query: AuditQuery): Promise<AuditEntry[]>;
}

export interface AuditQuery {
  /** Unix seconds. */
  readonly since: number;
  readonly limit: number;
  /** Only entries with a smaller id. */
  readonly before?: number;
  readonly target?: string;
}

/** The console's logins and sessions, by the hashes of their tokens, so that whoever reads the database opens none. */
export interface SessionStorage {
  /** Offers a login that opens one session until `endsAt`. */
  offer(loginHash: string, login: { endsAt: number; actor: string }): Promise<void>;
  /** Spends a login and opens a session for it; undefined if there is no such login, it has ended or was spent. */
  open(loginHash: string, session: NewSession): Promise<ConsoleSession | undefined>;
  /** A session that is still open. */
  find(hash: string, now: number): Promise<ConsoleSession | undefined>;
  /** The sessions that are open, the newest first. */
  list(now: number): Promise<ConsoleSession[]>;
  /** Ends a session by its id. False if it was not open. */
  revoke(id: string, now: number, by: Operator): Promise<boolean>;
}

export interface NewSession {
  readonly hash: string;
  readonly now: number;
  readonly endsAt: number;
}

/** An open session of the console. Moments are Unix seconds. */
export interface ConsoleSession {
  /** Tells it apart without opening it. */
  readonly id: string;
  /** The system user who asked for the login. */
  readonly actor: string;
  readonly openedAt: number;
  readonly endsAt: number;
}

/** What both windows of a key have counted. Moments are Unix seconds, `day` is days since 1970. */
export interface WindowCounts {
  readonly keyId: string;
  readonly minuteEnds: number;
  readonly minuteUsed: number;
  readonly day: number;
  readonly dayUsed: number;
}

/** A temporary ban of a key. Moments are Unix seconds. */
export interface Ban {
  readonly keyId: string;
  readonly startedAt: number;
  readonly endsAt: number;
  /** 1 for a first ban; each further one without a quiet day between is one higher, and longer. */
  readonly level: number;
  readonly reason: string;
}

export interface LimiterMemory {
  readonly counts: WindowCounts | undefined;
  /** The key's last ban that was not lifted, over or not. */
  readonly ban: Ban | undefined;
}
