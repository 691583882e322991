import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { PetCatalog, type PetCatalogOptions } from '../../client/src/pet-catalog.ts';
import { closedPort } from '../kit/client/closed-port.ts';
import { type RehearsedService, rehearsedService } from '../kit/rehearsal/service.ts';

/** Answers that the service withholds from the client, by the script of its key; time passes when the client waits. */

let rehearsed: RehearsedService;
before(async () => {
  rehearsed = await rehearsedService();
});
after(() => rehearsed[Symbol.asyncDispose]());

/** A client whose key follows a script, and the steps that it has reached. */
async function follow(script: string, options: Partial<PetCatalogOptions> = {}) {
  const { service, time } = rehearsed;
  const { secret, report } = await rehearsed.follow(script);
  const { fetch, clock } = time;
  const catalog = new PetCatalog({ baseUrl: service.url, apiKey: secret, fetch, clock, ...options });
  return { catalog, requests: async () => (await report()).requests.map(({ step }) => step) };
}

test('a create whose answer is lost is created once', async () => {
  const { catalog, requests } = await follow('lost*2,ok');
  const made = await rehearsed.time.run(catalog.categories.create({ name: 'Dog' }));
  assert.deepEqual(await requests(), ['lost', 'lost', 'ok']);
  const all = await rehearsed.time.run(catalog.categories.list());
  assert.deepEqual(
    all.filter(({ name }) => name === 'Dog'),
    [made],
  );
});

test('an order whose cancellation answer is lost is cancelled; an unknown one is not found', async () => {
  const { time } = rehearsed;
  const { catalog, requests } = await follow('ok*3,lost,ok*2');
  const order = await time.run(
    (async () => {
      const { id: categoryId } = await catalog.categories.create({ name: 'Cat' });
      const { id: petId } = await catalog.pets.create({ name: 'Tom', categoryId });
      const placed = await catalog.orders.place({ petId, quantity: 1 });
      await catalog.orders.cancel(placed.id);
      return placed;
    })(),
  );
  assert.deepEqual((await requests()).slice(3), ['lost', 'ok']);
  assert.deepEqual([...(await time.run(catalog.orders.list({ petId: order.petId })))], []);
  await time.run(assert.rejects(catalog.orders.cancel(order.id), { code: 'not_found', operation: 'cancelOrder' }));
});

test('a stock update over a connection that drops is applied', async () => {
  const { catalog, requests } = await follow('ok*2,lost,reset,ok');
  const updated = await rehearsed.time.run(
    (async () => {
      const { id: categoryId } = await catalog.categories.create({ name: 'Fish' });
      const { id: petId } = await catalog.pets.create({ name: 'Wanda', categoryId });
      await catalog.inventory.update(petId, { quantity: 9 });
      return catalog.inventory.get(petId);
    })(),
  );
  assert.equal(updated.quantity, 9);
  assert.deepEqual((await requests()).slice(2), ['lost', 'reset', 'ok', null]);
});

test('a missing answer ends the attempt at its timeout, and the call at its deadline', async () => {
  const { time } = rehearsed;
  const { catalog, requests } = await follow('slow:60,ok', { attemptTimeoutMs: 2_000 });
  const made = await time.run(catalog.categories.create({ name: 'Bird' }));
  const all = await time.run(catalog.categories.list());
  assert.deepEqual(
    all.filter(({ name }) => name === 'Bird'),
    [made],
  );
  assert.deepEqual(await requests(), ['slow:60', 'ok', null]);

  const silent = 'slow:60*3';
  const hasty = (await follow(silent, { timeoutMs: 300 })).catalog;
  await time.run(assert.rejects(hasty.categories.list(), { name: 'TimeoutError', operation: 'listCategories' }));
  const once = (await follow(silent, { attemptTimeoutMs: 300, maxRetries: 0 })).catalog;
  await time.run(assert.rejects(once.categories.list(), { name: 'TimeoutError', message: /no answer within 300 ms/ }));
});

test('an unreachable service is a ConnectionError that says why', async () => {
  const baseUrl = `http://127.0.0.1:${await closedPort()}/v1`;
  const catalog = new PetCatalog({ baseUrl, apiKey: 'petcat_test_key', maxRetries: 0 });
  await assert.rejects(catalog.categories.list(), { name: 'ConnectionError', message: /ECONNREFUSED/ });
});
