import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { BoundedMap } from './bounded-map.ts';

test('a new entry beyond the bound evicts the oldest, also after deletes and replacements', () => {
  const map = new BoundedMap<number>(3);
  for (const [index, key] of ['a', 'b', 'c', 'd'].entries()) map.set(key, index);
  assert.deepEqual([...map.keys()], ['b', 'c', 'd']);
  map.set('b', 9);
  assert.deepEqual([...map], Object.entries({ b: 9, c: 2, d: 3 }));
  map.delete('c');
  map.set('e', 4).set('f', 5);
  assert.deepEqual([...map.keys()], ['d', 'e', 'f']);
  map.clear();
  assert.deepEqual([map.size, map.get('d')], [0, undefined]);
  for (let i = 0; i < 100; i += 1) map.set(`${i}`, i);
  assert.deepEqual([...map.keys()], ['97', '98', '99']);
});

test('an entry that may not be evicted stays, even beyond the bound, until it may', () => {
  const pinned = new Set(['a', 'b', 'c', 'd']);
  const map = new BoundedMap<number>(2, (key) => !pinned.has(key));
  for (const key of ['a', 'b', 'c', 'd']) map.set(key, 0);
  assert.deepEqual([...map.keys()], ['a', 'b', 'c', 'd']);
  map.set('e', 0);
  assert.ok(map.has('e'), 'the entry that was just set is not the one that goes');
  pinned.clear();
  map.set('f', 0);
  assert.equal(map.size, 2);
});

for (const way of ['delete', 'clear'] as const) {
  test(`entries that went by ${way} are not retained`, async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage: () => void = runInNewContext('gc');
    const map = new BoundedMap<object>(500);
    const values: WeakRef<object>[] = [];
    for (let round = 0; round < 20; round += 1) {
      for (let i = 0; i < 1_000; i += 1) {
        const value = { round };
        values.push(new WeakRef(value));
        map.set(`${i}`, value);
      }
      if (way === 'clear') map.clear();
      else for (let i = 0; i < 1_000; i += 1) map.delete(`${i}`);
    }
    // What a WeakRef was made of lives on until the end of the turn.
    await nextTurn();
    collectGarbage();
    const held = values.filter((value) => value.deref() !== undefined);
    assert.ok(held.length < 10, `${held.length} of ${values.length} values are still there`);
    assert.equal(map.size, 0);
  });
}
