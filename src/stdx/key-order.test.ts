import assert from 'node:assert/strict';
import { test } from 'node:test';
import { partsInKeyOrder } from './key-order.ts';

test('the parts have at most 500 neighbouring keys, in order', () => {
  const keys = Array.from({ length: 1_001 }, (_, index) => `key_${1_000_000 + index}`);
  const parts = [...partsInKeyOrder(keys.toReversed())];
  assert.deepEqual(parts, [keys.slice(0, 500), keys.slice(500, 1_000), keys.slice(1_000)]);
});
