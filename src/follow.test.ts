import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Category, CategoryChanges } from './catalog/category.ts';
import { CategoryList } from './catalog/category-list.ts';
import type { OnChange } from './catalog/storage.ts';
import { follow } from './follow.ts';

/** What memory follows, on a storage that the test plays. */
async function bench() {
  const stored: Category[] = Array.from({ length: 600 }, (_, index) => ({ id: index + 1, name: 'x' }));
  const asked: unknown[] = [];
  const played = {
    version: 7,
    changed: undefined as CategoryChanges['changed'],
    /** What the next question for changes fails with. */
    failure: undefined as Error | undefined,
  };
  const failures: unknown[] = [];
  const categories = new CategoryList();
  let onChange: OnChange | undefined;
  const storage = {
    watch: async (called: OnChange) => {
      onChange = called;
      asked.push('watched');
    },
    categories: {
      list: async ({ after, limit }: { after: number; limit: number }) => {
        asked.push([after, limit]);
        return stored.filter(({ id }) => id > after).slice(0, limit);
      },
      changesSince: async (version: number | undefined): Promise<CategoryChanges> => {
        asked.push(version);
        const { failure } = played;
        played.failure = undefined;
        if (failure) throw failure;
        return played;
      },
    },
  };
  const catchUp = await follow({
    storage,
    categories,
    authenticator: { forget: (ids: unknown) => asked.push(['keys', ids]) },
    events: { changeNotRead: (error: unknown) => failures.push(error) },
  } as never);
  return {
    stored,
    played,
    failures,
    catchUp,
    list: () => JSON.parse(Buffer.concat([categories.body].flat().map((part) => Buffer.from(part))).toString()),
    change: (...change: Parameters<OnChange>) => onChange?.(...change),
    asked: () => asked.splice(0),
  };
}

test('a change that could not be read is told, and read by the next, as much as was left', async () => {
  const { played, failures, change, asked } = await bench();
  asked();
  for (const [first, next, versions] of [
    ['categories', 'new-categories', [7, 7]],
    ['restored', 'categories', [undefined, undefined]],
    ['categories', 'restored', [7, undefined]],
  ] as const) {
    const failure = new Error('no');
    Object.assign(played, { failure, changed: [] });
    await assert.rejects(async () => change(first), failure);
    assert.deepEqual(failures.splice(0), [failure]);
    await change(next);
    assert.deepEqual(
      asked().filter((each) => !Array.isArray(each)),
      versions,
      `${first}, ${next}`,
    );
    await change('new-categories');
    assert.deepEqual(asked(), [[600, 250]], 'once');
  }
});

test('after a restore no key is believed, although the list cannot be read', async () => {
  const { played, change, asked } = await bench();
  const failure = new Error('no');
  Object.assign(played, { failure });
  asked();
  await assert.rejects(async () => change('restored'), failure);
  assert.deepEqual(asked(), [['keys', undefined], undefined]);
});
