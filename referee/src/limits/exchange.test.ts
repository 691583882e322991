import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Answer, momentOf, retryAfterOf } from './exchange.ts';

const answer = (more: Partial<Answer>): Answer => {
  return { status: 200, headers: new Map(), body: '', ...more };
};
const withHeaders = (headers: Readonly<Record<string, string>>) =>
  answer({ headers: new Map(Object.entries(headers)) });
const NOW = 'Sun, 06 Nov 1994 08:49:37 GMT';

test('a moment is an IMF-fixdate of any weekday, and no other form of a date', () => {
  for (let day = 0; day < 7; day += 1) {
    const seconds = 784_111_777 + day * 86_400;
    assert.equal(momentOf(new Date(seconds * 1_000).toUTCString()), seconds);
  }
  const wrong = ['Sunday, 06-Nov-94 08:49:37 GMT', 'Sun Nov  6 08:49:37 1994', NOW.slice(5), `${NOW} `, ` ${NOW}`];
  const others = [NOW.replace('GMT', 'UTC'), NOW.replace('06', '6'), NOW.replace('Nov', 'Nox'), '1994-11-06', ''];
  for (const text of [...wrong, ...others, undefined]) assert.equal(momentOf(text), undefined, `${text}`);
});

test('a wait is digits, or the time from Date to a date and never below zero', () => {
  for (const [text, seconds] of [
    ['9'.repeat(15), 999_999_999_999_999],
    ['9'.repeat(16), undefined],
    ['1.5', undefined],
    [NOW.replace(':37', ':38'), 1],
    [NOW, 0],
    [NOW.replace(':37', ':36'), 0],
  ] as const) {
    assert.equal(retryAfterOf(withHeaders({ date: NOW, 'retry-after': text })), seconds, text);
  }
  assert.equal(retryAfterOf(withHeaders({ 'retry-after': NOW })), undefined, 'without a Date');
  assert.equal(retryAfterOf(withHeaders({})), undefined);
});
