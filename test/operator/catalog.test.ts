import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signIn } from '../kit/console/visitor.ts';
import { apiClient, OPERATOR } from '../kit/operator.ts';
import { json, testService } from '../kit/service.ts';

/** The lists of orders, pets and categories: newest first, with who made each, and when. */

test('orders, pets and categories are listed newest first, by key, owner, state and the rest', async () => {
  await using service = await testService();
  const { storage, clock } = service;
  const { orders, pets, categories } = storage;
  const [web, app, other] = await Promise.all(
    ['web', 'app', 'other'].map(async (name) => {
      const { key } = await service.issue({ name, owner: name === 'other' ? 'globex' : 'acme' });
      return { keyId: key.id };
    }),
  );
  assert.ok(web && app && other);
  await categories.insert({ name: 'Dog' }, web);
  await categories.insert({ name: 'Cat', description: 'no DOG' }, other);
  await categories.import([{ name: 'VÖGEL' }, { name: '50%_' }], OPERATOR);
  const pet = { name: 'Rex', status: 'available' } as const;
  for (const [categoryId, by] of [
    [1, web],
    [2, other],
    [1, app],
  ] as const) {
    const { resource } = await pets.insert({ ...pet, categoryId }, by);
    await pets.setQuantity(resource.id, 9, by);
  }
  const shipDate = '2026-01-01T12:30:00Z';
  await orders.insert({ petId: 1, quantity: 1, shipDate }, web);
  clock.advance(60);
  for (const [petId, by] of [
    [2, other],
    [3, app],
    [1, other],
  ] as const)
    await orders.insert({ petId, quantity: 1 }, by);
  await orders.cancel(3, web);
  await orders.cancel(4, web);
  clock.advance(3_600);
  await pets.update(2, { status: 'pending' }, web);

  const viewer = await apiClient(service, 'viewer');
  const LISTED: [string, ids: number[]][] = [
    ['/orders', [4, 3, 2, 1]],
    ['/orders?state=open', [2]],
    ['/orders?state=complete', [1]],
    ['/orders?state=cancelled', [4, 3]],
    [`/orders?state=cancelled&key=${app.keyId}`, [3]],
    [`/orders?state=cancelled&key=${web.keyId}`, []],
    ['/orders?state=cancelled&owner=globex', [4]],
    ['/orders?state=cancelled&pet=1', [4]],
    ['/orders?pet=1', [4, 1]],
    ['/orders?owner=acme', [3, 1]],
    ['/orders?since=1h', [4, 3, 2]],
    ['/orders?until=1h', [1]],
    ['/pets', [3, 2, 1]],
    ['/pets?owner=acme', [3, 1]],
    [`/pets?key=${web.keyId}`, [1]],
    [`/pets?category=1&key=${app.keyId}`, [3]],
    ['/pets?status=pending', [2]],
    ['/pets?owner=initech', []],
    ['/categories', [4, 3, 2, 1]],
    ['/categories?owner=globex', [2]],
    ['/categories?q=dOg', [2, 1]],
    ['/categories?q=0%25_', [4]],
    ['/categories?q=v%C3%B6gel', [3]],
    ['/categories?q=vogel', []],
    ['/categories?q=2', [2]],
    [`/categories?q=dog&key=${web.keyId}`, [1]],
  ];
  for (const [path, ids] of LISTED) {
    const listed = await json<{ id: number }[]>(viewer.send('GET', path));
    const found = listed.map(({ id }) => id);
    assert.deepEqual(found, ids, path);
    const [first] = await json<{ id: number }[]>(viewer.send('GET', `${path}${path.includes('?') ? '&' : '?'}limit=1`));
    assert.deepEqual(first, listed[0], path);
  }
  const by = { createdAt: '2026-01-01T12:01:00Z', keyId: app.keyId, keyName: 'app', owner: 'acme' };
  const made = { id: 3, petId: 3, quantity: 1, complete: false, state: 'cancelled', petName: 'Rex' };
  assert.deepEqual((await json<object[]>(viewer.send('GET', '/orders?state=cancelled')))[1], { ...made, ...by });
  const csv = await viewer.send('GET', '/orders?owner=globex', undefined, { accept: 'text/csv' });
  const placed = `4,1,1,cancelled,2026-01-01T12:01:00Z,${other.keyId},globex,`;
  assert.ok((await csv.text()).startsWith(`id,petId,quantity,state,placedAt,keyId,owner,shipDate\n${placed}\n`));
  const page = await (await signIn(service)).page('/orders?state=cancelled&owner=acme');
  const row =
    /order(?:s\/3)[\s\S]*cancelled<\/span>[\s\S]*data-column="Placed"[\s\S]*12:01[\s\S]*app<\/bdi>[\s\S]*acme<\/bdi>/;
  assert.match(page, row);
  assert.doesNotMatch(page, /orders\/4"/);
});

test('a list goes on where its page ended, however many rows lie between two that are meant', async () => {
  await using service = await testService();
  const many = Array.from({ length: 2_500 }, (_, index) => ({
    name: [0, 1_499, 1_500].includes(index) ? 'Wolf' : 'Dog',
  }));
  await service.storage.categories.import(many, OPERATOR);
  const viewer = await apiClient(service, 'viewer');
  for (const limit of [1, 2, 9]) {
    const ids: number[] = [];
    for (let path: string | undefined = `/categories?q=wolf&limit=${limit}`; path; ) {
      const response = await viewer.send('GET', path);
      path = /<[^>]*\/api\/v1([^>]*)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
      ids.push(...(await json<{ id: number }[]>(response)).map(({ id }) => id));
    }
    assert.deepEqual(ids, [1_501, 1_500, 1], `${limit} a page`);
  }
});
