import type { ApiPromise } from './api-promise.ts';
import type {
  Category,
  InventoryItem,
  ListCategoriesQuery,
  ListInventoryQuery,
  ListOrdersQuery,
  ListPetsQuery,
  NewCategory,
  NewOrder,
  NewPet,
  NewQuantity,
  Order,
  Pet,
  PetUpdate,
  RateLimit,
} from './contract.ts';
import type { CallOptions, CreateOptions, PetCatalogOptions } from './options.ts';
import { type Page, Transport } from './transport.ts';

export type { ApiPromise, ApiResponse } from './api-promise.ts';
export type * from './contract.ts';
export { ApiError, ConnectionError, PetCatalogError, TimeoutError } from './errors.ts';
export type {
  CallOptions,
  Clock,
  CreateOptions,
  DeprecationEvent,
  Limits,
  PetCatalogOptions,
  ResponseEvent,
} from './options.ts';
export type { Page } from './transport.ts';

const CATEGORIES_PER_PAGE = 1_000;
/** Of pets, of orders and of the inventory. */
const ITEMS_PER_PAGE = 100;

/**
 * A client of the pet catalog service. Its calls share one view of the key's limit. Each rejects with an `ApiError`, a
 * `ConnectionError`, a `TimeoutError`, or the reason of its signal.
 */
export class PetCatalog {
  readonly #transport: Transport;
  /** The pet categories. */
  readonly categories: Categories;
  /** The pets of the catalog. */
  readonly pets: Pets;
  /** The orders of the store. */
  readonly orders: Orders;
  /** The stock of the store. */
  readonly inventory: Inventory;

  /** Throws a TypeError if the address or the key is missing or malformed. Sends nothing yet. */
  constructor(options: PetCatalogOptions) {
    this.#transport = new Transport(options);
    this.categories = new Categories(this.#transport);
    this.pets = new Pets(this.#transport);
    this.orders = new Orders(this.#transport);
    this.inventory = new Inventory(this.#transport);
  }

  /** The requests left to the key. Does not count against the limits, and works over the limit and during a ban. */
  rateLimit(options?: CallOptions): ApiPromise<RateLimit> {
    return this.#transport.request('getRateLimit', { path: '/rate_limit', options, isFree: true });
  }
}

/** The pet categories. */
class Categories {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Every category, in ascending order of id; with a query, one page. The client caches the last whole list and
   * revalidates it with its ETag.
   */
  list(query?: ListCategoriesQuery, options?: CallOptions): ApiPromise<Page<Category>> {
    return this.#transport.page('listCategories', { path: '/categories', query, options });
  }

  /** Every category, one by one. Requests the pages as they are needed. */
  all(query?: Omit<ListCategoriesQuery, 'limit'>, options?: CallOptions): AsyncGenerator<Category, void, void> {
    return items(this.pages(query, options));
  }

  /** Every category, page by page. Default: 1,000 per page. */
  pages(query?: ListCategoriesQuery, options?: CallOptions): AsyncGenerator<Page<Category>, void, void> {
    return pages((next) => this.list({ limit: CATEGORIES_PER_PAGE, ...query, ...next }, options));
  }

  /** Creates a category. Retries do not create a second one. */
  create(category: NewCategory, options?: CreateOptions): ApiPromise<Category> {
    return this.#transport.request('createCategory', { method: 'POST', path: '/categories', body: category, options });
  }

  /**
   * One category.
   * @experimental
   */
  get(categoryId: number, options?: CallOptions): ApiPromise<Category> {
    return this.#transport.request('getCategory', { path: '/categories', id: categoryId, options });
  }
}

/** The pets of the catalog. */
class Pets {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** One page of the pets, in ascending order of id. Default: 20 per page. */
  list(query?: ListPetsQuery, options?: CallOptions): ApiPromise<Page<Pet>> {
    return this.#transport.page('listPets', { path: '/pets', query, options });
  }

  /** Every pet that the query names, one by one. Requests the pages as they are needed. */
  all(query?: Omit<ListPetsQuery, 'limit'>, options?: CallOptions): AsyncGenerator<Pet, void, void> {
    return items(this.pages(query, options));
  }

  /** Every pet that the query names, page by page. Default: 100 per page. */
  pages(query?: ListPetsQuery, options?: CallOptions): AsyncGenerator<Page<Pet>, void, void> {
    return pages((next) => this.list({ limit: ITEMS_PER_PAGE, ...query, ...next }, options));
  }

  /** Creates a pet with a stock of 1, or 0 if it is sold. Retries do not create a second one. */
  create(pet: NewPet, options?: CreateOptions): ApiPromise<Pet> {
    return this.#transport.request('createPet', { method: 'POST', path: '/pets', body: pet, options });
  }

  /**
   * One pet.
   * @deprecated Removed on 5 December 2030. Use `list({ ids: [petId] })`.
   */
  get(petId: number, options?: CallOptions): ApiPromise<Pet> {
    return this.#transport.request('getPet', { path: '/pets', id: petId, options });
  }

  /**
   * Changes the given members of a pet, and the stock with its status.
   * @experimental
   */
  update(petId: number, change: PetUpdate, options?: CallOptions): ApiPromise<Pet> {
    return this.#transport.request('updatePet', { method: 'PATCH', path: '/pets', id: petId, body: change, options });
  }
}

/** The orders of the store. */
class Orders {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** One page of the orders, in ascending order of id. Default: 20. */
  list(query?: ListOrdersQuery, options?: CallOptions): ApiPromise<Page<Order>> {
    return this.#transport.page('listOrders', { path: '/store/orders', query, options });
  }

  /** Every order, one by one. Requests the pages as they are needed. */
  all(query?: Omit<ListOrdersQuery, 'limit'>, options?: CallOptions): AsyncGenerator<Order, void, void> {
    return items(this.pages(query, options));
  }

  /** Every order, page by page. Default: 100 per page. */
  pages(query?: ListOrdersQuery, options?: CallOptions): AsyncGenerator<Page<Order>, void, void> {
    return pages((next) => this.list({ limit: ITEMS_PER_PAGE, ...query, ...next }, options));
  }

  /**
   * Places an order and reduces the stock. Retries do not place a second one.
   * @experimental
   */
  place(order: NewOrder, options?: CreateOptions): ApiPromise<Order> {
    return this.#transport.request('placeOrder', { method: 'POST', path: '/store/orders', body: order, options });
  }

  /**
   * One order.
   * @experimental
   */
  get(orderId: number, options?: CallOptions): ApiPromise<Order> {
    return this.#transport.request('getOrder', { path: '/store/orders', id: orderId, options });
  }

  /**
   * Cancels an order and returns its stock. If the response to an attempt is lost and the retry finds no order, the
   * call succeeds.
   * @beta
   */
  cancel(orderId: number, options?: CallOptions): ApiPromise<void> {
    return this.#transport.request('cancelOrder', { method: 'DELETE', path: '/store/orders', id: orderId, options });
  }
}

/** The stock of the store. */
class Inventory {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** One page of the stock, in ascending order of petId. Default: 20. */
  list(query?: ListInventoryQuery, options?: CallOptions): ApiPromise<Page<InventoryItem>> {
    return this.#transport.page('listInventory', { path: '/inventory', query, options });
  }

  /** The stock of every pet, one by one. Requests the pages as they are needed. */
  all(query?: Omit<ListInventoryQuery, 'limit'>, options?: CallOptions): AsyncGenerator<InventoryItem, void, void> {
    return items(this.pages(query, options));
  }

  /** The stock of every pet, page by page. Default: 100 per page. */
  pages(query?: ListInventoryQuery, options?: CallOptions): AsyncGenerator<Page<InventoryItem>, void, void> {
    return pages((next) => this.list({ limit: ITEMS_PER_PAGE, ...query, ...next }, options));
  }

  /**
   * The stock of one pet.
   * @experimental
   */
  get(petId: number, options?: CallOptions): ApiPromise<InventoryItem> {
    return this.#transport.request('getInventory', { path: '/inventory', id: petId, options });
  }

  /**
   * Sets the stock of a pet.
   * @experimental
   */
  update(petId: number, stock: NewQuantity, options?: CallOptions): ApiPromise<InventoryItem> {
    return this.#transport.request('updateInventory', {
      method: 'PATCH',
      path: '/inventory',
      id: petId,
      body: stock,
      options,
    });
  }
}

async function* items<Item>(all: AsyncIterable<Page<Item>>): AsyncGenerator<Item, void, void> {
  for await (const page of all) yield* page;
}

async function* pages<Item>(
  list: (next: { cursor?: string }) => Promise<Page<Item>>,
): AsyncGenerator<Page<Item>, void, void> {
  let items = await list({});
  yield items;
  while (items.next !== undefined) {
    items = await list({ cursor: items.next });
    yield items;
  }
}
