import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { PetCatalog, PetCatalogOptions, RetryEvent } from '../../client/src/pet-catalog.ts';
import { virtualTime } from '../kit/client/virtual-time.ts';
import { type TestService, temporaryFolder, testService } from '../kit/service.ts';
import { clientBefore } from './programs.ts';

/** The TypeScript client of the release before, as it was published, calls the present service. */

const folder = temporaryFolder();
let client: Awaited<ReturnType<typeof clientBefore>>['client'];

before(async () => {
  ({ client } = await clientBefore(folder.path));
});
after(() => folder[Symbol.dispose]());

/** A client of the release before, on the clock of the service; `lose` loses the next answer on its way. */
function open(service: TestService, apiKey: string, options: Partial<PetCatalogOptions> = {}) {
  const time = virtualTime(service.clock);
  const retries: RetryEvent[] = [];
  let loses = false;
  const send: typeof fetch = async (input, init) => {
    const response = await time.fetch(input, init);
    if (!loses) return response;
    loses = false;
    throw new TypeError('fetch failed');
  };
  const catalog: PetCatalog = new client.PetCatalog({
    ...{ baseUrl: service.url, apiKey, fetch: send, clock: time.clock, onRetry: (event) => retries.push(event) },
    ...options,
  });
  const lose = () => {
    loses = true;
  };
  return { catalog, retries, time, lose, run: <Result>(call: PromiseLike<Result>) => time.run(Promise.resolve(call)) };
}

test('it creates, lists, gets, changes, orders and cancels', async () => {
  await using service = await testService();
  const { secret } = await service.issue({ plan: 'business' });
  const { catalog, run } = open(service, secret);
  const dog = await run(catalog.categories.create({ name: 'Dog', description: 'Loyal' }));
  assert.deepEqual(dog, { id: 1, name: 'Dog', description: 'Loyal' });
  const { data, status, headers } = await run(catalog.categories.create({ name: 'Cat' }).withResponse());
  assert.deepEqual([data.id, status, headers.get('location')], [2, 201, '/v1/categories/2']);
  const rex = await run(catalog.pets.create({ name: 'Rex', categoryId: 1 }));
  await run(catalog.pets.create({ name: 'Tom', categoryId: 2, status: 'pending' }));

  // The whole list twice: the second time it is revalidated.
  for (const _ of [1, 2]) assert.deepEqual([...(await run(catalog.categories.list()))], [dog, data]);
  assert.deepEqual(await run(catalog.categories.get(2)), data);
  const pages = [];
  for await (const page of catalog.categories.pages({ limit: 1 })) pages.push(page.map(({ id }) => id));
  assert.deepEqual(pages, [[1], [2]]);
  const available = await run(catalog.pets.list({ status: 'available' }));
  assert.deepEqual([...available], [{ ...rex, status: 'available' }]);

  assert.deepEqual(await run(catalog.pets.update(rex.id, { name: 'Max' })), { ...rex, name: 'Max' });
  const stock = await run(catalog.inventory.get(rex.id).withResponse());
  const ifMatch = stock.headers.get('etag');
  assert.equal((await run(catalog.inventory.update(rex.id, { quantity: 5 }, { ifMatch }))).quantity, 5);
  const order = await run(catalog.orders.place({ petId: rex.id, quantity: 2 }));
  assert.deepEqual(await run(catalog.orders.get(order.id)), order);
  assert.equal((await run(catalog.inventory.get(rex.id))).quantity, 3);
  await run(catalog.orders.cancel(order.id));
  assert.deepEqual([...(await run(catalog.orders.list()))], []);
  assert.equal((await run(catalog.inventory.get(rex.id))).quantity, 5);
  const { plan, ban } = await run(catalog.rateLimit());
  assert.deepEqual([plan, ban], ['business', null]);
  assert.deepEqual(service.events.failures, []);
});

test('a create or a cancellation whose answer is lost is sent again and happens once', async () => {
  await using service = await testService();
  const { secret } = await service.issue({ plan: 'business' });
  const { catalog, retries, lose, run } = open(service, secret);
  lose();
  const dog = await run(catalog.categories.create({ name: 'Dog' }));
  await run(catalog.pets.create({ name: 'Rex', categoryId: dog.id }));
  lose();
  const order = await run(catalog.orders.place({ petId: 1, quantity: 1 }));
  assert.deepEqual([...(await run(catalog.categories.list()))], [{ id: 1, name: 'Dog' }]);
  assert.deepEqual([...(await run(catalog.orders.list()))], [order]);
  lose();
  await run(catalog.orders.cancel(order.id));
  assert.deepEqual(
    retries.map(({ operation, error }) => [operation, error.name]),
    ['createCategory', 'placeOrder', 'cancelOrder'].map((operation) => [operation, 'ConnectionError']),
  );
});
