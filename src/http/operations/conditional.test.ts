import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isCurrent } from './conditional.ts';

test('a validator is current if one of those sent is the same, weak or not', () => {
  for (const [sent, expected] of [
    [undefined, false],
    ['', false],
    ['"a"', true],
    ['W/"a"', true],
    ['  "a"  ', true],
    ['"b", W/"c" ,"a"', true],
    ['*', true],
    [' * ', true],
    ['"b", *', false],
    ['"*"', false],
    ['"b"', false],
    ['a', false],
    ['xW/"a"', false],
    ['W/W/"a"', false],
    ['"W/a"', false],
    ['"a', false],
    ['"a-gzip"', true],
    ['"a;gzip"', true],
    ['"a--gzip"', true],
    ['W/"a-gzip"', true],
    ['"a-zstd"', true],
    ['"b", "a-br"', true],
    ['"b-gzip"', false],
    ['"a-gzip', false],
    ['"agzip"', false],
    ['"a-gzip-gzip"', false],
    ['"a-gzi"', false],
  ] as const) {
    assert.equal(isCurrent(sent, '"a"'), expected, `${sent}`);
    assert.equal(isCurrent(sent?.replace('"a', '"a-'), '"a-"'), expected, `${sent}, of a validator that ends in -`);
  }
});
