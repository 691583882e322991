import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Category, ChangedCategory } from './category.ts';
import { CategoryList } from './category-list.ts';

const ascending = (items: readonly Category[]) => items.toSorted((a, b) => a.id - b.id);

function bodyOf(list: CategoryList): string {
  return textOf(list.body);
}

function textOf(body: CategoryList['body']): string {
  return typeof body === 'string' ? body : Buffer.concat(body).toString('utf8');
}

test('categories appended during a reload are not lost', async () => {
  const list = new CategoryList([{ id: 1, name: 'a' }]);
  const loading = Promise.withResolvers<Category[]>();
  const reloading = list.reload((after) => (after === 0 ? loading.promise : Promise.resolve([])));
  list.append({ id: 2, name: 'b' });
  list.append({ id: 3, name: 'c' });
  loading.resolve([
    { id: 1, name: 'renamed' },
    { id: 2, name: 'b' },
  ]);
  assert.deepEqual(JSON.parse(bodyOf(list)), [
    { id: 1, name: 'a' },
    { id: 2, name: 'b' },
    { id: 3, name: 'c' },
  ]);
  await reloading;
  const reloaded = [
    { id: 1, name: 'renamed' },
    { id: 2, name: 'b' },
    { id: 3, name: 'c' },
  ];
  assert.deepEqual(JSON.parse(bodyOf(list)), reloaded);
  assert.equal(list.etag, new CategoryList(reloaded).etag);
});

test('catching up adds categories stored by others, and loads none twice', async () => {
  const stored = Array.from({ length: 5_000 }, (_, index) => ({ id: index + 1, name: `category ${index}` }));
  const list = new CategoryList(stored.slice(0, 10));
  const asked: number[] = [];
  const load = async (after: number) => {
    asked.push(after);
    return stored.filter(({ id }) => id > after).slice(0, 1_000);
  };
  await list.catchUp(load);
  assert.equal(bodyOf(list), JSON.stringify(stored));
  assert.deepEqual(asked, [10, 1_010, 2_010, 3_010, 4_010, 5_000]);
  list.append({ id: 5_001, name: 'own' });
  await list.catchUp(load);
  assert.equal(asked.at(-1), 5_001);
});

test('an own category that is stored while others are read is in the list once', async () => {
  const stored = [1, 2, 3, 4].map((id) => ({ id, name: `category ${id}` }));
  const read = stored.slice(1, 3);
  for (const all of [stored, stored.slice(0, 3)]) {
    const list = new CategoryList(stored.slice(0, 1));
    await list.catchUp(async (after) => {
      for (const own of all.slice(1)) list.append(own);
      return after === 1 ? read : [];
    });
    assert.equal(bodyOf(list), JSON.stringify(all));
  }
});

test('a stored category is appended only behind all smaller ids', async () => {
  const stored = [1, 2, 3].map((id) => ({ id, name: `category ${id}` }));
  const [first, second, third] = stored;
  assert.ok(first && second && third);
  const list = new CategoryList();
  assert.equal(list.append(first), true);
  assert.equal(list.append(third), false);
  assert.equal(bodyOf(list), JSON.stringify([first]));
  await list.catchUp(async (after) => stored.filter(({ id }) => id > after));
  assert.equal(list.append(second), true, 'it is there already');
  assert.equal(bodyOf(list), JSON.stringify(stored));
  await list.change([{ id: 3, category: undefined }]);
  assert.equal(list.append(third), true, 'it was deleted before its create was answered here');
  assert.equal(bodyOf(list), JSON.stringify([first, second]));
});

test('a category that is renamed before it was read is shown only behind all smaller ids', async () => {
  const stored = [1, 2, 3].map((id) => ({ id, name: `category ${id}` }));
  const list = new CategoryList(stored.slice(0, 1));
  const renamed = { id: 3, name: 'renamed' };
  await list.change([{ id: 3, category: renamed }]);
  assert.equal(bodyOf(list), JSON.stringify(stored.slice(0, 1)));
  assert.deepEqual(list.page({ after: 1, limit: 9 }), { body: '[]', moreAfter: undefined });
  assert.equal(list.page({ after: 0, limit: 1 }).moreAfter, undefined, 'a full page may be the last');
  await list.catchUp(async (after) => [...stored.slice(0, 2), renamed].filter(({ id }) => id > after));
  assert.equal(bodyOf(list), JSON.stringify([...stored.slice(0, 2), renamed]));
});

test('after any changes the list and its pages are those of what is stored, and unsent ones do not change', async () => {
  const step = fc.record({
    id: fc.integer({ min: 1, max: 90 }),
    length: fc.constantFrom(1, 1, 40_000, 200_000),
    isDeleted: fc.boolean(),
    isAdded: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const stored = new Map<number, Category>();
      for (let id = 1; id <= 60; id += 1) stored.set(id, { id, name: 'ä'.repeat((id % 7) * 3_000 + 1) });
      const list = new CategoryList(stored.values());
      const load = async (after: number) => ascending([...stored.values()]).filter(({ id }) => id > after);
      const handedOut: [body: CategoryList['body'], text: string][] = [];
      let last = 90;
      for (const { id: wanted, length, isDeleted, isAdded } of steps) {
        // An id is never used again.
        if (isAdded) last += 1;
        const id = isAdded ? last : wanted;
        const isGone = isDeleted || (!isAdded && !stored.has(id));
        const category = isGone ? undefined : { id, name: 'é'.repeat(length) };
        if (category) stored.set(id, category);
        else stored.delete(id);
        if (category && isAdded) list.append(category);
        else await list.change([{ id, category }]);
        await list.catchUp(load);
        const now = ascending([...stored.values()]);
        assert.ok(bodyOf(list) === JSON.stringify(now), 'the bytes are those of the categories');
        const limit = 1 + (length % 7);
        const above = now.filter((each) => each.id > wanted);
        const { body, moreAfter } = list.page({ after: wanted, limit });
        const text = textOf(body);
        assert.ok(text === JSON.stringify(above.slice(0, limit)), 'the page is a slice');
        assert.equal(moreAfter, above.length > limit ? above[limit - 1]?.id : undefined);
        const all = list.page({ after: 0, limit: 1_000 });
        assert.ok(textOf(all.body) === bodyOf(list), 'the longest page is the list');
        assert.equal(all.moreAfter, undefined);
        if (handedOut.length < 5) handedOut.push([body, text], [list.body, bodyOf(list)]);
      }
      assert.equal(list.etag, new CategoryList(ascending([...stored.values()])).etag);
      for (const [body, text] of handedOut) assert.ok(textOf(body) === text, 'what is unsent has changed');
    }),
    { numRuns: 6 },
  );
});

test('a long page shares the memory of the list', () => {
  const list = new CategoryList(Array.from({ length: 1_000 }, (_, id) => ({ id: id + 1, name: 'x'.repeat(9_000) })));
  const shared = new Set((list.body as readonly Uint8Array[]).map(({ buffer }) => buffer));
  const { body } = list.page({ after: 100, limit: 800 });
  assert.ok(typeof body !== 'string');
  const own = body.filter(({ buffer }) => !shared.has(buffer));
  assert.ok(own.reduce((sum, { length }) => sum + length, 0) <= 2, 'only the brackets are its own');
});

test('a rename or a deletion copies one chunk, however long the list is, and an empty one goes', async () => {
  const stored = Array.from({ length: 1_000 }, (_, index) => ({ id: index + 1, name: 'x'.repeat(20_000) }));
  const list = new CategoryList(stored);
  const partsOf = () => list.body as readonly Uint8Array[];
  const addressOf = ({ buffer, byteOffset }: Uint8Array) => [buffer, byteOffset] as const;
  const isSame = (one: Uint8Array, other: Uint8Array) =>
    addressOf(one).every((value, index) => value === addressOf(other)[index]);
  const changes: ChangedCategory[] = [
    { id: 500, category: { id: 500, name: 'renamed' } },
    { id: 5, category: undefined },
  ];
  for (const change of changes) {
    const before = partsOf();
    await list.change([change]);
    const copied = partsOf().filter((part) => !before.some((known) => isSame(part, known)));
    assert.ok(before.length >= 70 && before.length <= 90, `${before.length} parts`);
    assert.equal(copied.length, 1);
    assert.ok(Math.max(...copied.map(({ length }) => length)) <= 256 * 1024);
  }
  const [{ length: parts }, removed] = [partsOf(), stored.slice(0, 500)];
  await list.change(removed.map(({ id }) => ({ id, category: undefined })));
  assert.ok(partsOf().length < parts / 2 + 2, `${partsOf().length} of ${parts} parts`);
  assert.equal(JSON.parse(bodyOf(list)).length, 500);
});

test('the list is read a part at a time, and the event loop turns in between', async () => {
  const stored = Array.from({ length: 1_000 }, (_, index) => ({ id: index + 1, name: 'x' }));
  const list = new CategoryList();
  let turns = 0;
  let isRead = false;
  const turn = () => {
    turns += 1;
    if (!isRead) setImmediate(turn);
  };
  setImmediate(turn);
  await list.reload(async (after) => stored.slice(after, after + 10));
  assert.ok(turns >= 99, `${turns} turns`);
  assert.equal(bodyOf(list), JSON.stringify(stored));
  turns = 0;
  await list.change(stored.slice(0, 100).map(({ id }) => ({ id, category: undefined })));
  isRead = true;
  assert.ok(turns >= 99, `${turns} turns for a hundred deletions`);
});
