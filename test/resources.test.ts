import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Category } from '../src/catalog/category.ts';
import type { Order } from '../src/catalog/order.ts';
import type { Pet } from '../src/catalog/pet.ts';
import { assertError, everyPage, json, testService, UNLIMITED } from './kit/service.ts';

/** What no resource has as its id, in paths. */
const NO_IDS = ['999999', '0', '01', '-1', '1.0', '%2B1', 'x', '9007199254740993', '9'.repeat(30), '1,2', '%31%2C2'];

const service = await testService();
after(() => service[Symbol.asyncDispose]());
const { secret } = await service.issue(UNLIMITED);
const { id: dogs } = await json<Category>(service.send(secret, 'POST', '/categories', { name: 'Dog' }));

describe('filters, single resources and updates', () => {
  const send = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    service.send(secret, method, path, body, headers);
  const get = (path: string) => send('GET', path);
  const newPet = (more: object = {}) => json<Pet>(send('POST', '/pets', { name: 'Rex', categoryId: dogs, ...more }));
  const linkOf = async (path: string) => (await get(path)).headers.get('link');
  const idsOf = async (path: string) => (await json<{ id: number }[]>(get(path))).map(({ id }) => id);
  const refuses = async (path: string, message: RegExp) => {
    const { message: said } = await assertError(get(path), 400, 'validation_failed');
    assert.match(said, message, path);
  };

  test('?ids= finds those that exist, each once, ascending, and all of them on one page', async () => {
    const pet = { name: 'One of many', categoryId: dogs, status: 'available' as const };
    const made = await Promise.all(
      Array.from({ length: 100 }, () => service.storage.pets.insert(pet, { keyId: 'test' })),
    );
    const all = made.map(({ resource }) => resource.id).toSorted((a, b) => a - b);
    const [first = 0, second = 0, third = 0] = all;
    assert.deepEqual(await idsOf(`/pets?ids=${third},${first},${third},999999`), [first, third]);
    assert.deepEqual(await idsOf(`/pets?ids=${first}%2C${second}`), [first, second]);
    assert.deepEqual(await idsOf('/pets?ids=999999'), []);
    assert.deepEqual(await idsOf(`/pets?ids=${all.toReversed()}`), all);
    assert.equal(await linkOf(`/pets?ids=${all}`), null);
    assert.deepEqual(await idsOf(`/pets?ids=${all},${all}`), all, 'repeats count once');
    await refuses(`/pets?ids=${all},999999`, /^ids has 101 ids; send 1 to 100$/);
    const { items, counts } = await everyPage<Pet>(get, `/pets?ids=${all}&limit=30`);
    assert.deepEqual([items.map(({ id }) => id), counts], [all, [30, 30, 30, 10]]);
  });

  test('?ids=, ?categoryId= and ?petId= are decimal digits, and are given once', async () => {
    const malformed = ['', '01', '1.0', '9'.repeat(25), '1%00'];
    for (const value of malformed) {
      const sent = value.includes('%') ? value : encodeURIComponent(value);
      await refuses(`/pets?ids=${sent}`, /^ids has ".*"; send a whole number from 1$/);
      await refuses(`/pets?ids=1,${sent}`, /^ids has ".*"; send a whole number from 1$/);
      await refuses(`/pets?categoryId=${sent}`, /^categoryId is ".*"; send a whole number from 1$/);
      await refuses(`/store/orders?petId=${sent}`, /^petId is ".*"; send a whole number from 1$/);
    }
    for (const list of [',', '1,', ',1', '1,,2']) await refuses(`/pets?ids=${list}`, /^ids has ""/);
    for (const list of ['1,2', '1%2C2']) await refuses(`/pets?categoryId=${list}`, /^categoryId is "1,2"/);
    for (const path of ['/pets?categoryId', '/store/orders?petId']) {
      await refuses(`${path}=1&${path.split('?')[1]}=1`, /is given 2 times; send it once$/);
    }
    for (const path of ['/pets?categoryId=999999', '/store/orders?petId=999999'])
      assert.deepEqual(await idsOf(path), []);
    await refuses('/inventory?petId=1', /^petId is no parameter of listInventory; it has limit, cursor$/);
  });

  test('the Link of a page keeps the filters', async () => {
    const ids: number[] = [];
    while (ids.length < 3) ids.push((await newPet()).id);
    const cursor = `after_${ids[0]?.toString(36)}`;
    assert.equal(
      await linkOf(`/pets?limit=1&categoryId=${dogs}&ids=${ids.join('&ids=')}&status=available`),
      `</v1/pets?categoryId=${dogs}&ids=${ids.join('&ids=')}&status=available&limit=1&cursor=${cursor}>; rel="next"`,
    );
    assert.deepEqual(await idsOf(`/pets?ids=${ids}&cursor=${cursor}`), ids.slice(1));
    await refuses(`/pets?ids=${ids}&limit=101`, /^limit is "101"/);
    await refuses(`/pets?ids=${ids}&status=%3E%3Bx`, /^status is ">;x"/);
    await refuses(`/pets?ids=${ids}&cursor=x`, /^cursor is "x"/);
    await refuses('/pets?state=sold', /^state is no parameter of listPets; did you mean status\?$/);
  });

  test('getOrder: the Location of an order can be read until the order is cancelled', async () => {
    const pet = await newPet();
    await send('PATCH', `/inventory/${pet.id}`, { quantity: 2 });
    const shipDate = '2099-12-31T12:00:00Z';
    const body = { petId: pet.id, quantity: 2, shipDate };
    const placed = await send('POST', '/store/orders', body, { 'idempotency-key': 'located' });
    const order = await json<Order>(placed);
    const location = placed.headers.get('location')?.replace('/v1', '') ?? '';
    assert.deepEqual(order, { id: order.id, petId: pet.id, quantity: 2, shipDate, complete: false });
    assert.deepEqual(await json(get(location)), order);
    await send('POST', '/store/orders', { petId: (await newPet()).id, quantity: 1 });
    assert.deepEqual(await json(get(`/store/orders?petId=${pet.id}`)), [order]);
    assert.equal((await send('DELETE', location)).status, 204);
    const { message } = await assertError(get(location), 404, 'not_found');
    assert.equal(message, `There is no order "${order.id}"; it may be cancelled already`);
    const replayed = await send('POST', '/store/orders', body, { 'idempotency-key': 'located' });
    assert.deepEqual([replayed.status, await replayed.json()], [201, order]);
    assert.equal(replayed.headers.get('location'), `/v1${location}`);
    await assertError(get(location), 404, 'not_found');
    for (const id of NO_IDS)
      for (const path of ['/store/orders', '/inventory']) await assertError(get(`${path}/${id}`), 404, 'not_found');
  });

  test('updatePet: a body that is wrong, or changes nothing, is refused and changes nothing', async () => {
    const pet = await newPet();
    const path = `/pets/${pet.id}`;
    for (const body of [{ id: 7 }, { name: 'Good', status: 'dead' }, { name: 'Good', categoryId: 999_999 }])
      await assertError(send('PATCH', path, body), 400, 'validation_failed');
    const raw = (body: string, type = 'application/json') =>
      service.call(secret, path, { method: 'PATCH', headers: { 'content-type': type }, body });
    for (const body of ['', '{', '{"name":"x",}']) await assertError(raw(body), 400, 'invalid_json');
    await assertError(raw('{"name":"x"}', 'application/merge-patch+json'), 415, 'unsupported_media_type');
    await assertError(raw(`{"name":"${'x'.repeat(300_000)}"}`), 413, 'payload_too_large');
    for (const id of NO_IDS) await assertError(send('PATCH', `/pets/${id}`, { name: 'x' }), 404, 'not_found');
    await assertError(send('PATCH', '/pets/999999', { categoryId: 999_999 }), 404, 'not_found');
    await assertError(send('PATCH', '/pets/999999', {}), 400, 'validation_failed');
    const { secret: reader } = await service.issue({ scopes: ['pets:read', 'store:write'] });
    const refused = service.call(reader, path, { method: 'PATCH', body: '{"name":"x"}' });
    await assertError(refused, 403, 'insufficient_scope');
    assert.deepEqual(await json(get(`/pets?ids=${pet.id}`)), [pet]);
  });

  test('updatePet takes no Idempotency-Key: each request is done', async () => {
    const pet = await newPet();
    const key = { 'idempotency-key': 'patch' };
    for (const name of ['one', 'two', 'one']) {
      const response = await send('PATCH', `/pets/${pet.id}`, { name }, key);
      assert.deepEqual([response.status, response.headers.get('idempotency-replayed')], [200, null]);
      assert.equal((await json<Pet>(response)).name, name);
    }
    const created = await send('POST', '/pets', { name: 'Rex', categoryId: dogs }, key);
    assert.deepEqual([created.status, created.headers.get('idempotency-replayed')], [201, null]);
  });

  test('each path is one route in the metrics, whatever its id', async () => {
    const { answered } = service.events;
    for (const [method, path, route] of [
      ['GET', '/store/orders/1', '/v1/store/orders/{orderId}'],
      ['GET', '/store/orders/x', '/v1/store/orders/{orderId}'],
      ['GET', '/inventory/1', '/v1/inventory/{petId}'],
      ['PATCH', '/pets/1', '/v1/pets/{petId}'],
      ['GET', '/pets?ids=1&categoryId=1', '/v1/pets'],
    ] as const) {
      await (await send(method, path, method === 'PATCH' ? { name: 'x' } : undefined)).text();
      assert.deepEqual([answered.at(-1)?.method, answered.at(-1)?.route], [method, route]);
    }
  });
});
