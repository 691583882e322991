import { ApiPromise } from './api-promise.ts';
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
import type { Method } from './operation.ts';
import type { CallOptions, ChangeOptions, CreateOptions, PetCatalogOptions, RequestOptions } from './options.ts';
import { asPage, type Page, Transport } from './transport.ts';

export type { ApiPromise, ApiResponse } from './api-promise.ts';
export type * from './contract.ts';
export { ApiError, ConnectionError, PetCatalogError, TimeoutError } from './errors.ts';
export type { Method, OperationName } from './operation.ts';
export type * from './options.ts';
export type { Page } from './transport.ts';
export type { Categories, Inventory, Orders, Pets };

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

  /** Throws a TypeError that names the option that is missing, unknown or malformed. Sends nothing yet. */
  constructor(options: PetCatalogOptions = {}) {
    this.#transport = new Transport(options);
    this.categories = new Categories(this.#transport, CATEGORIES_PER_PAGE);
    this.pets = new Pets(this.#transport, ITEMS_PER_PAGE);
    this.orders = new Orders(this.#transport, ITEMS_PER_PAGE);
    this.inventory = new Inventory(this.#transport, ITEMS_PER_PAGE);
  }

  /** The requests left to the key. Does not count against the limits, and works over the limit and during a ban. */
  rateLimit(options?: CallOptions): ApiPromise<RateLimit> {
    return this.#transport.request('getRateLimit', { path: '/rate_limit', options, isFree: true });
  }

  /**
   * Calls an operation that this client does not know yet, with the limits, retries and errors of all others. The path
   * is relative to `baseUrl`, such as `/pets/7`. A list has `next`, the cursor of its next page.
   */
  request<Data = unknown>(method: Method, path: `/${string}`, options: RequestOptions = {}): ApiPromise<Data> {
    const { query, body, ...rest } = options;
    const operation = `${method} ${path.replace(/\/\d+(?=\/|$)/g, '/{id}') as `/${string}`}` as const;
    return this.#transport.request(operation, { method, path, query, options: rest, ...(body && { body }) });
  }
}

/** A list of the service, a page at a time. */
abstract class List<Item, Query extends ListInventoryQuery> {
  readonly #transport: Transport;
  readonly #itemsPerPage: number;

  constructor(transport: Transport, itemsPerPage: number) {
    this.#transport = transport;
    this.#itemsPerPage = itemsPerPage;
  }

  /** Sends the calls of the client. */
  protected get transport(): Transport {
    return this.#transport;
  }

  /** One page of the list. */
  abstract list(query?: Query, options?: CallOptions): ApiPromise<Page<Item>>;

  /** Everything that the query names, one by one. Requests the pages as they are needed. */
  async *all(query?: Omit<Query, 'limit'>, options?: CallOptions): AsyncGenerator<Item, void, void> {
    for await (const page of this.pages(query as Query, options)) yield* page;
  }

  /** Everything that the query names, page by page. Default: 1,000 categories per page, 100 items of another list. */
  async *pages(query?: Query, options?: CallOptions): AsyncGenerator<Page<Item>, void, void> {
    let cursor = query?.cursor;
    do {
      const page = await this.list({ limit: this.#itemsPerPage, ...(query as Query), cursor }, options);
      yield page;
      cursor = page.next;
    } while (cursor !== undefined);
  }
}

/** The pet categories. */
class Categories extends List<Category, ListCategoriesQuery> {
  /**
   * Every category, in ascending order of id; with a query, one page. The client caches the last whole list and
   * revalidates it with its ETag.
   */
  list(query?: ListCategoriesQuery, options?: CallOptions): ApiPromise<Page<Category>> {
    return this.transport.request('listCategories', { path: '/categories', query, options });
  }

  /** Creates a category. Retries do not create a second one. */
  create(category: NewCategory, options?: CreateOptions): ApiPromise<Category> {
    return this.transport.request('createCategory', { method: 'POST', path: '/categories', body: category, options });
  }

  /** One category. */
  get(categoryId: number, options?: CallOptions): ApiPromise<Category> {
    return this.transport.request('getCategory', { path: '/categories', id: categoryId, options });
  }
}

/** The pets of the catalog. */
class Pets extends List<Pet, ListPetsQuery> {
  /**
   * One page of the pets that fit every filter, in ascending order of id. Default: 20 per page; with `ids` all of them.
   * Resolves with `[]` for `ids: []`, and sends nothing.
   */
  list(query?: ListPetsQuery, options?: CallOptions): ApiPromise<Page<Pet>> {
    if (query?.ids?.length === 0) return nothing();
    return this.transport.request('listPets', { path: '/pets', query, options });
  }

  /** Creates a pet with a stock of 1, or 0 if it is sold. Retries do not create a second one. */
  create(pet: NewPet, options?: CreateOptions): ApiPromise<Pet> {
    return this.transport.request('createPet', { method: 'POST', path: '/pets', body: pet, options });
  }

  /**
   * One pet.
   * @deprecated Removed on 5 December 2030. Use `list({ ids: [petId] })`.
   */
  get(petId: number, options?: CallOptions): ApiPromise<Pet> {
    return this.transport.request('getPet', { path: '/pets', id: petId, options });
  }

  /**
   * Changes the given members of a pet, and the stock with its status.
   * @beta
   */
  update(petId: number, change: PetUpdate, options?: ChangeOptions): ApiPromise<Pet> {
    return this.transport.request('updatePet', { method: 'PATCH', path: '/pets', id: petId, body: change, options });
  }
}

/** The orders of the store. */
class Orders extends List<Order, ListOrdersQuery> {
  /** One page of the orders, in ascending order of id. Default: 20. */
  list(query?: ListOrdersQuery, options?: CallOptions): ApiPromise<Page<Order>> {
    return this.transport.request('listOrders', { path: '/store/orders', query, options });
  }

  /**
   * Places an order and reduces the stock. Retries do not place a second one.
   * @beta
   */
  place(order: NewOrder, options?: CreateOptions): ApiPromise<Order> {
    return this.transport.request('placeOrder', { method: 'POST', path: '/store/orders', body: order, options });
  }

  /** One order. */
  get(orderId: number, options?: CallOptions): ApiPromise<Order> {
    return this.transport.request('getOrder', { path: '/store/orders', id: orderId, options });
  }

  /**
   * Cancels an order and returns its stock. If the response to an attempt is lost and the retry finds no order, the
   * call succeeds.
   */
  cancel(orderId: number, options?: ChangeOptions): ApiPromise<void> {
    return this.transport.request('cancelOrder', { method: 'DELETE', path: '/store/orders', id: orderId, options });
  }
}

/** The stock of the store. */
class Inventory extends List<InventoryItem, ListInventoryQuery> {
  /** One page of the stock, in ascending order of petId. Default: 20. */
  list(query?: ListInventoryQuery, options?: CallOptions): ApiPromise<Page<InventoryItem>> {
    return this.transport.request('listInventory', { path: '/inventory', query, options });
  }

  /** The stock of one pet. */
  get(petId: number, options?: CallOptions): ApiPromise<InventoryItem> {
    return this.transport.request('getInventory', { path: '/inventory', id: petId, options });
  }

  /**
   * Sets the stock of a pet.
   * @beta
   */
  update(petId: number, stock: NewQuantity, options?: ChangeOptions): ApiPromise<InventoryItem> {
    return this.transport.request('updateInventory', {
      method: 'PATCH',
      path: '/inventory',
      id: petId,
      body: stock,
      options,
    });
  }
}

/** An empty page for which nothing is sent. */
function nothing(): ApiPromise<Page<never>> {
  const data = asPage<never>([], undefined);
  const limits = undefined;
  return new ApiPromise(Promise.resolve({ data, status: 200, headers: new Headers(), requestId: undefined, limits }));
}
