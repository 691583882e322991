import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byMoment, byText, pageOfAll } from './filters.ts';

test('a duration counts from now, at most back to the beginning, and a moment is written as in forms too', () => {
  const moment = (text: string, towards: 'past' | 'future') => byMoment('', towards, '').read(text, 'a', 100_000);
  assert.deepEqual([moment('1d', 'past'), moment('2d', 'past'), moment('2d', 'future')], [13_600, 0, 272_800]);
  assert.deepEqual([moment('1970-01-01T00:00:07Z', 'past'), moment('1970-01-02 00:01', 'past')], [7, 86_460]);
});

test('a text that selects has 255 characters at most, and no NUL', () => {
  const longest = '🐕'.repeat(255);
  const read = (text: string) => byText('').read(text, 'a', 0);
  assert.equal(read(longest), longest);
  assert.throws(() => read('x\0'), { message: 'a is "x\\u0000"; send at most 255 characters' });
  assert.throws(() => read(`${longest}x`), { message: /; send at most 255 characters$/ });
});

test('a page of what is in memory goes on behind a row that is gone', () => {
  const rows = [5, 4, 3, 2, 1].map((number) => ({ number, id: 'x' }));
  const as = { placeOf: (row: (typeof rows)[0]) => row, json: (row: object) => row };
  const page = (all: typeof rows, behind?: (typeof rows)[0]) => pageOfAll(all, as, { limit: 2, behind });
  const { last } = page(rows);
  assert.deepEqual(last, { number: 4, id: 'x' });
  assert.deepEqual(page(rows.slice(2), last).json, rows.slice(2, 4));
  assert.equal(page(rows, rows[2]).last, undefined);
});
