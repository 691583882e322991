import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { manualClock } from '../../../test/kit/clock.ts';
import { temporaryFolder } from '../../../test/kit/service.ts';
import { NOW } from '../../../test/kit/storage/bench.ts';
import { openStorage } from '../open.ts';

const BY = { keyId: 'key_1', requestId: 'req-1' };
const TWO_YEARS = 2 * 366 * 86_400;

test('a change is kept for two years; who made what is there still is known beyond that', async () => {
  await using bench = await openShop();
  const { storage, clock, petId } = bench;
  const order = () => storage.orders.insert({ petId, quantity: 1 }, BY);
  const [{ resource: kept }, { resource: cancelled }] = [await order(), await order()];
  await storage.orders.cancel(cancelled.id, BY);
  // More than one statement deletes at once.
  for (let quantity = 0; quantity < 250; quantity += 1) await storage.pets.setQuantity(petId, quantity, BY);
  clock.advance(TWO_YEARS - 1);
  await storage.history.purge();
  assert.equal((await storage.orders.history(cancelled.id))?.lines.length, 2);
  clock.advance(1);
  await storage.history.purge();
  assert.deepEqual(await storage.transactions.read((db) => db.all(sql`select * from history`)), []);
  assert.equal(await storage.orders.history(cancelled.id), undefined);
  const made = { at: NOW, keyId: 'key_1', requestId: null, before: null };
  const after = { petId, quantity: 1 };
  assert.deepEqual((await storage.orders.history(kept.id))?.lines, [{ ...made, action: 'placed', after }]);
  assert.deepEqual((await storage.pets.history(petId))?.lines, [{ ...made, action: 'created', after: null }]);
  await storage.orders.cancel(kept.id, BY);
  const { lines = [] } = (await storage.orders.history(kept.id)) ?? {};
  assert.deepEqual(
    lines.map(({ at, action, keyId }) => [at - NOW, action, keyId]),
    [
      [0, 'placed', 'key_1'],
      [TWO_YEARS, 'cancelled', 'key_1'],
    ],
  );
});

test('a search finds the latest ten changes of a request, the newest first', async () => {
  await using bench = await openShop();
  const { storage, clock, petId } = bench;
  const placed: number[] = [];
  for (let count = 0; count < 9; count += 1) {
    clock.advance(1);
    placed.unshift((await storage.orders.insert({ petId, quantity: 1 }, BY)).resource.id);
  }
  const found = await storage.history.search('req-1');
  assert.deepEqual(
    found.map(({ kind, id }) => `${kind} ${id}`),
    [...placed.map((id) => `order ${id}`), `pet ${petId}`],
  );
});

test('an order or a category that the release before removes beside this one is known as it was', async () => {
  await using bench = await openShop();
  const { storage, petId } = bench;
  const { resource } = await storage.orders.insert({ petId, quantity: 1 }, BY);
  const { resource: category } = await storage.categories.insert({ name: 'Cat' }, BY);
  await storage.transactions.transact(async (trx) => {
    await trx.run(sql`delete from orders where id = ${resource.id}`);
    await trx.run(sql`delete from categories where id = ${category.id}`);
    await trx.run(sql`
      insert into audit_entries (id, at, actor, via, action, target, before, after)
      values (99, ${NOW}, 'alice', 'cli', 'category.delete', ${`${category.id}`}, ${JSON.stringify(category)}, 'null')`);
  });
  const order = await storage.orders.history(resource.id);
  assert.deepEqual([order?.resource, order?.isRemoved], [resource, true]);
  assert.deepEqual(
    order?.lines.map(({ action }) => action),
    ['placed'],
  );
  const { lines, ...known } = (await storage.categories.history(category.id)) ?? {};
  assert.deepEqual(known, { resource: category, isRemoved: true });
  assert.deepEqual(
    lines?.map(({ action }) => action),
    ['deleted'],
  );
});

async function openShop() {
  const folder = temporaryFolder();
  const clock = manualClock(NOW);
  const bounds = { categoriesMax: 9, categoriesBytesMax: 9_999 };
  const storage = await openStorage({ engine: 'sqlite', file: join(folder.path, 'x.db') }, { time: clock, ...bounds });
  const { resource: category } = await storage.categories.insert({ name: 'Dog' }, BY);
  const { resource: pet } = await storage.pets.insert(
    { name: 'Rex', categoryId: category.id, status: 'available' },
    BY,
  );
  await storage.pets.setQuantity(pet.id, 9, BY);
  return {
    storage,
    clock,
    petId: pet.id,
    async [Symbol.asyncDispose]() {
      await storage[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}
