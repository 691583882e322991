import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Order } from '../src/catalog/order.ts';
import type { Pet } from '../src/catalog/pet.ts';
import { OPERATIONS } from '../src/http/operations.ts';
import { assertError, everyPage, json, testService, UNLIMITED } from './kit/service.ts';

const SUNSET = Date.UTC(2030, 11, 5) / 1000;

const service = await testService();
after(() => service[Symbol.asyncDispose]());
const { secret } = await service.issue(UNLIMITED);
const { id: categoryId } = await json<Pet>(service.send(secret, 'POST', '/categories', { name: 'Dog' }));

describe('pets and the store', () => {
  const send = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
    service.send(secret, method, path, body, headers);

  const newPet = (more: object = {}) => json<Pet>(send('POST', '/pets', { name: 'Rex', categoryId, ...more }));

  test('createPet: 201 with Location; the status defaults to available', async () => {
    const response = await send('POST', '/pets', { name: 'Rex', categoryId, id: 7, extra: 1 });
    const pet = await json<Pet>(response);
    assert.equal(response.status, 201);
    assert.deepEqual(pet, { id: pet.id, name: 'Rex', categoryId, status: 'available' });
    assert.equal(response.headers.get('location'), `/v1/pets?ids=${pet.id}`);
    assert.deepEqual(await json(send('GET', `/pets?ids=${pet.id}`)), [pet]);
    assert.deepEqual(await json(send('GET', `/inventory/${pet.id}`)), {
      petId: pet.id,
      quantity: 1,
      status: 'available',
    });
  });

  test('getPet: deprecated on every answer, and gone from the sunset on', async () => {
    const pet = await newPet();
    const assertDeprecated = ({ headers }: Response, successor = `/v1/pets?ids=${pet.id}`) => {
      assert.equal(headers.get('deprecation'), '@1767225600');
      assert.equal(headers.get('sunset'), 'Thu, 05 Dec 2030 00:00:00 GMT');
      assert.equal(
        headers.get('link'),
        `<${successor}>; rel="successor-version", </docs/deprecations#getPet>; rel="deprecation"; type="text/html"`,
      );
    };
    const found = await send('GET', `/pets/${pet.id}`);
    assert.deepEqual(await found.json(), pet);
    assert.deepEqual(await json(send('GET', `/pets?ids=${pet.id}`)), [pet], 'the successor replaces it');
    for (const [response, status, successor] of [
      [found, 200],
      [await send('GET', '/pets/999999'), 404, '/v1/pets?ids=999999'],
      [await send('GET', '/pets/x'), 404, '/v1/pets'],
      [await send('GET', '/pets/1%3E%2C2'), 404, '/v1/pets'],
      [await send('GET', '/pets/9007199254740992'), 404, '/v1/pets'],
      [await fetch(`${service.url}/pets/${pet.id}`), 401],
      [await send('HEAD', `/pets/${pet.id}`), 200],
    ] as const) {
      assert.equal(response.status, status);
      assertDeprecated(response, successor);
    }
    const { unix } = service.clock.now();
    service.clock.advance(SUNSET - unix - 1);
    assert.equal((await send('GET', `/pets/${pet.id}`)).status, 200);
    service.clock.advance(1);
    const gone = await send('GET', `/pets/${pet.id}`);
    assertDeprecated(gone);
    const { message } = await json<{ message: string }>(gone.clone());
    assert.equal(message, `getPet has been removed; use GET /v1/pets?ids=${pet.id}`);
    await assertError(gone, 410, 'gone');
    await assertError(send('GET', '/pets/999999'), 410, 'gone');
    assert.deepEqual(await json(send('GET', `/pets?ids=${pet.id}`)), [pet]);
    assert.equal((await send('PATCH', `/pets/${pet.id}`, { name: 'Max' })).status, 200, 'only the GET is gone');
  });

  test('a ship date is kept in one form, and is no more than five minutes in the past', async () => {
    const pet = await newPet();
    await send('PATCH', `/inventory/${pet.id}`, { quantity: 9 });
    const place = (shipDate: string, key: string) =>
      send('POST', '/store/orders', { petId: pet.id, quantity: 1, shipDate }, { 'idempotency-key': key });
    for (const [sent, kept] of [
      ['2099-12-31T12:00:00Z', '2099-12-31T12:00:00Z'],
      ['2099-12-31t12:00:00+00:00', '2099-12-31T12:00:00Z'],
      ['2099-12-31T12:00:00-00:00', '2099-12-31T12:00:00Z'],
      ['2099-12-31T12:00:00.000z', '2099-12-31T12:00:00Z'],
      ['2099-12-31T12:00:00.5Z', '2099-12-31T12:00:00.5Z'],
      ['2099-12-31T12:00:00.123456780+00:00', '2099-12-31T12:00:00.12345678Z'],
    ] as const) {
      const order = await json<Order>(place(sent, sent));
      assert.equal(order.shipDate, kept, sent);
      assert.equal((await json<Order>(send('GET', `/store/orders/${order.id}`))).shipDate, kept);
    }
    const soon = new Date((service.clock.now().unix + 10) * 1_000).toISOString();
    const placed = await (await place(soon, 'soon')).text();
    service.clock.advance(10 + 300);
    assert.equal((await place(soon, 'just over')).status, 201, 'clocks differ');
    service.clock.advance(1);
    await assertError(place(soon, 'long over'), 400, 'validation_failed');
    assert.equal(await (await place(soon, 'soon')).text(), placed, 'a retry gets the first outcome');
  });

  for (const path of ['/pets', '/store/orders', '/inventory']) {
    test(`${path}: always a page, 20 unless told otherwise, with a Link exactly while there is more`, async () => {
      const pet = { name: 'One of many', categoryId, status: 'available' as const };
      const { resource } = await service.storage.pets.insert(pet, { keyId: 'test' });
      await send('PATCH', `/inventory/${resource.id}`, { quantity: 130 });
      const order = { petId: resource.id, quantity: 1 };
      const inserted = Array.from({ length: 130 }, () =>
        path === '/store/orders'
          ? service.storage.orders.insert(order, { keyId: 'test' })
          : service.storage.pets.insert(pet, { keyId: 'test' }),
      );
      await Promise.all(inserted);
      type Item = { id: number; petId: number };
      const get = (next: string) => send('GET', next);
      const { items, counts } = await everyPage<Item>(get, path);
      const ids = items.map((item) => (path === '/inventory' ? item.petId : item.id));
      assert.ok(items.length >= 130);
      assert.deepEqual(
        ids,
        [...new Set(ids)].toSorted((a, b) => a - b),
      );
      assert.ok(counts.slice(0, -1).every((count) => count === 20));
      assert.deepEqual((await everyPage<Item>(get, `${path}?limit=100`)).items, items);

      // The last page is full, and yet there is no more.
      const rest = `${path}?cursor=after_${ids.at(-8)?.toString(36)}&limit=7`;
      assert.deepEqual((await everyPage<Item>(get, rest)).counts, [7]);
      for (const query of ['limit=0', 'limit=101', 'cursor=x']) {
        await assertError(get(`${path}?${query}`), 400, 'validation_failed');
      }
    });
  }

  test('each operation needs its scope, and getRateLimit alone needs none', async () => {
    const { secret: without } = await service.issue({ scopes: ['pets:read'] });
    const { secret: reader } = await service.issue({ scopes: ['categories:read'] });
    const free = OPERATIONS.filter(({ permission }) => permission === 'any').map(({ id }) => id);
    assert.deepEqual(free, ['getRateLimit']);
    for (const { method, path, permission: scope } of OPERATIONS.filter(({ permission }) => permission !== 'any')) {
      const write = /^(POST|PATCH|DELETE)$/.test(method);
      assert.match(scope, write ? /:write$/ : /:read$/, `${method} ${path}`);
      const secret = scope === 'pets:read' ? reader : without;
      const typed = { headers: { 'content-type': 'application/json' }, body: '{}' };
      const refused = await service.call(secret, path.replaceAll(/\{\w+\}/g, '1'), { method, ...(write && typed) });
      const challenge = `Bearer realm="pet-catalog", error="insufficient_scope", scope="${scope}"`;
      assert.equal(refused.headers.get('www-authenticate'), challenge);
      await assertError(refused, 403, 'insufficient_scope');
    }
    assert.equal((await service.call(without, '/pets')).status, 200);
    assert.equal((await service.call(without, '/rate_limit')).status, 200);
  });
});
