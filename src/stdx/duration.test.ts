import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDuration } from './duration.ts';

test('a duration is a whole number of up to nine digits with its unit, or 0', () => {
  const wanted = { 0: 0, '90s': 90, '10m': 600, '30d': 2_592_000, '2w': 1_209_600, '999999999s': 999_999_999 };
  for (const [text, seconds] of Object.entries(wanted)) assert.equal(parseDuration(text), seconds, text);
  for (const text of ['', '5', 's', '1.5h', '-1s', ' 1s', '1s ', '1000000000s', '1constructor'])
    assert.equal(parseDuration(text), undefined, text);
});
