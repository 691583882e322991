import assert from 'node:assert/strict';
import { CatalogError } from '../../src/catalog/error.ts';
import type { Order } from '../../src/catalog/order.ts';
import { PET_STATUSES, type Pet, STOCK_MAX } from '../../src/catalog/pet.ts';
import type { Storage } from '../../src/catalog/storage.ts';
import { type Check, insert } from '../kit/storage/bench.ts';

const BY = { keyId: 'k' };

/** A pet of which there is one, in a category of its own. */
async function availablePet(storage: Storage): Promise<Pet> {
  const { id: categoryId } = await insert(storage, { name: 'Dog' });
  return (await storage.pets.insert({ name: 'Rex', categoryId, status: 'available' }, BY)).resource;
}

/** Registers the checks of pets, their stock and their orders. */
export function shopContract(check: Check): void {
  check('pets are stored unchanged and listed by id, page and status', async (bench) => {
    const { id: categoryId } = await insert(bench.storage, { name: 'Dog' });
    const made = [];
    for (const status of ['available', 'sold', 'pending', 'sold'] as const) {
      made.push((await bench.storage.pets.insert({ name: status, categoryId, status }, { keyId: 'key_1' })).resource);
    }
    await bench.reopen();
    const { pets } = bench.storage;
    assert.deepEqual(await pets.list({ after: 0, limit: 10 }), made);
    assert.deepEqual(await pets.list({ after: made[1]?.id ?? 0, limit: 1 }), made.slice(2, 3));
    assert.deepEqual(await pets.list({ after: 0, limit: 10, status: 'sold' }), [made[1], made[3]]);
    assert.deepEqual(await pets.find(made[2]?.id ?? 0), made[2]);
    assert.deepEqual(
      (await pets.listInventory({ after: 0, limit: 10 })).map(({ quantity }) => quantity),
      [1, 0, 1, 0],
    );
    assert.equal(await pets.find(999), undefined);
    assert.equal(await pets.setQuantity(999, 1, BY), undefined);
  });

  check('filters of pets combine, and each page goes on after the one before', async ({ storage }) => {
    const { pets } = storage;
    const categories = [await insert(storage, { name: 'Dog' }), await insert(storage, { name: 'Cat' })];
    const made: Pet[] = [];
    for (let number = 0; number < 24; number += 1) {
      const status = PET_STATUSES[number % 3] ?? 'sold';
      const categoryId = categories[number % 2]?.id ?? 0;
      made.push((await pets.insert({ name: `pet ${number}`, categoryId, status }, BY)).resource);
    }
    const ids = [made[20], made[3], made[8], made[9], made[14]].map((pet) => pet?.id ?? 0);
    for (const asked of [undefined, [...ids, 999_999], [999_999], [0]]) {
      for (const status of [undefined, ...PET_STATUSES]) {
        for (const categoryId of [undefined, ...categories.map(({ id }) => id), 999_999]) {
          const fits = (pet: Pet) =>
            (asked?.includes(pet.id) ?? true) &&
            (status ?? pet.status) === pet.status &&
            (categoryId ?? pet.categoryId) === pet.categoryId;
          const found: Pet[] = [];
          for (let pages = 0; pages <= made.length / 3; pages += 1) {
            const after = found.at(-1)?.id ?? 0;
            const page = await pets.list({ after, limit: 3, ids: asked, status, categoryId });
            assert.ok(page.length <= 3);
            found.push(...page);
          }
          assert.deepEqual(found, made.filter(fits), JSON.stringify({ asked, status, categoryId }));
        }
      }
    }
  });

  check('an update changes the given members, and the stock with the status', async (bench) => {
    const { id: categoryId } = await insert(bench.storage, { name: 'Dog' });
    const { id: other } = await insert(bench.storage, { name: 'Cat' });
    const { pets } = bench.storage;
    const { id } = (await pets.insert({ name: 'Rex', categoryId, status: 'available' }, BY)).resource;
    const quantity = async () => (await bench.storage.pets.findInventory(id))?.quantity;
    assert.deepEqual(await pets.update(id, { name: 'Max' }, BY), { id, name: 'Max', categoryId, status: 'available' });
    assert.deepEqual(await pets.update(id, { categoryId: other }, BY), {
      id,
      name: 'Max',
      categoryId: other,
      status: 'available',
    });
    await pets.setQuantity(id, 5, BY);
    for (const [status, left] of [
      ['pending', 5],
      ['available', 5],
      ['sold', 0],
      ['sold', 0],
      ['pending', 1],
      ['sold', 0],
      ['available', 1],
    ] as const) {
      assert.equal((await pets.update(id, { status }, BY))?.status, status);
      assert.equal(await quantity(), left, status);
    }
    const unchanged = { id, name: 'Max', categoryId: other, status: 'available' };
    const message = 'categoryId is 999, which does not exist; send one that does';
    await assert.rejects(pets.update(id, { name: 'No', categoryId: 999 }, BY), { code: 'validation_failed', message });
    await bench.reopen();
    assert.deepEqual(await bench.storage.pets.find(id), unchanged);
    assert.deepEqual(await bench.storage.pets.list({ after: 0, limit: 9, categoryId }), []);
    assert.equal(await bench.storage.pets.update(999, { name: 'x' }, BY), undefined);
    assert.equal(await bench.storage.pets.update(999, { categoryId: 999 }, BY), undefined);
    assert.equal(await bench.storage.pets.findInventory(999), undefined);
  });

  check('orders are found by id, and listed by pet and page', async (bench) => {
    const { id: categoryId } = await insert(bench.storage, { name: 'Dog' });
    const { pets, orders } = bench.storage;
    const made: Order[] = [];
    const petIds: number[] = [];
    for (const name of ['Rex', 'Max']) {
      const { resource } = await pets.insert({ name, categoryId, status: 'available' }, BY);
      await pets.setQuantity(resource.id, 100, BY);
      petIds.push(resource.id);
    }
    for (let number = 0; number < 9; number += 1) {
      const petId = petIds[number % 2] ?? 0;
      const shipDate = '2099-12-31T12:00:00Z';
      const order = number % 3 === 0 ? { petId, quantity: 1, shipDate } : { petId, quantity: 2 };
      made.push((await orders.insert(order, BY)).resource);
    }
    await bench.reopen();
    const stored = bench.storage.orders;
    for (const order of made) assert.deepEqual(await stored.find(order.id), order);
    for (const petId of petIds) {
      const ofPet = made.filter((order) => order.petId === petId);
      assert.deepEqual(await stored.list({ after: 0, limit: 10, petId }), ofPet);
      assert.deepEqual(await stored.list({ after: ofPet[0]?.id ?? 0, limit: 2, petId }), ofPet.slice(1, 3));
    }
    assert.deepEqual(await stored.list({ after: 0, limit: 10 }), made);
    assert.deepEqual(await stored.list({ after: 0, limit: 10, petId: 999 }), []);
    await stored.cancel(made[2]?.id ?? 0, BY);
    assert.equal(await stored.find(made[2]?.id ?? 0), undefined);
    assert.deepEqual(await stored.list({ after: 0, limit: 2, petId: petIds[0] }), [made[0], made[4]]);
  });

  check('orders take stock, and cancelling returns it once', async ({ storage }) => {
    const pet = await availablePet(storage);
    assert.deepEqual(await storage.pets.setQuantity(pet.id, 3, BY), {
      petId: pet.id,
      quantity: 3,
      status: 'available',
    });
    const order = () => storage.orders.insert({ petId: pet.id, quantity: 2 }, BY);
    const [first, second] = await Promise.allSettled([order(), order()]);
    assert.equal(first.status, 'fulfilled');
    assert.equal(second.status === 'rejected' && second.reason.code, 'insufficient_stock');
    const { id } = first.status === 'fulfilled' ? first.value.resource : assert.fail();
    assert.deepEqual(await storage.pets.listInventory({ after: 0, limit: 10 }), [
      { petId: pet.id, quantity: 1, status: 'available' },
    ]);
    const cancelled = await Promise.all([1, 2, 3].map(() => storage.orders.cancel(id, BY)));
    assert.deepEqual(cancelled.toSorted(), [false, false, true]);
    assert.deepEqual(await storage.pets.listInventory({ after: 0, limit: 10 }), [
      { petId: pet.id, quantity: 3, status: 'available' },
    ]);
    const { resource: next } = await order();
    assert.ok(next.id > id, 'the id of a cancelled order is not reused');
  });

  check('a pending pet is reserved: it cannot be ordered, and a cancelled order leaves it pending', async (bench) => {
    const { storage } = bench;
    const pet = await availablePet(storage);
    const stock = () => storage.pets.findInventory(pet.id);
    await storage.pets.setQuantity(pet.id, 3, BY);
    const order = () => storage.orders.insert({ petId: pet.id, quantity: 1 }, BY);
    const { resource: first } = await order();
    await storage.pets.update(pet.id, { status: 'pending' }, BY);
    const message = `Pet ${pet.id} is reserved (pending); order it once it is available`;
    await assert.rejects(order(), { code: 'insufficient_stock', message });
    assert.deepEqual(await stock(), { petId: pet.id, quantity: 2, status: 'pending' });
    assert.equal(await storage.orders.cancel(first.id, BY), true);
    assert.deepEqual(await stock(), { petId: pet.id, quantity: 3, status: 'pending' });
    await storage.pets.update(pet.id, { status: 'available' }, BY);
    for (let i = 0; i < 3; i += 1) await order();
    assert.deepEqual(await stock(), { petId: pet.id, quantity: 0, status: 'sold' });
  });

  check('a precondition is asked with the present resource before anything is written', async ({ storage }) => {
    const { pets, orders } = storage;
    const pet = await availablePet(storage);
    const item = { petId: pet.id, quantity: 1, status: 'available' };
    const asked: unknown[] = [];
    const refuse = (present: unknown) => {
      asked.push(present);
      throw new CatalogError('precondition_failed', 'no');
    };
    const refused = { code: 'precondition_failed' };
    await assert.rejects(pets.update(pet.id, { name: 'Max', categoryId: 999 }, BY, refuse), refused);
    await assert.rejects(pets.setQuantity(pet.id, 9, BY, refuse), refused);
    assert.deepEqual([await pets.find(pet.id), await pets.findInventory(pet.id)], [pet, item]);
    const { resource: order } = await orders.insert({ petId: pet.id, quantity: 1 }, BY);
    await assert.rejects(orders.cancel(order.id, BY, refuse), refused);
    assert.deepEqual(await orders.find(order.id), order);
    assert.deepEqual(asked, [pet, item, order]);
    assert.equal(await pets.update(999, {}, BY, refuse), undefined);
    assert.equal(await pets.setQuantity(999, 1, BY, refuse), undefined);
    assert.equal(await orders.cancel(999, BY, refuse), false);
    assert.equal(await orders.cancel(order.id, BY, () => {}), true);
  });

  check('an order is complete from its ship date on, and then keeps its stock', async ({ storage }) => {
    const pet = await availablePet(storage);
    await storage.pets.setQuantity(pet.id, 10, BY);
    for (const shipDate of ['2026-01-01T11:54:59Z', '2026-01-01T11:54:59.999Z', '1970-01-01T00:00:00Z']) {
      const message = `shipDate is "${shipDate}", in the past; send a later one, or none`;
      const order = storage.orders.insert({ petId: pet.id, quantity: 99, shipDate }, BY);
      await assert.rejects(order, { code: 'validation_failed', message });
    }
    assert.equal((await storage.pets.findInventory(pet.id))?.quantity, 10);
    for (const [shipDate, complete] of [
      ['2026-01-01T11:55:00Z', true],
      ['2026-01-01T12:00:00Z', true],
      ['2026-01-01T12:00:01Z', false],
      [undefined, false],
    ] as const) {
      const order = { petId: pet.id, quantity: 1, ...(shipDate && { shipDate }) };
      const { resource } = await storage.orders.insert(order, BY);
      const { id } = resource;
      assert.deepEqual(resource, { id, ...order, complete });
      assert.deepEqual(await storage.orders.find(id), resource);
      assert.deepEqual((await storage.orders.list({ after: id - 1, limit: 1 }))[0], resource);
      const before = (await storage.pets.findInventory(pet.id))?.quantity ?? 0;
      if (complete) {
        const message = `Order ${id} shipped at ${shipDate} and cannot be cancelled`;
        await assert.rejects(storage.orders.cancel(id, BY), { code: 'order_not_cancellable', message });
      } else assert.equal(await storage.orders.cancel(id, BY), true);
      assert.equal((await storage.pets.findInventory(pet.id))?.quantity, complete ? before : before + 1);
    }
  });

  check('an order that cannot be placed says why, and takes no stock', async ({ storage }) => {
    const pet = await availablePet(storage);
    const refused = (petId: number, quantity: number, error: object) =>
      assert.rejects(storage.orders.insert({ petId, quantity }, BY), error);
    const code = 'insufficient_stock';
    await refused(pet.id, 2, { code, message: `Pet ${pet.id} has 1 in stock, not 2; order fewer` });
    const message = 'petId is 999, which does not exist; send one that does';
    await refused(999, 1, { code: 'validation_failed', message });
    assert.equal((await storage.pets.findInventory(pet.id))?.quantity, 1);
    await storage.pets.setQuantity(pet.id, 0, BY);
    await refused(pet.id, 1, { code, message: `Pet ${pet.id} is out of stock; order it once there is stock again` });
    assert.deepEqual(await storage.orders.list({ after: 0, limit: 1 }), []);
    assert.equal(await storage.orders.cancel(999, BY), false);
  });

  check('orders are read newest first, cancelled ones as they were, with who placed them and when', async (bench) => {
    const { storage, clock } = bench;
    const { id: petId } = await availablePet(storage);
    await storage.pets.setQuantity(petId, 9, BY);
    const made: unknown[] = [];
    for (const [keyId, state] of [
      ['k', 'open'],
      ['other', 'cancelled'],
      ['k', 'complete'],
      ['other', 'cancelled'],
    ]) {
      const shipDate = state !== 'open' && { shipDate: '2026-01-01T12:30:00Z' };
      const { resource } = await storage.orders.insert({ petId, quantity: 1, ...shipDate }, { keyId: `${keyId}` });
      const complete = state === 'complete';
      made.unshift({ ...resource, complete, state, createdAt: clock.now().unix, keyId });
      clock.advance(60);
    }
    for (const id of [2, 4]) await storage.orders.cancel(id, { keyId: 'third' });
    clock.advance(3_600);
    const newest = (below = 9, limit = 9) => storage.orders.newest({ below, limit, isWanted: () => true });
    assert.deepEqual(await newest(), made);
    assert.deepEqual(await newest(4), made.slice(1));
    assert.deepEqual(await newest(4, 2), made.slice(1, 3));
  });

  check('a cancelled order raises the stock to its maximum at most', async ({ storage }) => {
    const pet = await availablePet(storage);
    await storage.pets.setQuantity(pet.id, STOCK_MAX, BY);
    const { resource } = await storage.orders.insert({ petId: pet.id, quantity: 3 }, BY);
    await storage.pets.setQuantity(pet.id, STOCK_MAX - 2, BY);
    assert.equal(await storage.orders.cancel(resource.id, BY), true);
    assert.equal((await storage.pets.listInventory({ after: 0, limit: 1 }))[0]?.quantity, STOCK_MAX);
  });
}
