import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Category } from './category.ts';
import { CategoryList } from './category-list.ts';

const categories = fc.uniqueArray(
  fc.record({ id: fc.integer({ min: 1, max: 60 }), name: fc.string({ unit: 'binary' }) }),
  {
    selector: ({ id }) => id,
  },
);

const ascending = (items: readonly Category[]) => items.toSorted((a, b) => a.id - b.id);

function bodyOf(list: CategoryList): string {
  const { body } = list;
  return typeof body === 'string' ? body : Buffer.concat(body).toString('utf8');
}

test('the body is the JSON of the categories by id, in any order of arrival, and the tag is that of the bytes', () => {
  fc.assert(
    fc.property(categories, (items) => {
      const list = new CategoryList();
      for (const item of items) list.add(item);
      for (const item of items) list.add(item);
      assert.equal(bodyOf(list), Buffer.from(JSON.stringify(ascending(items))).toString('utf8'));
      assert.equal(list.etag, new CategoryList(ascending(items)).etag);
    }),
  );
});

test('each change gives another tag, and the same list the same', () => {
  const list = new CategoryList();
  const tags = new Set([list.etag]);
  for (let id = 1; id <= 500; id += 1) {
    list.add({ id, name: `category ${id}` });
    tags.add(list.etag);
    assert.equal(list.etag, list.etag);
  }
  assert.equal(tags.size, 501);
});

test('a body that is being sent does not change when the list grows, at any size', () => {
  const list = new CategoryList();
  const handedOut: { body: ReturnType<typeof bodyOf>; shared: CategoryList['body'] }[] = [];
  for (let id = 1; id <= 3_000; id += 1) {
    list.add({ id, name: `category ${id}` });
    if (id % 100 === 0) handedOut.push({ body: bodyOf(list), shared: list.body });
  }
  list.add({ id: 2_999, name: 'known already' });
  for (const { body, shared } of handedOut) {
    assert.equal(typeof shared === 'string' ? shared : Buffer.concat(shared).toString('utf8'), body);
    assert.ok(Array.isArray(JSON.parse(body)));
  }
});

test('categories added during a reload are not lost', async () => {
  const list = new CategoryList([{ id: 1, name: 'a' }]);
  const loading = Promise.withResolvers<Category[]>();
  const reloading = list.reload(() => loading.promise);
  list.add({ id: 3, name: 'c' });
  loading.resolve([
    { id: 1, name: 'renamed' },
    { id: 2, name: 'b' },
  ]);
  await reloading;
  assert.deepEqual(JSON.parse(bodyOf(list)), [
    { id: 1, name: 'renamed' },
    { id: 2, name: 'b' },
    { id: 3, name: 'c' },
  ]);
});

test('catching up adds what others stored, in any order of its own, and loads nothing twice', async () => {
  const stored = Array.from({ length: 5_000 }, (_, index) => ({ id: index + 1, name: `category ${index}` }));
  const list = new CategoryList(stored.slice(0, 10));
  for (const own of stored.slice(4_000, 4_100)) list.add(own);
  const asked: number[] = [];
  const load = async (after: number) => {
    asked.push(after);
    return stored.filter(({ id }) => id > after).slice(0, 1_000);
  };
  await list.catchUp(load);
  assert.equal(bodyOf(list), JSON.stringify(stored));
  assert.deepEqual(asked, [10, 1_010, 2_010, 3_010, 4_100, 5_000]);
  list.add({ id: 5_001, name: 'own' });
  await list.catchUp(load);
  assert.equal(asked.at(-1), 5_001);
});

test('a category that others overtook appears in its place, even much later', () => {
  const stored = Array.from({ length: 3_000 }, (_, index) => ({ id: index + 1, name: `category ${index}` }));
  const list = new CategoryList();
  const late = new Set([5, 1_500, 2_999]);
  for (const category of stored) if (!late.has(category.id)) list.add(category);
  for (const id of late) list.add(stored[id - 1] ?? assert.fail());
  assert.equal(bodyOf(list), JSON.stringify(stored));
  assert.equal(list.etag, new CategoryList(stored).etag);
});

test('a reload that fails leaves the list as it was', async () => {
  const list = new CategoryList([{ id: 1, name: 'a' }]);
  await assert.rejects(list.reload(() => Promise.reject(new Error('no'))));
  list.add({ id: 2, name: 'b' });
  assert.equal(JSON.parse(bodyOf(list)).length, 2);
});
