import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PetCatalog } from '../../client/src/pet-catalog.ts';
import { closedPort, proxyTo } from '../kit/client/faulty-proxy.ts';
import { testService } from '../kit/service.ts';

test('a create whose answer is lost is created once', async () => {
  await using service = await testService();
  const { secret } = await service.issue();
  await using proxy = await proxyTo(service.url);
  const catalog = new PetCatalog({ baseUrl: proxy.url, apiKey: secret });
  proxy.fates.push('cut', 'cut');
  const made = await catalog.categories.create({ name: 'Dog' });
  assert.equal(proxy.connections(), 3);
  assert.deepEqual([...(await catalog.categories.list())], [made]);
});

test('an order whose cancellation answer is lost is cancelled; an unknown one is not found', async () => {
  await using service = await testService();
  const { secret } = await service.issue();
  const direct = new PetCatalog({ baseUrl: service.url, apiKey: secret });
  const { id: categoryId } = await direct.categories.create({ name: 'Dog' });
  const { id: petId } = await direct.pets.create({ name: 'Rex', categoryId });
  const order = await direct.orders.place({ petId, quantity: 1 });
  await using proxy = await proxyTo(service.url);
  const catalog = new PetCatalog({ baseUrl: proxy.url, apiKey: secret });
  proxy.fates.push('cut');
  await catalog.orders.cancel(order.id);
  assert.equal(proxy.connections(), 2);
  assert.deepEqual([...(await direct.orders.list())], []);
  await assert.rejects(catalog.orders.cancel(order.id), { code: 'not_found', operation: 'cancelOrder' });
});

test('a stock update over a connection that drops is applied', async () => {
  await using service = await testService();
  const { secret } = await service.issue();
  await using proxy = await proxyTo(service.url);
  const catalog = new PetCatalog({ baseUrl: proxy.url, apiKey: secret });
  const { id: categoryId } = await catalog.categories.create({ name: 'Dog' });
  const { id: petId } = await catalog.pets.create({ name: 'Rex', categoryId });
  await using broken = await proxyTo(service.url);
  broken.fates.push('cut');
  const other = new PetCatalog({ baseUrl: broken.url, apiKey: secret });
  assert.equal((await other.inventory.update(petId, { quantity: 9 })).quantity, 9);
  assert.equal((await catalog.inventory.list())[0]?.quantity, 9);
});

test('a missing answer ends the attempt at its timeout, and the call at its deadline', async () => {
  await using service = await testService();
  const { secret } = await service.issue();
  await using proxy = await proxyTo(service.url);
  proxy.fates.push('hold');
  const catalog = new PetCatalog({ baseUrl: proxy.url, apiKey: secret, attemptTimeoutMs: 2_000 });
  const made = await catalog.categories.create({ name: 'Dog' });
  assert.ok(proxy.connections() >= 2);
  assert.deepEqual([...(await catalog.categories.list())], [made]);

  await using silent = await proxyTo(service.url);
  silent.fates.push('hold', 'hold', 'hold');
  const hasty = new PetCatalog({ baseUrl: silent.url, apiKey: secret, timeoutMs: 300 });
  await assert.rejects(hasty.categories.list(), { name: 'TimeoutError', operation: 'listCategories' });
  const once = new PetCatalog({ baseUrl: silent.url, apiKey: secret, attemptTimeoutMs: 300, maxRetries: 0 });
  await assert.rejects(once.categories.list(), { name: 'TimeoutError', message: /no answer within 300 ms/ });
});

test('an unreachable service is a ConnectionError that says why', async () => {
  const baseUrl = `http://127.0.0.1:${await closedPort()}/v1`;
  const catalog = new PetCatalog({ baseUrl, apiKey: 'petcat_test_key', maxRetries: 0 });
  await assert.rejects(catalog.categories.list(), { name: 'ConnectionError', message: /ECONNREFUSED/ });
});
