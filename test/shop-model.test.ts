import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Category } from '../src/catalog/category.ts';
import type { Order } from '../src/catalog/order.ts';
import type { InventoryItem, Pet, PetStatus } from '../src/catalog/pet.ts';
import { everyPage, json, type TestService, testService, UNLIMITED } from './kit/service.ts';

const ACTORS = 4;
const NOWHERE = 999_999_999;

/** What an actor may do next; `pick` chooses among what it has made so far, or something that does not exist. */
const anyStep = fc.oneof(
  fc.record({ kind: fc.constant('createCategory' as const), name: fc.string({ minLength: 1, maxLength: 20 }) }),
  fc.record({
    kind: fc.constant('createPet' as const),
    pick: fc.nat(),
    status: fc.constantFrom('available', 'pending', 'sold'),
  }),
  fc.record({
    kind: fc.constant('updatePet' as const),
    pick: fc.nat(),
    change: fc.record(
      {
        name: fc.constantFrom('Max', 'Moritz'),
        category: fc.nat(),
        status: fc.constantFrom<PetStatus>('available', 'pending', 'sold'),
      },
      { requiredKeys: [] },
    ),
  }),
  fc.record({ kind: fc.constant('placeOrder' as const), pick: fc.nat(), quantity: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ kind: fc.constant('cancelOrder' as const), pick: fc.nat() }),
  fc.record({ kind: fc.constant('setStock' as const), pick: fc.nat(), quantity: fc.integer({ min: 0, max: 6 }) }),
  fc.record({ kind: fc.constant('look' as const) }),
);
type Step = typeof anyStep extends fc.Arbitrary<infer S> ? S : never;
/** Each has stock from the beginning: few of the orders would find any, and few cancellations an order. */
const START: readonly Step[] = [
  { kind: 'createCategory', name: 'Dog' },
  { kind: 'createPet', pick: 0, status: 'available' },
  { kind: 'setStock', pick: 0, quantity: 6 },
];

interface ModelPet {
  readonly pet: Pet;
  quantity: number;
}

/** One caller with its own small model of what it has made; what others make it does not touch. */
class Actor {
  readonly categories = new Map<number, Category>();
  readonly pets = new Map<number, ModelPet>();
  readonly orders = new Map<number, Order>();
  readonly #service: TestService;
  readonly #secret: string;
  #creates = 0;
  readonly #name: string;

  constructor(service: TestService, secret: string, name: string) {
    this.#service = service;
    this.#secret = secret;
    this.#name = name;
  }

  async take(step: Step): Promise<void> {
    if (step.kind === 'createCategory') await this.#createCategory(step.name);
    if (step.kind === 'updatePet') await this.#updatePet(step.pick, step.change);
    if (step.kind === 'createPet') await this.#createPet(step.pick, step.status as PetStatus);
    if (step.kind === 'placeOrder') await this.#placeOrder(step.pick, step.quantity);
    if (step.kind === 'cancelOrder') await this.#cancelOrder(step.pick);
    if (step.kind === 'setStock') await this.#setStock(step.pick, step.quantity);
    if (step.kind === 'look') await this.look();
  }

  /** Everything that this actor has made is in the lists as its model has it. */
  async look(): Promise<void> {
    const byId = <T extends { id: number }>(items: T[]) => new Map(items.map((item) => [item.id, item]));
    const categories = byId(await json<Category[]>(this.#send('GET', '/categories')));
    const get = (path: string) => this.#send('GET', path);
    const pets = byId((await everyPage<Pet>(get, '/pets?limit=100')).items);
    const orders = byId((await everyPage<Order>(get, '/store/orders?limit=100')).items);
    const { items } = await everyPage<InventoryItem>(get, '/inventory?limit=100');
    const stock = new Map(items.map((item) => [item.petId, item]));
    for (const [id, category] of this.categories) assert.deepEqual(categories.get(id), category);
    for (const [id, order] of this.orders) assert.deepEqual(orders.get(id), order);
    for (const [petId, made] of this.pets)
      assert.deepEqual([pets.get(petId), stock.get(petId)], [made.pet, itemOf(made)]);
  }

  async #updatePet(pick: number, change: { name?: string; category?: number; status?: PetStatus }): Promise<void> {
    const petId = pickKey(this.pets, pick);
    const { category, ...given } = change;
    const body = { ...given, ...(category !== undefined && { categoryId: pickKey(this.categories, category) }) };
    const response = await this.#send('PATCH', `/pets/${petId}`, body);
    const known = this.pets.get(petId);
    if (Object.keys(body).length === 0) return assert.equal(response.status, 400);
    if (!known) return assert.equal(response.status, 404);
    if (body.categoryId === NOWHERE) return assert.equal(response.status, 400);
    const pet = { ...known.pet, ...body };
    assert.deepEqual(await json<Pet>(response), pet);
    const quantity = body.status === 'sold' ? 0 : Math.max(known.quantity, body.status ? 1 : 0);
    this.pets.set(petId, { pet, quantity });
  }

  async #createCategory(text: string): Promise<void> {
    const name = `${text.trim() || 'x'}`;
    const response = await this.#create('/categories', { name });
    if (response.status === 400) return assert.match(name, /\p{Cc}/u);
    const category = await json<Category>(response);
    assert.deepEqual(category, { id: category.id, name });
    this.categories.set(category.id, category);
  }

  async #createPet(pick: number, status: PetStatus): Promise<void> {
    const categoryId = pickKey(this.categories, pick);
    const response = await this.#create('/pets', { name: 'Rex', categoryId, status });
    if (categoryId === NOWHERE) return assert.equal(response.status, 400);
    const pet = await json<Pet>(response);
    assert.deepEqual(pet, { id: pet.id, name: 'Rex', categoryId, status });
    this.pets.set(pet.id, { pet, quantity: status === 'sold' ? 0 : 1 });
  }

  async #placeOrder(pick: number, quantity: number): Promise<void> {
    const petId = pickKey(this.pets, pick);
    const response = await this.#create('/store/orders', { petId, quantity });
    const known = this.pets.get(petId);
    if (!known) return assert.equal(response.status, 400);
    if (known.pet.status === 'pending' || known.quantity < quantity) return assert.equal(response.status, 409);
    const order = await json<Order>(response);
    assert.deepEqual(order, { id: order.id, petId, quantity, complete: false });
    this.orders.set(order.id, order);
    this.#stock(petId, known.quantity - quantity);
  }

  async #cancelOrder(pick: number): Promise<void> {
    const id = pickKey(this.orders, pick);
    const order = this.orders.get(id);
    // Twice at once: only one of them may return the stock.
    const both = await Promise.all([1, 2].map(() => this.#send('DELETE', `/store/orders/${id}`)));
    const statuses = both.map(({ status }) => status).toSorted();
    assert.deepEqual(statuses, order ? [204, 404] : [404, 404]);
    if (!order) return;
    this.orders.delete(id);
    this.#stock(order.petId, (this.pets.get(order.petId)?.quantity ?? 0) + order.quantity);
  }

  async #setStock(pick: number, quantity: number): Promise<void> {
    const petId = pickKey(this.pets, pick);
    const response = await this.#send('PATCH', `/inventory/${petId}`, { quantity });
    if (petId === NOWHERE) return assert.equal(response.status, 404);
    this.#stock(petId, quantity);
    const item = await json<InventoryItem>(response);
    assert.deepEqual(item, { petId, quantity, status: this.pets.get(petId)?.pet.status });
  }

  #stock(petId: number, quantity: number): void {
    const { pet } = this.pets.get(petId) ?? assert.fail();
    const inStock = pet.status === 'sold' ? 'available' : pet.status;
    this.pets.set(petId, { pet: { ...pet, status: quantity === 0 ? 'sold' : inStock }, quantity });
  }

  /** A create that is retried while it is under way, as a nervous client would. */
  async #create(path: string, body: unknown): Promise<Response> {
    this.#creates += 1;
    const headers = { 'idempotency-key': `${this.#name} ${this.#creates}` };
    const [first, retry] = await Promise.all([1, 2].map(() => this.#send('POST', path, body, headers)));
    assert.equal(first?.status, retry?.status);
    return first ?? assert.fail();
  }

  #send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response> {
    return this.#service.send(this.#secret, method, path, body, headers);
  }
}

function itemOf({ pet, quantity }: ModelPet): InventoryItem {
  return { petId: pet.id, quantity, status: pet.status };
}

function pickKey(made: ReadonlyMap<number, unknown>, pick: number): number {
  const ids = [...made.keys()];
  return ids[pick % (ids.length + 1)] ?? NOWHERE;
}

test('random concurrent callers get the results of a small model', async () => {
  await using service = await testService();
  let runs = 0;
  const run = fc.asyncProperty(
    fc.array(fc.array(anyStep, { maxLength: 25, size: 'max' }), { minLength: ACTORS, maxLength: ACTORS }),
    async (plans) => {
      runs += 1;
      const actors = await Promise.all(
        plans.map(async (_, index) => {
          const { secret } = await service.issue(UNLIMITED);
          return new Actor(service, secret, `run ${runs} actor ${index}`);
        }),
      );
      await Promise.all(
        actors.map(async (actor, index) => {
          for (const step of [...START, ...(plans[index] ?? [])]) await actor.take(step);
        }),
      );
      for (const actor of actors) await actor.look();
    },
  );
  await fc.assert(run, { numRuns: 20 });
  assert.deepEqual(service.events.failures, []);
});
