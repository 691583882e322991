/**
 * What the collections tell, in order: a category, a pet in it, an order of the pet, and what is left of the limits. It
 * runs any number of times on one database, because each id is taken from the answer that created it.
 */

/** A step of the story. `{{name}}` stands for a variable, everywhere. */
export interface Step {
  readonly operation: string;
  /** The name of the request, where it is not the operation. */
  readonly name?: string;
  readonly title?: string;
  readonly query?: Readonly<Record<string, string>>;
  /** Members that replace those of the example in the contract. */
  readonly body?: Readonly<Record<string, string | number>>;
  readonly idempotencyKey?: string;
  readonly status: number;
  /** Expected values, by their path in the body. */
  readonly expect?: Readonly<Record<string, string | number | boolean>>;
  /** Variables for the steps that follow, by their path in the body. */
  readonly keep?: Readonly<Record<string, string>>;
}

export const STORY: readonly Step[] = [
  {
    operation: 'createCategory',
    idempotencyKey: '{{$guid}}',
    status: 201,
    expect: { name: 'Dog' },
    keep: { categoryId: 'id' },
  },
  { operation: 'getCategory', status: 200, expect: { id: '{{categoryId}}' } },
  { operation: 'listCategories', query: { limit: '1' }, status: 200, expect: { length: 1 } },
  {
    operation: 'createPet',
    body: { categoryId: '{{categoryId}}' },
    // The id is new in each run, so the key is too, and it is known without a script.
    idempotencyKey: 'pet-of-{{categoryId}}',
    status: 201,
    expect: { name: 'Rex', categoryId: '{{categoryId}}', status: 'available' },
    keep: { petId: 'id' },
  },
  { operation: 'listPets', query: { ids: '{{petId}}' }, status: 200, expect: { length: 1, '[0].id': '{{petId}}' } },
  { operation: 'updatePet', status: 200, expect: { id: '{{petId}}', name: 'Max' } },
  { operation: 'getPet', status: 200, expect: { name: 'Max' } },
  { operation: 'getInventory', status: 200, expect: { quantity: 1 } },
  { operation: 'updateInventory', status: 200, expect: { petId: '{{petId}}', quantity: 5 } },
  { operation: 'listInventory', query: { limit: '1' }, status: 200, expect: { length: 1 } },
  {
    operation: 'placeOrder',
    body: { petId: '{{petId}}', quantity: 2 },
    idempotencyKey: 'order-of-{{petId}}',
    status: 201,
    expect: { petId: '{{petId}}', quantity: 2, complete: false },
    keep: { orderId: 'id' },
  },
  {
    operation: 'placeOrder',
    name: 'placeOrderAgain',
    title: 'Repeat the request: the same key gets the same order',
    body: { petId: '{{petId}}', quantity: 2 },
    idempotencyKey: 'order-of-{{petId}}',
    status: 201,
    expect: { id: '{{orderId}}' },
  },
  { operation: 'getOrder', status: 200, expect: { id: '{{orderId}}', quantity: 2 } },
  {
    operation: 'listOrders',
    query: { petId: '{{petId}}' },
    status: 200,
    expect: { length: 1, '[0].id': '{{orderId}}' },
  },
  { operation: 'cancelOrder', status: 204 },
  { operation: 'getRateLimit', status: 200 },
];
