import assert from 'node:assert/strict';
import { test } from 'node:test';
import { momentOf } from './query.ts';

test('a moment is the second that it lies in', () => {
  assert.equal(momentOf('1970-01-01T00:00:01.999Z', 'since'), 1);
  assert.equal(momentOf('1970-01-01t01:00:02+01:00', 'since'), 2);
  assert.equal(momentOf('1970-01-01T00:00:03.123456789-00:00', 'since'), 3);
  for (const text of [
    '1970-01-01T00:00:03.Z',
    '1970-01-01T00:00:03.1234567890Z',
    '1970-01-01T00:00:03',
    '2030-02-30T00:00:00Z',
  ])
    assert.throws(() => momentOf(text, 'since'), {
      code: 'validation_failed',
      message: `since is "${text}"; send a date and time such as 2026-01-01T12:00:00Z`,
    });
});
