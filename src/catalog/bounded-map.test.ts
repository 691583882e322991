import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BoundedMap } from './bounded-map.ts';

test('a new entry beyond the bound pushes out the oldest, whatever was deleted or replaced meanwhile', () => {
  const map = new BoundedMap<number>(3);
  for (const [index, key] of ['a', 'b', 'c', 'd'].entries()) map.set(key, index);
  assert.deepEqual([...map.keys()], ['b', 'c', 'd']);
  map.set('b', 9);
  assert.deepEqual([...map], Object.entries({ b: 9, c: 2, d: 3 }));
  map.delete('c');
  map.set('e', 4).set('f', 5);
  assert.deepEqual([...map.keys()], ['d', 'e', 'f']);
  map.clear();
  for (let i = 0; i < 100; i += 1) map.set(`${i}`, i);
  assert.deepEqual([...map.keys()], ['97', '98', '99']);
});
