import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from '../trial/exchange.ts';
import { limitsOf } from './catalog-limit.ts';

const withHeaders = (headers: Readonly<Record<string, string>>): Answer => {
  return { status: 200, headers: new Map(Object.entries(headers)), body: '', isCut: false, list: undefined };
};

test('a limit header is a whole number from 0 on of up to 15 digits, or none', () => {
  for (const [text, value] of [
    ['0', 0],
    ['-1', undefined],
    ['999999999999999', 999_999_999_999_999],
    ['1000000000000000', undefined],
    ['1.5', undefined],
    ['1 ', undefined],
    ['+1', undefined],
    ['--1', undefined],
    ['', undefined],
  ] as const) {
    assert.deepEqual(
      limitsOf(withHeaders({ 'x-ratelimit-limit': text, 'x-ratelimit-remaining': '7' })),
      { limit: value, remaining: 7, reset: undefined },
      text,
    );
  }
  assert.equal(limitsOf(withHeaders({ 'x-ratelimit-reset': '8' })).reset, 8);
});
