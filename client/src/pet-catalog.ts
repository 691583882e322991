import type {
  Category,
  InventoryItem,
  ListCategoriesQuery,
  ListOrdersQuery,
  ListPetsQuery,
  NewCategory,
  NewOrder,
  NewPet,
  NewQuantity,
  Order,
  Pet,
  RateLimit,
} from './contract.ts';
import type { CallOptions, CreateOptions, PetCatalogOptions } from './options.ts';
import { type Page, Transport } from './transport.ts';

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
const ORDERS_PER_PAGE = 1_000;
const PETS_PER_PAGE = 100;

/**
 * A client of the pet catalog service. Its calls share one view of the key's limit. Each rejects with an `ApiError`, a
 * `ConnectionError`, a `TimeoutError`, or the reason of its signal.
 */
export class PetCatalog {
  readonly #transport: Transport;
  /** The categories by which pets are classified. */
  readonly categories: Categories;
  /** The pets of the catalog. */
  readonly pets: Pets;
  /** The orders of the store. */
  readonly orders: Orders;
  /** The stock of the store. */
  readonly inventory: Inventory;

  /** Throws a TypeError if address or key cannot be right. Nothing is sent yet. */
  constructor(options: PetCatalogOptions) {
    this.#transport = new Transport(options);
    this.categories = new Categories(this.#transport);
    this.pets = new Pets(this.#transport);
    this.orders = new Orders(this.#transport);
    this.inventory = new Inventory(this.#transport);
  }

  /** What the key may still do. Free of charge, and answered beyond the limit and during a ban too. */
  rateLimit(options?: CallOptions): Promise<RateLimit> {
    return this.#transport.value('getRateLimit', { path: '/rate_limit', options, isFree: true });
  }
}

/** The categories by which pets are classified. */
class Categories {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /**
   * Every category, id ascending; with a query, a page. The client remembers the last whole list, and asks only whether
   * it has changed.
   */
  list(query?: ListCategoriesQuery, options?: CallOptions): Promise<Page<Category>> {
    return this.#transport.page('listCategories', { path: '/categories', query, options });
  }

  /** Every category, a page at a time: 1,000 unless told otherwise. */
  pages(query?: ListCategoriesQuery, options?: CallOptions): AsyncGenerator<Page<Category>, void, void> {
    return pages((next) => this.list({ limit: CATEGORIES_PER_PAGE, ...query, ...next }, options));
  }

  /** Creates a category. Repeated, it is created once. */
  create(category: NewCategory, options?: CreateOptions): Promise<Category> {
    return this.#transport.value('createCategory', { method: 'POST', path: '/categories', body: category, options });
  }

  /**
   * One category.
   * @experimental
   */
  get(categoryId: number, options?: CallOptions): Promise<Category> {
    return this.#transport.value('getCategory', { path: '/categories', id: categoryId, options });
  }
}

/** The pets of the catalog. */
class Pets {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** A page of the pets, id ascending: 20 unless told otherwise. */
  list(query?: ListPetsQuery, options?: CallOptions): Promise<Page<Pet>> {
    return this.#transport.page('listPets', { path: '/pets', query, options });
  }

  /** Every pet, a page at a time: 100 unless told otherwise. */
  pages(query?: ListPetsQuery, options?: CallOptions): AsyncGenerator<Page<Pet>, void, void> {
    return pages((next) => this.list({ limit: PETS_PER_PAGE, ...query, ...next }, options));
  }

  /** Creates a pet, with a stock of one unless it is sold. Repeated, it is created once. */
  create(pet: NewPet, options?: CreateOptions): Promise<Pet> {
    return this.#transport.value('createPet', { method: 'POST', path: '/pets', body: pet, options });
  }

  /**
   * One pet.
   * @deprecated It ends on 5 December 2030. Use `list` or `pages`.
   */
  get(petId: number, options?: CallOptions): Promise<Pet> {
    return this.#transport.value('getPet', { path: '/pets', id: petId, options });
  }
}

/** The orders of the store. */
class Orders {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Every order, id ascending; with a query, a page. */
  list(query?: ListOrdersQuery, options?: CallOptions): Promise<Page<Order>> {
    return this.#transport.page('listOrders', { path: '/store/orders', query, options });
  }

  /** Every order, a page at a time: 1,000 unless told otherwise. */
  pages(query?: ListOrdersQuery, options?: CallOptions): AsyncGenerator<Page<Order>, void, void> {
    return pages((next) => this.list({ limit: ORDERS_PER_PAGE, ...query, ...next }, options));
  }

  /**
   * Places an order and takes its stock. Repeated, it is placed once.
   * @experimental
   */
  place(order: NewOrder, options?: CreateOptions): Promise<Order> {
    return this.#transport.value('placeOrder', { method: 'POST', path: '/store/orders', body: order, options });
  }

  /**
   * Cancels an order and returns its stock. If the answer to an attempt is lost and the next one finds no order, the
   * order counts as cancelled.
   * @beta
   */
  async cancel(orderId: number, options?: CallOptions): Promise<void> {
    await this.#transport.request('cancelOrder', { method: 'DELETE', path: '/store/orders', id: orderId, options });
  }
}

/** The stock of the store. */
class Inventory {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** The stock of every pet, by the pet's id, ascending. */
  list(options?: CallOptions): Promise<InventoryItem[]> {
    return this.#transport.value('listInventory', { path: '/inventory', options });
  }

  /**
   * Sets the stock of a pet.
   * @experimental
   */
  update(petId: number, stock: NewQuantity, options?: CallOptions): Promise<InventoryItem> {
    return this.#transport.value('updateInventory', {
      method: 'PATCH',
      path: '/inventory',
      id: petId,
      body: stock,
      options,
    });
  }
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
