import assert from 'node:assert/strict';
import { type Check, insert } from './bench.ts';

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
    assert.equal(await pets.setQuantity(999, 1), undefined);
  });

  check('orders take stock, and cancelling returns it once', async ({ storage }) => {
    const { id: categoryId } = await insert(storage, { name: 'Dog' });
    const { resource: pet } = await storage.pets.insert(
      { name: 'Rex', categoryId, status: 'available' },
      { keyId: 'k' },
    );
    assert.deepEqual(await storage.pets.setQuantity(pet.id, 3), { petId: pet.id, quantity: 3, status: 'available' });
    const order = () => storage.orders.insert({ petId: pet.id, quantity: 2 }, { keyId: 'k' });
    const [first, second] = await Promise.allSettled([order(), order()]);
    assert.equal(first.status, 'fulfilled');
    assert.equal(second.status === 'rejected' && second.reason.code, 'insufficient_stock');
    const { id } = first.status === 'fulfilled' ? first.value.resource : assert.fail();
    assert.deepEqual(await storage.pets.listInventory({ after: 0, limit: 10 }), [
      { petId: pet.id, quantity: 1, status: 'available' },
    ]);
    const cancelled = await Promise.all([1, 2, 3].map(() => storage.orders.cancel(id)));
    assert.deepEqual(cancelled.toSorted(), [false, false, true]);
    assert.deepEqual(await storage.pets.listInventory({ after: 0, limit: 10 }), [
      { petId: pet.id, quantity: 3, status: 'available' },
    ]);
    const { resource: next } = await order();
    assert.ok(next.id > id, 'the id of a cancelled order is not reused');
  });
}
