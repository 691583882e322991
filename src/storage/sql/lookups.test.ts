import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CatalogError } from '../../catalog/error.ts';
import { coalesceLookups } from './lookups.ts';

/** Look-ups whose queries the test answers. */
function played() {
  const queries: {
    names: readonly string[];
    answer: (values: ReadonlyMap<string, string>) => void;
    fail: (error?: Error) => void;
  }[] = [];
  const find = coalesceLookups<string>((names) => {
    const { promise, resolve, reject } = Promise.withResolvers<ReadonlyMap<string, string>>();
    queries.push({ names, answer: resolve, fail: (error = new Error('a defect')) => reject(error) });
    return promise;
  });
  return { queries, find, asked: () => queries.map(({ names }) => names.length) };
}

test('ten thousand look-ups are asked in twelve queries, at most two at a time, each once', async () => {
  const { queries, find, asked } = played();
  const names = Array.from({ length: 10_000 }, (_, index) => `${index}`);
  const found = Promise.all(names.map(find));
  for (let next = 0; next < 12; next += 1) {
    assert.equal(queries.length, Math.min(12, next + 2));
    const { names: some, answer } = queries[next] ?? assert.fail();
    answer(new Map(some.map((name) => [name, `value of ${name}`])));
    await nextTurn();
  }
  assert.deepEqual(asked(), [1, 1, ...Array(9).fill(1_000), 998]);
  assert.deepEqual(
    await found,
    names.map((name) => `value of ${name}`),
  );
});

test('one that is looked up again while it waits shares its place, and nothing is found for what there is not', async () => {
  const { queries, find, asked } = played();
  const found = Promise.all(['a', 'b', 'c', 'c'].map(find));
  queries[0]?.answer(new Map());
  queries[1]?.answer(new Map([['b', 'B']]));
  await nextTurn();
  queries[2]?.answer(new Map([['c', 'C']]));
  assert.deepEqual(await found, [undefined, 'B', 'C', 'C']);
  assert.deepEqual(asked(), [1, 1, 1]);
});

test('one that is looked up while it is asked is asked again, to see what was stored since', async () => {
  const { queries, find } = played();
  const [first, second] = ['a', 'a'].map(find);
  queries[0]?.answer(new Map());
  queries[1]?.answer(new Map([['a', 'A']]));
  assert.deepEqual(await Promise.all([first, second]), [undefined, 'A']);
});

test('a query that fails fails its own look-ups alone', async () => {
  const { queries, find } = played();
  const [first, second, third] = ['a', 'b', 'c'].map(find);
  queries[0]?.fail();
  await assert.rejects(first ?? assert.fail(), /a defect/);
  queries[1]?.answer(new Map([['b', 'B']]));
  queries[2]?.answer(new Map([['c', 'C']]));
  assert.deepEqual(await Promise.all([second, third]), ['B', 'C']);
});

test('a database that does not answer fails those that wait as well, and is asked again for later ones', async () => {
  const { queries, find, asked } = played();
  const found = Promise.allSettled(['a', 'b', 'c', 'd'].map(find));
  queries[0]?.fail(new CatalogError('unavailable', 'no database'));
  await nextTurn();
  assert.deepEqual(asked(), [1, 1]);
  queries[1]?.answer(new Map([['b', 'B']]));
  assert.deepEqual(
    (await found).map((each) => (each.status === 'fulfilled' ? each.value : each.reason.message)),
    ['no database', 'B', 'no database', 'no database'],
  );
  const later = find('c');
  queries[2]?.answer(new Map([['c', 'C']]));
  assert.equal(await later, 'C');
});
