import assert from 'node:assert/strict';
import { test } from 'node:test';
import { partsInKeyOrder } from './key-order.ts';

test('the parts have at most 500 neighbouring keys, in order', () => {
  const keys = Array.from({ length: 1_001 }, (_, index) => `key_${1_000_000 + index}`);
  const parts = [...partsInKeyOrder(keys.toReversed())];
  assert.deepEqual(parts, [keys.slice(0, 500), keys.slice(500, 1_000), keys.slice(1_000)]);
  const many = Array.from({ length: 20_000 }, (_, index) => `key_${1_000_000 + index}`);
  const [first = []] = partsInKeyOrder(many.toReversed());
  assert.deepEqual(first, many.slice(10_000, 10_500), 'of ten thousand at a time');
});
