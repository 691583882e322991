import assert from 'node:assert/strict';
import { test } from 'node:test';
import { table } from './table.ts';

test('columns are as wide as their longest cell, and nothing in a cell controls a terminal or begins a line', () => {
  const cell = 'a\nb\x1b[31m\u009b\u2028\u202e\u2066c';
  assert.equal(table(['ID', 'NAME'], [['key_1', cell]]), 'ID     NAME\nkey_1  a b [31m    c');
});

test('headings may be wider than every cell, and the last column has no spaces behind it', () => {
  assert.equal(table(['ID', 'REFUSED', 'LAST'], [['a', '1', 'x']]), 'ID  REFUSED  LAST\na   1        x');
});
