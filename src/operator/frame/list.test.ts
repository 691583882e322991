import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressOf } from './list.ts';

test('an address has the parameters that are given, escaped', () => {
  assert.equal(addressOf('/keys', { q: '', state: undefined }), '/keys');
  assert.equal(addressOf('/keys', { q: 'a&b', page: '2' }), '/keys?q=a%26b&page=2');
});
