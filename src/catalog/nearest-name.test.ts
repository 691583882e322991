import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearest } from './nearest-name.ts';

test('the nearest name is at most three letters away, and less than half of its own', () => {
  const known = ['categories', 'pets', 'orders', 'inventory', 'rate_limit'];
  for (const [text, meant] of [
    ['category', 'categories'],
    ['Categories', 'categories'],
    ['pet', 'pets'],
    ['order', 'orders'],
    ['rate-limit', 'rate_limit'],
    ['rateLimits', 'rate_limit'],
    ['inventroy', 'inventory'],
    ['rate_limitxyz', 'rate_limit'],
    ['rate_limitwxyz', undefined],
    ['pe', undefined],
    ['pex', undefined],
    ['stores', undefined],
    ['', undefined],
    ['x'.repeat(10_000), undefined],
  ] as const) {
    assert.equal(nearest(text, known), meant, text);
  }
  const long = 'x'.repeat(40);
  assert.equal(nearest(`${long}${'y'.repeat(10_000)}`, [long]), long, 'by its first 40 characters');
  assert.equal(nearest('statuz', ['state', 'status']), 'status', 'the nearer of two');
});
