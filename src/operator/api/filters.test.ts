import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byText, pageOfAll, readMoment } from './filters.ts';

test('a moment is the second that it lies in, in each form that there is, and the message names what was written', () => {
  const now = 86_400;
  for (const [text, moment] of [
    ['1970-01-01T00:00:01.999Z', 1],
    ['1970-01-01t01:00:02+01:00', 2],
    ['1970-01-01T00:00:03.123456789-00:00', 3],
    ['1970-01-03', 2 * now],
    [' 1970-01-01 18:00 ', 64_800],
    ['1970-01-01 18:00:14', 64_814],
    ['90s', now + 90],
    ['1w', 8 * now],
    ['1y', 366 * now],
  ] as const)
    assert.equal(readMoment(text, '--until', { now }), moment, text);
  const past = ['1h', '2d'].map((text) => readMoment(text, '--until', { now, towards: 'past' }));
  assert.deepEqual(past, [now - 3_600, 0], 'at most back to the beginning');
  for (const text of ['1970-01-01T00:00:03.Z', '1970-01-01T00:00:03.1234567890Z', '1970-01-01T00:00:03', '2030-02-30'])
    assert.throws(() => readMoment(text, '--until', { now }), {
      code: 'validation_failed',
      message: `--until is "${text}"; send a date and time such as 2027-01-31 18:00 (UTC), a date, RFC 3339, or a duration such as 90s or 30d`,
    });
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
