// Written by `npm run contract -w client` out of openapi.json. Do not edit.

/** A category by which pets are classified */
export interface Category {
  /** Unique identifier, assigned by the service on creation and never reused */
  readonly id: number;
  /** Category name, for example a species */
  readonly name: string;
  /** Short description of the category */
  readonly description?: string;
}

/** A category to be created */
export interface NewCategory {
  /** Category name, for example a species; 1 to 255 characters */
  readonly name: string;
  /** Short description of the category; up to 2,000 characters */
  readonly description?: string | undefined;
}

/** A pet of the catalog */
export interface Pet {
  /** Unique identifier, assigned by the service */
  readonly id: number;
  /** Pet name */
  readonly name: string;
  /** The category of the pet */
  readonly categoryId: number;
  /** How the pet stands in the store; a pending one is reserved */
  readonly status: PetStatus;
}

/** A pet to be created */
export interface NewPet {
  /** Pet name; 1 to 255 characters */
  readonly name: string;
  /** The category of the pet; whole, from 1 */
  readonly categoryId: number;
  /** How the pet stands in the store; a pending one is reserved; `available` if not given */
  readonly status?: PetStatus | undefined;
}

/** The members of a pet to be changed, at least one */
export interface PetUpdate {
  /** Pet name; 1 to 255 characters */
  readonly name?: string | undefined;
  /** The category of the pet; whole, from 1 */
  readonly categoryId?: number | undefined;
  /** How the pet stands in the store; a pending one is reserved */
  readonly status?: PetStatus | undefined;
}

/** An order of the store */
export interface Order {
  /** Unique identifier, assigned by the service */
  readonly id: number;
  /** The pet that is ordered */
  readonly petId: number;
  /** How many of it */
  readonly quantity: number;
  /** When the order ships, in UTC */
  readonly shipDate?: string;
  /** Whether the ship date has passed */
  readonly complete: boolean;
}

/** An order to be placed */
export interface NewOrder {
  /** The pet that is ordered; whole, from 1 */
  readonly petId: number;
  /** How many of it; whole, 1 to 1,000 */
  readonly quantity: number;
  /** When the order ships, in UTC; at most five minutes in the past; RFC 3339, ending in `Z` */
  readonly shipDate?: string | undefined;
}

/** The stock of a pet */
export interface InventoryItem {
  /** The pet */
  readonly petId: number;
  /** How many there are */
  readonly quantity: number;
  /** How the pet stands in the store; a pending one is reserved */
  readonly status: PetStatus;
}

/** A stock to be set */
export interface NewQuantity {
  /** How many there are; whole, 0 to 1,000,000 */
  readonly quantity: number;
}

/** The current window of a key, a minute or a UTC day */
export interface RateLimitWindow {
  /** Requests allowed per window */
  readonly limit: number;
  /** Requests left in this window */
  readonly remaining: number;
  /** When the window resets, in Unix seconds */
  readonly reset: number;
}

/** A ban of a key */
export interface Ban {
  /** When the ban ends, in Unix seconds */
  readonly until: number;
  /** Why the key is banned */
  readonly reason: string;
}

/** The state of the limits of a key */
export interface RateLimit {
  /** The key's plan */
  readonly plan: Plan;
  /** The current window of a key, a minute or a UTC day */
  readonly minute: RateLimitWindow;
  /** The current window of a key, a minute or a UTC day */
  readonly day: RateLimitWindow;
  /** The ban of the key; null without one */
  readonly ban: Ban | null;
}

/** The query of listCategories. */
export interface ListCategoriesQuery {
  /** How many items to return, 1 to 1,000 */
  readonly limit?: number | undefined;
  /** The `next` of the previous page */
  readonly cursor?: string | undefined;
}

/** The query of listPets. */
export interface ListPetsQuery {
  /** Only pets with one of these ids, at most 100, on one page unless there is a `limit`; `[]` gives `[]` */
  readonly ids?: readonly number[] | undefined;
  /** Only pets with this status */
  readonly status?: PetStatus | undefined;
  /** Only pets of this category; whole, from 1 */
  readonly categoryId?: number | undefined;
  /** How many items to return, 1 to 100; default 20 */
  readonly limit?: number | undefined;
  /** The `next` of the previous page */
  readonly cursor?: string | undefined;
}

/** The query of listOrders. */
export interface ListOrdersQuery {
  /** Only orders of this pet; whole, from 1 */
  readonly petId?: number | undefined;
  /** How many items to return, 1 to 100; default 20 */
  readonly limit?: number | undefined;
  /** The `next` of the previous page */
  readonly cursor?: string | undefined;
}

/** The query of listInventory. */
export interface ListInventoryQuery {
  /** How many items to return, 1 to 100; default 20 */
  readonly limit?: number | undefined;
  /** The `next` of the previous page */
  readonly cursor?: string | undefined;
}

/** The operations of the contract. */
export type Operation =
  | 'listCategories'
  | 'createCategory'
  | 'getCategory'
  | 'listPets'
  | 'createPet'
  | 'getPet'
  | 'updatePet'
  | 'listOrders'
  | 'placeOrder'
  | 'getOrder'
  | 'cancelOrder'
  | 'listInventory'
  | 'getInventory'
  | 'updateInventory'
  | 'getRateLimit';

/** How a pet stands in the store. */
export type PetStatus = 'available' | 'pending' | 'sold';

/** The plans of API keys. */
export type Plan = 'free' | 'pro' | 'business' | 'enterprise';

/** Every code that an error of the service can have. The set is closed. */
export type ErrorCode =
  | 'invalid_json'
  | 'validation_failed'
  | 'malformed_request'
  | 'missing_api_key'
  | 'invalid_api_key'
  | 'insufficient_scope'
  | 'not_found'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'order_not_cancellable'
  | 'insufficient_stock'
  | 'catalog_full'
  | 'gone'
  | 'precondition_failed'
  | 'payload_too_large'
  | 'uri_too_long'
  | 'unsupported_media_type'
  | 'expectation_failed'
  | 'idempotency_key_reused'
  | 'rate_limit_exceeded'
  | 'daily_quota_exceeded'
  | 'key_banned'
  | 'headers_too_large'
  | 'internal_error'
  | 'not_implemented'
  | 'http_version_not_supported'
  | 'unavailable'
  | 'outcome_unknown';
