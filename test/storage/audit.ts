import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import type { AuditEntry } from '../../src/catalog/audit.ts';
import { OPERATOR } from '../kit/operator.ts';
import { type Check, insert, issue, NOW } from '../kit/storage/bench.ts';

const BY = { keyId: 'key_2', requestId: 'req-2' };
const SHIP_DATE = '2099-12-31T12:00:00Z';

type By = typeof BY & { readonly idempotency?: { readonly key: string } };

/** An entry by a key, at the present moment of the bench, but its id. */
function byKey(
  action: AuditEntry['action'],
  target: number,
  { keyId, requestId, idempotency, before, after }: By & { before?: object | null; after?: object | null },
) {
  const idempotencyKey = idempotency ? hash('sha256', idempotency.key, 'base64url') : null;
  const operator = { actor: keyId, via: 'key' };
  const change = { before: before ?? null, after: after ?? null };
  return { at: NOW, operator, action, target: `${target}`, requestId, idempotencyKey, ...change };
}

function withoutIds(entries: readonly AuditEntry[] = []) {
  return entries.map(({ id: _, ...entry }) => entry);
}

/** Registers the checks of the entries by keys, and of the histories of orders, pets and categories. */
export function auditContract(check: Check): void {
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
    await assert.rejects(orders.insert({ petId: pet.id, quantity: 2 }, BY), { code: 'insufficient_stock' });
    await bench.reopen();
    const { storage } = bench;
    const members = { petId: pet.id, quantity: 1, shipDate: SHIP_DATE };
    const { entries = [], ...known } = (await storage.orders.history(order.id)) ?? {};
    assert.deepEqual(known, { resource: order, isRemoved: true });
    assert.deepEqual(withoutIds(entries), [
      byKey('order.place', order.id, { ...FIRST, idempotency, after: members }),
      byKey('order.cancel', order.id, { ...BY, before: { ...members, createdAt: NOW, createdBy: 'key_1' } }),
    ]);
    assert.equal(await storage.orders.history(999), undefined);
    const [placed, cancelled] = entries;
    const [created] = (await storage.pets.history(pet.id))?.entries ?? [];
    assert.deepEqual(await storage.audit.search('cart-1'), [placed]);
    assert.deepEqual(await storage.audit.search('req-2'), [cancelled]);
    assert.deepEqual(await storage.audit.search('req-1'), [placed, created]);
    assert.deepEqual(await storage.audit.search('cart-2'), []);
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
      const { entries, ...known } = (await pets.history(pet.id)) ?? {};
      assert.deepEqual(known, { resource: { ...pet, name: 'Max', quantity: 3 }, isRemoved: false });
      const before = { name: 'Rex', status: 'available', quantity: 1 };
      const [sold, stocked] = [{ status: 'sold', quantity: 0 } as const, { status: 'available', quantity: 3 } as const];
      assert.deepEqual(withoutIds(entries), [
        byKey('pet.create', pet.id, { ...FIRST, after: { ...before, categoryId } }),
        byKey('pet.update', pet.id, { ...BY, before, after: { name: 'Max', ...sold } }),
        byKey('pet.update', pet.id, { ...BY, before: sold, after: stocked }),
      ]);
      assert.equal(await pets.history(999), undefined);
      for (let quantity = 4; quantity < 204; quantity += 1) await pets.setQuantity(pet.id, quantity, BY);
      const all = (await pets.history(pet.id))?.entries ?? [];
      assert.deepEqual(
        [all.length, all[0]?.requestId, all[1]?.after, all.at(-1)?.after],
        [201, FIRST.requestId, { quantity: 4 }, { quantity: 203 }],
      );
      assert.deepEqual(await bench.storage.audit.search('req-2'), all.slice(-10).reverse());
    },
  );

  check('a category has its creation, by its row or import, and what operators did', async ({ storage }) => {
    const { categories } = storage;
    const { id } = await insert(storage, { name: 'Dog', description: 'barks' });
    const of = async (target: number) => (await categories.history(target))?.entries ?? [];
    await categories.rename(id, 'Dogs', OPERATOR);
    const [created, renamed] = await of(id);
    const { idempotencyKey: _, ...expected } = byKey('category.create', id, FIRST);
    const made = { ...expected, id: '', requestId: null, after: { name: 'Dog', description: 'barks' } };
    assert.deepEqual([created, renamed?.action, renamed?.operator], [made, 'category.rename', OPERATOR]);
    await categories.delete(id, OPERATOR);
    const resource = { id, name: 'Dogs', description: 'barks' };
    const { entries = [], ...known } = (await categories.history(id)) ?? {};
    assert.deepEqual(known, { resource, isRemoved: true });
    const before = { ...resource, createdAt: NOW, createdBy: 'key_1' };
    assert.deepEqual([entries.slice(0, 2), entries[2]?.before], [[created, renamed], before]);
    assert.equal(await categories.history(999), undefined);
    await categories.import([{ name: 'Cat' }], OPERATOR);
    await categories.import([{ name: 'Cow' }, { name: 'Eel' }], OPERATOR);
    const [second] = await storage.audit.list({ since: 0, limit: 1 });
    assert.deepEqual(second?.after, { count: 2, firstId: id + 2, lastId: id + 3 });
    assert.deepEqual([await of(id + 2), await of(id + 3)], [[second], [second]]);
  });

  check('entries by keys are listed by key, owner and target, newest first, page by page', async (bench) => {
    const { storage, clock } = bench;
    const { audit, pets, categories } = storage;
    const [ann, other] = [(await issue(storage, { owner: 'ann' })).key, (await issue(storage, { owner: 'ann' })).key];
    const { id: categoryId } = await insert(storage, { name: 'Dog' });
    const by = (key: { id: string }) => ({ keyId: key.id, requestId: 'req' });
    const pet = { name: 'x'.repeat(150), categoryId, status: 'available' } as const;
    const { id } = (await pets.insert(pet, by(ann))).resource;
    assert.equal(id, categoryId, 'a target has entries of both kinds');
    clock.advance(1);
    await pets.setQuantity(id, 2, by(other));
    await categories.rename(categoryId, 'Dogs', OPERATOR);
    await pets.setQuantity(id, 3, by(ann));
    for (const [name, key] of [['Cow', ann] as const, ['Eel', other] as const, ['Ant', ann] as const])
      await categories.insert({ name }, by(key));
    clock.advance(1);
    await pets.setQuantity(id, 4, FIRST);
    const list = (query: object) => audit.list({ since: 0, limit: 99, ...query });
    const [four, three, two, made] = ['pet.update 4', 'pet.update 3', 'pet.update 2', 'pet.create 1'];
    const [ant, eel, cow] = ['category.create Ant', 'category.create Eel', 'category.create Cow'];
    const target = `${id}`;
    for (const [query, ...expected] of [
      [{ via: 'key' }, four, three, two, made],
      [{ key: ann.id }, three, ant, cow, made],
      [{ owner: 'ann' }, three, two, ant, eel, cow, made],
      [{ owner: 'ann', key: other.id }, two, eel],
      [{ owner: 'ann', key: FIRST.keyId }],
      [{ owner: 'none' }],
      [{ key: ann.id, via: 'cli' }],
      [{ key: ann.id, since: NOW + 1 }, three, ant, cow],
      [{ key: ann.id, since: NOW + 1, action: 'category.create' }, ant, cow],
      [{ key: ann.id, until: NOW + 1 }, made],
      [{ key: ann.id, action: 'pet.create' }, made],
      // Cut to 100 characters.
      [{ via: 'key', text: 'X'.repeat(100) }, made],
      [{ action: 'category.rename', until: NOW + 1 }],
      [{ target }, four, 'category.rename Dogs', three, two, made],
      [{ target, via: 'cli' }, 'category.rename Dogs'],
      [{ target, key: other.id }, two],
    ] as const) {
      const found = await list(query);
      const said = found.map(({ action, after }) => `${action} ${Object.values(after ?? {}).at(-1)}`);
      assert.deepEqual(said, expected, JSON.stringify(query));
    }
    assert.ok((await list({})).every(({ operator }) => operator.via === 'cli'));
    for (const query of [{ target }, { owner: 'ann' }]) {
      const pages: AuditEntry[] = [];
      for (let page = await list({ ...query, limit: 2 }); page.length > 0; ) {
        pages.push(...page);
        page = await list({ ...query, limit: 2, before: pages.at(-1) });
      }
      assert.deepEqual(pages, await list(query));
    }
  });
}
