import assert from 'node:assert/strict';
import type { HistoryLine } from '../../src/catalog/history.ts';
import { OPERATOR } from '../kit/operator.ts';
import { type Check, insert, NOW } from '../kit/storage/bench.ts';

const BY = { keyId: 'key_2', requestId: 'req-2' };
const SHIP_DATE = '2099-12-31T12:00:00Z';

/** A line of a history by a key, at the present moment of the bench. */
function byKey(
  action: HistoryLine['action'],
  { keyId, requestId }: typeof BY,
  before: object | null,
  after: object | null,
) {
  return { at: NOW, action, keyId, requestId, before, after };
}

/** Registers the checks of the changes of orders, pets and categories. */
export function historyContract(check: Check): void {
  const FIRST = { keyId: 'key_1', requestId: 'req-1' };

  check('an order has its history, by key and request, also once it is cancelled', async (bench) => {
    const { id: categoryId } = await insert(bench.storage, { name: 'Dog' });
    const { pets, orders } = bench.storage;
    const { resource: pet } = await pets.insert({ name: 'Rex', categoryId, status: 'available' }, FIRST);
    const idempotency = { key: 'cart-1', fingerprint: 'f' };
    const place = () => orders.insert({ petId: pet.id, quantity: 1, shipDate: SHIP_DATE }, { ...FIRST, idempotency });
    const { resource: order } = await place();
    assert.equal((await place()).isReplay, true);
    await orders.cancel(order.id, BY);
    assert.equal(await orders.cancel(order.id, BY), false);
    await bench.reopen();
    const { storage } = bench;
    const members = { petId: pet.id, quantity: 1, shipDate: SHIP_DATE };
    assert.deepEqual(await storage.orders.history(order.id), {
      resource: order,
      isRemoved: true,
      lines: [
        byKey('placed', FIRST, null, members),
        byKey('cancelled', BY, { ...members, createdAt: NOW, createdBy: 'key_1' }, null),
      ],
    });
    assert.equal(await storage.orders.history(999), undefined);
    const [placed, cancelled] = ['placed', 'cancelled'].map((action) => ({ kind: 'order', id: order.id, action }));
    assert.deepEqual(await storage.history.search('cart-1'), [placed]);
    assert.deepEqual(await storage.history.search('req-2'), [cancelled]);
    assert.deepEqual(await storage.history.search('req-1'), [placed, { kind: 'pet', id: pet.id, action: 'created' }]);
    assert.deepEqual(await storage.history.search('cart-2'), []);
  });

  check('an order that ships says so, and what fails leaves no line', async ({ storage }) => {
    const { id: categoryId } = await insert(storage, { name: 'Dog' });
    const { resource: pet } = await storage.pets.insert({ name: 'Rex', categoryId, status: 'available' }, FIRST);
    const order = { petId: pet.id, quantity: 1, shipDate: '2026-01-01T11:59:00Z' };
    const { resource } = await storage.orders.insert(order, FIRST);
    await assert.rejects(storage.orders.cancel(resource.id, BY), { code: 'order_not_cancellable' });
    await assert.rejects(storage.orders.insert(order, BY), { code: 'insufficient_stock' });
    assert.deepEqual(await storage.orders.history(resource.id), {
      resource,
      isRemoved: false,
      lines: [
        byKey('placed', FIRST, null, order),
        { at: NOW - 60, action: 'shipped', requestId: null, before: null, after: null },
      ],
    });
    assert.deepEqual(await storage.history.search('req-2'), []);
  });

  check(
    'a pet has the members that changed, of its stock too; none for a change that changes nothing',
    async (bench) => {
      const { id: categoryId } = await insert(bench.storage, { name: 'Dog' });
      const { pets } = bench.storage;
      const { resource: pet } = await pets.insert({ name: 'Rex', categoryId, status: 'available' }, FIRST);
      await pets.update(pet.id, { name: 'Max', status: 'sold' }, BY);
      await pets.update(pet.id, { name: 'Max' }, BY);
      await pets.setQuantity(pet.id, 3, BY);
      await pets.setQuantity(pet.id, 3, BY);
      assert.deepEqual(await pets.history(pet.id), {
        resource: { ...pet, name: 'Max', quantity: 3 },
        isRemoved: false,
        lines: [
          byKey('created', FIRST, null, { name: 'Rex', categoryId, status: 'available', quantity: 1 }),
          byKey(
            'changed',
            BY,
            { name: 'Rex', status: 'available', quantity: 1 },
            { name: 'Max', status: 'sold', quantity: 0 },
          ),
          byKey('changed', BY, { status: 'sold', quantity: 0 }, { status: 'available', quantity: 3 }),
        ],
      });
      assert.equal(await pets.history(999), undefined);
      for (let quantity = 4; quantity < 204; quantity += 1) await pets.setQuantity(pet.id, quantity, BY);
      const { lines = [] } = (await pets.history(pet.id)) ?? {};
      assert.deepEqual(
        [lines.length, lines[0]?.requestId, lines[1]?.after, lines.at(-1)?.after],
        [201, FIRST.requestId, { quantity: 4 }, { quantity: 203 }],
      );
    },
  );

  check('a category has its creation, from its row, and what operators did to it', async ({ storage }) => {
    const { categories } = storage;
    const { id } = await insert(storage, { name: 'Dog', description: 'barks' });
    const [created, renamed] = [
      {
        at: NOW,
        action: 'created',
        keyId: 'key_1',
        requestId: null,
        before: null,
        after: { name: 'Dog', description: 'barks' },
      },
      {
        at: NOW,
        action: 'renamed',
        operator: OPERATOR,
        requestId: null,
        before: { name: 'Dog' },
        after: { name: 'Dogs' },
      },
    ];
    await categories.rename(id, 'Dogs', OPERATOR);
    const resource = { id, name: 'Dogs', description: 'barks' };
    assert.deepEqual(await categories.history(id), { resource, isRemoved: false, lines: [created, renamed] });
    await categories.delete(id, OPERATOR);
    const before = { ...resource, createdAt: NOW, createdBy: 'key_1' };
    assert.deepEqual(await categories.history(id), {
      resource,
      isRemoved: true,
      lines: [
        created,
        renamed,
        { at: NOW, action: 'deleted', operator: OPERATOR, requestId: null, before, after: null },
      ],
    });
    assert.equal(await categories.history(999), undefined);
    await categories.import([{ name: 'Cat' }], OPERATOR);
    const { lines } = (await categories.history(id + 1)) ?? {};
    assert.deepEqual(lines?.[0]?.operator, { via: OPERATOR.via });
  });
}
