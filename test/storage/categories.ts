import assert from 'node:assert/strict';
import type { NewCategory } from '../../src/catalog/category.ts';
import { CatalogError } from '../../src/catalog/error.ts';
import type { Change } from '../../src/catalog/storage.ts';
import { untilTrue } from '../kit/clock.ts';
import { OPERATOR } from '../kit/operator.ts';
import { type Check, insert } from '../kit/storage/bench.ts';

/** Registers the checks of categories: text, bounds, pages, imports, renames and deletions. */
export function categoriesContract(check: Check): void {
  check('200 simultaneous creates get 200 distinct, ascending ids and are all kept', async (bench) => {
    const names = Array.from({ length: 200 }, (_, index) => `category ${index}`);
    const created = await Promise.all(names.map((each) => insert(bench.storage, { name: each })));
    assert.equal(new Set(created.map(({ id }) => id)).size, 200);
    await bench.reopen();
    assert.deepEqual(await bench.storage.categories.list(), created);
  });

  check('strings are returned unchanged', async ({ storage }) => {
    const strings = ['é', 'e\u0301', '🐕‍🦺', '\u{10FFFF}', "'; drop table categories; --", '\\u0041', '\u2028'];
    for (const text of [...strings, '']) {
      const sample: Required<NewCategory> = { name: text || 'a', description: text };
      const { id } = await insert(storage, sample);
      assert.deepEqual(await storage.categories.find(id), { id, ...sample });
      assert.deepEqual((await storage.categories.list()).at(-1), { id, ...sample });
    }
  });

  check('the bound holds, also within one batch', async ({ storage, categoriesMax }) => {
    const tried = await Promise.allSettled(
      Array.from({ length: categoriesMax + 5 }, (_, index) => insert(storage, { name: `${index}` })),
    );
    const refused = tried.filter((result) => result.status === 'rejected');
    assert.equal(refused.length, 5);
    for (const { reason } of refused) assert.ok(reason instanceof CatalogError && reason.code === 'catalog_full');
    const retried = { keyId: 'key_1', idempotency: { key: 'mine', fingerprint: 'a' } };
    for (const origin of [{ keyId: 'key_1' }, retried])
      await assert.rejects(storage.categories.insert({ name: 'late' }, origin), { code: 'catalog_full' });
    const made = await storage.categories.list();
    assert.equal(made.length, categoriesMax);
    for (const { id } of made.slice(0, 2)) assert.equal(await storage.categories.delete(id, OPERATOR), 'deleted');
    const next = { id: categoriesMax + 1, name: 'next' };
    assert.deepEqual(
      await storage.categories.insert({ name: 'next' }, retried),
      { resource: next, isReplay: false },
      'a refused create takes no id, and is not kept as an outcome',
    );
    await storage.categories.import([{ name: 'last' }], OPERATOR);
    const full = { code: 'catalog_full', message: /; of the 1 categories none of them fits$/ };
    await assert.rejects(storage.categories.import([{ name: 'late' }], OPERATOR), full);
    assert.equal((await storage.categories.list()).at(-1)?.id, categoriesMax + 2);
  });

  check('the bound of the list’s bytes holds to the byte across processes', async (bench) => {
    const { storage, categoriesBytesMax } = bench;
    await using other = await bench.another();
    const long = { name: 'é"', description: '\n🐕'.repeat(999) };
    const tried = await Promise.allSettled(
      Array.from({ length: 40 }, (_, index) => insert(index % 2 === 0 ? storage : other, long)),
    );
    const made = tried.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    for (const result of tried) assert.ok(result.status === 'fulfilled' || result.reason.code === 'catalog_full');
    const room = categoriesBytesMax - Buffer.byteLength(JSON.stringify(await storage.categories.list()));
    assert.ok(made.length > 10 && room >= 0 && room < 7_000, `${room} bytes are left of ${categoriesBytesMax}`);
    const [first, second] = made;
    assert.equal(await other.categories.delete(first?.id ?? 0, OPERATOR), 'deleted');
    await bench.reopen();
    const { categories } = bench.storage;
    // The next id has as many digits as the last one.
    const frame = Buffer.byteLength(JSON.stringify({ id: made.at(-1)?.id, name: 'x', description: '' })) + 1;
    const rest = categoriesBytesMax - frame - Buffer.byteLength(JSON.stringify(await categories.list()));
    const full = { code: 'catalog_full', message: /CATEGORIES_BYTES_MAX/ };
    await assert.rejects(insert(other, { name: 'x', description: 'x'.repeat(rest + 1) }), full);
    const last = await insert(other, { name: 'x', description: 'x'.repeat(rest) });
    await assert.rejects(categories.rename(last.id, 'xy', OPERATOR), full);
    assert.deepEqual(await categories.find(last.id), last);
    assert.ok(await categories.rename(second?.id ?? 0, 'é', OPERATOR));
    assert.ok(await other.categories.rename(last.id, 'xyz', OPERATOR));
    assert.equal(Buffer.byteLength(JSON.stringify(await categories.list())), categoriesBytesMax);
    await assert.rejects(other.categories.rename(last.id, 'xyzé', OPERATOR), full);
  });

  check('under a bound of the list’s bytes that was lowered, a name is replaced by no longer one', async (bench) => {
    const { id } = await insert(bench.storage, { name: 'Dog', description: 'x'.repeat(500) });
    await using lowered = await bench.another({ categoriesBytesMax: 100 });
    const full = { code: 'catalog_full', message: /may have 100 bytes, and would have more/ };
    await assert.rejects(lowered.categories.rename(id, 'Dogs', OPERATOR), full);
    assert.equal((await lowered.categories.rename(id, 'Cat', OPERATOR))?.name, 'Cat');
    assert.equal((await lowered.categories.rename(id, 'Ox', OPERATOR))?.name, 'Ox');
    await assert.rejects(insert(lowered, { name: 'a' }), full);
  });

  check(
    'an import is atomic, and other processes are notified',
    async ({ storage, another, categoriesMax, categoriesBytesMax }) => {
      const seen: Change[] = [];
      await storage.watch(async (change) => {
        seen.push(change);
      });
      await using other = await another();
      const some = Array.from({ length: categoriesMax - 10 }, (_, index) => ({ name: `imported ${index}` }));
      const heard: number[] = [];
      const followed: Change[] = [];
      await other.watch(async (change) => {
        followed.push(change);
      });
      await other.categories.import(some, OPERATOR, { file: 'a.csv', onProgress: (count) => heard.push(count) });
      assert.deepEqual(heard, [100, 200, some.length]);
      assert.deepEqual([...new Set(followed)], ['new-categories'], 'the process that imports is notified at once');
      await untilTrue(() => seen.includes('new-categories'));
      await assert.rejects(other.categories.import(some, OPERATOR), {
        code: 'catalog_full',
        message: `The catalog holds ${categoriesMax} categories, which is its bound (CATEGORIES_MAX); of the ${some.length} categories the first 10 would fit`,
      });
      const long = Array.from({ length: 10 }, () => ({ name: '🐕'.repeat(255), description: '🐕'.repeat(2_000) }));
      const message = new RegExp(
        `have ${categoriesBytesMax} bytes.*CATEGORIES_BYTES_MAX.*of the 10 categories the first 9 would fit`,
      );
      await assert.rejects(other.categories.import(long, OPERATOR), { code: 'catalog_full', message });
      assert.deepEqual(
        await storage.categories.list(),
        some.map(({ name }, index) => ({ id: index + 1, name })),
      );
      const [entry] = await storage.audit.list({ since: 0, limit: 10 });
      assert.deepEqual([entry?.action, entry?.target, entry?.before], ['categories.import', 'categories', null]);
      assert.deepEqual(entry?.after, { count: some.length, firstId: 1, lastId: some.length, file: 'a.csv' });
    },
  );

  check('a category is renamed, and deleted when no pet belongs to it; its id is never reused', async (bench) => {
    const { storage } = bench;
    const seen: Change[] = [];
    await storage.watch(async (change) => {
      seen.push(change);
    });
    const first = await insert(storage, { name: 'a', description: 'kept' });
    const second = await insert(storage, { name: 'b' });
    assert.deepEqual(await storage.categories.rename(first.id, 'A', OPERATOR), { ...first, name: 'A' });
    assert.deepEqual(await storage.categories.rename(first.id, 'A', OPERATOR), { ...first, name: 'A' });
    assert.equal(await storage.categories.rename(99, 'A', OPERATOR), undefined);
    await storage.pets.insert({ name: 'Rex', categoryId: first.id, status: 'available' }, { keyId: 'key_1' });
    assert.equal(await storage.categories.delete(first.id, OPERATOR), 'in use');
    assert.equal(await storage.categories.delete(second.id, OPERATOR), 'deleted');
    assert.equal(await storage.categories.delete(second.id, OPERATOR), 'not found');
    assert.ok(seen.filter((change) => change === 'categories').length >= 3, 'who lists them is notified');
    assert.equal((await insert(storage, { name: 'c' })).id, second.id + 1);
  });

  check(
    'a process that missed a few renames and deletions gets each of them; after many it reloads the list',
    async (bench) => {
      const { storage } = bench;
      await using other = await bench.another();
      const made = [];
      for (const name of ['a', 'b', 'c']) made.push(await insert(storage, { name, description: name }));
      const [first, second, third] = made.map(({ id }) => id) as [number, number, number];
      const { version, changed } = await other.categories.changesSince(undefined);
      assert.equal(changed, undefined, 'without a version everything is read');
      assert.deepEqual((await other.categories.changesSince(version)).changed, []);
      await storage.categories.rename(second, 'B', OPERATOR);
      await other.categories.delete(third, OPERATOR);
      await storage.categories.rename(second, 'BB', OPERATOR);
      const since = await other.categories.changesSince(version);
      const renamed = { id: second, category: { id: second, name: 'BB', description: 'b' } };
      assert.deepEqual(since, {
        version: version + 3,
        changed: [renamed, { id: third, category: undefined }],
      });
      assert.deepEqual((await storage.categories.changesSince(version + 2)).changed, [renamed]);
      assert.equal((await storage.categories.changesSince(version + 4)).changed, undefined, 'a version of the future');
      for (let more = 0; more < 98; more += 1) await storage.categories.delete(first + 1_000, OPERATOR);
      const missed = await storage.categories.changesSince(version);
      assert.deepEqual(missed, { version: version + 101, changed: undefined });
      assert.equal((await storage.categories.changesSince(version + 1)).changed?.length, 3);
    },
  );

  check('an import is undone whole or not at all, and what others made stays', async ({ storage, another }) => {
    const { categories, audit, pets } = storage;
    await categories.import([{ name: 'a' }, { name: 'b' }], OPERATOR, { file: 'one.csv' });
    const own = await insert(storage, { name: 'own' });
    await categories.import([{ name: 'c' }, { name: 'd' }], OPERATOR);
    await pets.insert({ name: 'Rex', categoryId: 4, status: 'available' }, { keyId: 'key_1' });
    const renamed = await categories.rename(5, 'D', OPERATOR);
    await using other = await another();
    const { version } = await other.categories.changesSince(undefined);
    const message = 'Nothing was deleted: among others the category 4 has pets, 5 was renamed';
    await assert.rejects(categories.deleteImported('2', OPERATOR), { code: 'category_in_use', message });
    await assert.rejects(categories.deleteImported('3', OPERATOR), { code: 'not_found' }, 'a rename');
    assert.deepEqual(await categories.deleteImported('1', OPERATOR), { made: 2, deleted: 2 });
    assert.deepEqual(await categories.list(), [own, { id: 4, name: 'c' }, renamed]);
    assert.equal((await other.categories.changesSince(version)).changed, undefined, 'others read the list anew');
    const [undone] = await audit.list({ since: 0, limit: 1 });
    assert.deepEqual(undone?.before, { count: 2, firstId: 1, lastId: 2, file: 'one.csv' });
  });
}
