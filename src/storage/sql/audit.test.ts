import assert from 'node:assert/strict';
import sql from 'sql-template-tag';
import { insert, NOW, onSqlite } from '../../../test/kit/storage/bench.ts';
import type { Storage } from '../../catalog/storage.ts';
import type { Transaction } from '../engine.ts';
import type { SqlStorage } from './storage.ts';

const BY = { keyId: 'key_1', requestId: 'req-1' };
const KEPT = 2 * 365 * 86_400;

onSqlite('an entry by a key is kept for a time; who made what is there is known beyond it', async (bench) => {
  const { storage, clock } = bench;
  const [kept, cancelled, petId] = [await order(storage), await order(storage), 1];
  await storage.orders.cancel(cancelled.id, BY);
  // More than one statement deletes at once.
  for (let quantity = 2; quantity < 252; quantity += 1) await storage.pets.setQuantity(petId, quantity, BY);
  clock.advance(KEPT - 1);
  await storage.audit.purge(KEPT);
  assert.equal((await storage.orders.history(cancelled.id))?.entries.length, 2);
  clock.advance(1);
  await storage.audit.purge(KEPT);
  assert.deepEqual(await storage.audit.list({ since: 0, limit: 1, via: 'key' }), []);
  assert.equal(await storage.orders.history(cancelled.id), undefined);
  const of = { at: NOW, operator: { actor: 'key_1', via: 'key' }, requestId: null, before: null, id: '' };
  const placed = { ...of, action: 'order.place', target: `${kept.id}`, after: { petId, quantity: 1 } };
  assert.deepEqual((await storage.orders.history(kept.id))?.entries, [placed]);
  const created = { ...of, action: 'pet.create', target: `${petId}`, after: null };
  assert.deepEqual((await storage.pets.history(petId))?.entries, [created]);
  await storage.orders.cancel(kept.id, BY);
  const [first, last] = (await storage.orders.history(kept.id))?.entries ?? [];
  assert.deepEqual([first, last?.action, last?.at], [placed, 'order.cancel', NOW + KEPT]);
});

onSqlite('an order or a category that the release before removes is known as it was', async ({ storage }) => {
  const [resource, category] = [await order(storage), await insert(storage, { name: 'Cat' })];
  await write(storage, async (trx) => {
    await trx.run(sql`delete from orders where id = ${resource.id}`);
    await trx.run(sql`delete from categories where id = ${category.id}`);
    await trx.run(sql`
      insert into audit_entries (id, at, actor, via, action, target, before, after)
      values (99, ${NOW}, 'alice', 'cli', 'category.delete', ${`${category.id}`}, ${JSON.stringify(category)}, 'null')`);
  });
  const { entries: [placed, ...others] = [], ...known } = (await storage.orders.history(resource.id)) ?? {};
  assert.deepEqual([known, placed?.action, others], [{ resource, isRemoved: true }, 'order.place', []]);
  const { entries: [deleted, ...more] = [], ...was } = (await storage.categories.history(category.id)) ?? {};
  assert.deepEqual([was, deleted?.id, more], [{ resource: category, isRemoved: true }, '99', []]);
});

function write(storage: Storage, work: (trx: Transaction) => Promise<void>): Promise<void> {
  return (storage as SqlStorage).transactions.transact(work);
}

/** Places an order of the one pet there is, which has nine. */
async function order(storage: Storage) {
  if (!(await storage.pets.find(1))) {
    const { id: categoryId } = await insert(storage, { name: 'Dog' });
    await storage.pets.insert({ name: 'Rex', categoryId, status: 'available' }, BY);
    await storage.pets.setQuantity(1, 9, BY);
  }
  return (await storage.orders.insert({ petId: 1, quantity: 1 }, BY)).resource;
}
