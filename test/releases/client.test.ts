import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { PetCatalog, PetCatalogOptions, RetryEvent } from '../../client/src/pet-catalog.ts';
import { virtualTime } from '../kit/client/virtual-time.ts';
import { type TestService, temporaryFolder, testService } from '../kit/service.ts';
import { clientBefore } from './programs.ts';

/** The TypeScript client of the release before, as it was published, calls the present service. */

const PER_MINUTE = 60;
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

test('after a 429 it waits for the reset, and no ban follows', async () => {
  await using service = await testService();
  const { secret } = await service.issue();
  const { catalog, retries, time, run } = open(service, secret);
  const calls = Array.from({ length: 2 * PER_MINUTE }, () => catalog.categories.list());
  assert.equal((await run(Promise.all(calls))).length, 2 * PER_MINUTE);
  assert.equal(time.elapsedMs(), 60_000);
  assert.ok(retries.length > 0 && retries.every(({ error }) => error.code === 'rate_limit_exceeded'));
  assert.deepEqual(service.events.bans, []);
});

test('refusals are errors with their code, and are not sent again', async () => {
  await using service = await testService();
  const { secret } = await service.issue({ plan: 'business' });
  const reader = await service.issue({ scopes: ['categories:read'] });
  const { catalog, retries, run } = open(service, secret);
  await run(catalog.categories.create({ name: 'Dog' }));
  await run(catalog.pets.create({ name: 'Rex', categoryId: 1 }));
  const idempotencyKey = 'one';
  await run(catalog.categories.create({ name: 'Cat' }, { idempotencyKey }));
  const refused: [call: () => PromiseLike<unknown>, status: number, code: string][] = [
    [() => catalog.categories.create({ name: '' }), 400, 'validation_failed'],
    [() => open(service, 'petcat_live_none').catalog.categories.list(), 401, 'invalid_api_key'],
    [() => open(service, reader.secret).catalog.categories.create({ name: 'Ox' }), 403, 'insufficient_scope'],
    [() => catalog.categories.get(99), 404, 'not_found'],
    [() => catalog.orders.place({ petId: 1, quantity: 9 }), 409, 'insufficient_stock'],
    [() => catalog.pets.update(1, { name: 'Max' }, { ifMatch: '"other"' }), 412, 'precondition_failed'],
    [() => catalog.categories.create({ name: 'Cow' }, { idempotencyKey }), 422, 'idempotency_key_reused'],
  ];
  for (const [call, status, code] of refused) {
    const error: unknown = await run(call()).catch((thrown: unknown) => thrown);
    assert.ok(error instanceof client.ApiError, code);
    assert.deepEqual([error.status, error.code], [status, code]);
    assert.match(error.requestId ?? '', /./, code);
  }
  assert.deepEqual(retries, []);
});

test('a ban fails at once and says until when', async () => {
  await using service = await testService();
  const { secret } = await service.issue();
  for (let call = 0; call < 2 * (PER_MINUTE + 1); call += 1) {
    await service.call(secret, '/categories');
    // The refusals of one moment bring no ban.
    if (call === PER_MINUTE) service.clock.advance(2);
  }
  assert.equal(service.events.bans.length, 1);
  const { catalog, time } = open(service, secret);
  const retryAt = new Date((service.clock.now().unix + 60) * 1_000);
  await assert.rejects(time.run(catalog.categories.list()), { name: 'ApiError', code: 'key_banned', retryAt });
  assert.equal(time.elapsedMs(), 0);
});
