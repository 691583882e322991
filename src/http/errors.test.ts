import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CatalogError, ERROR_CODES } from '../catalog/error.ts';
import type { Decision } from '../limits/limiter.ts';
import { errorAnswer, overLimit } from './errors.ts';

const NOW = Date.UTC(2026, 0, 1, 12) / 1000;

test('a refusal over a limit names the limit or the ban, and when to come back', () => {
  const window = { limit: 60, remaining: 0, reset: NOW + 40 };
  const decision: Decision = { ...window, minute: window, day: { ...window, limit: 1_000 }, now: NOW };
  const until = { until: NOW + 40, reason: 'refused 60 more times' };
  for (const [refused, code, message] of [
    [{}, 'rate_limit_exceeded', 'The limit of 60 requests per minute is reached'],
    [{ refusal: 'rate_limit_exceeded' }, 'rate_limit_exceeded', 'The limit of 60 requests per minute is reached'],
    [{ refusal: 'daily_quota_exceeded' }, 'daily_quota_exceeded', 'The quota of 60 requests per day is reached'],
    [{ refusal: 'key_banned', ban: until }, 'key_banned', 'The key is banned because it was refused 60 more times'],
    [{ refusal: 'key_banned' }, 'key_banned', 'The key is banned because it was refused too often'],
  ] as const) {
    const { status, headers, body } = overLimit({ ...decision, ...refused }, NOW + 10);
    assert.deepEqual([status, headers], [429, ['Retry-After', '30']]);
    assert.deepEqual(JSON.parse(`${body}`), {
      code,
      status,
      message: `${message}; retry in 30 s, at 2026-01-01T12:00:40Z`,
    });
  }
});

test('every 503 has a Retry-After, of an unknown outcome too, and no other error of the catalog has one', () => {
  const told = ERROR_CODES.filter((code) => {
    const { status, headers = [] } = errorAnswer(new CatalogError(code, 'No'));
    assert.equal(headers.includes('Retry-After'), status === 503, code);
    return status === 503;
  });
  assert.deepEqual(new Set(told), new Set(['unavailable', 'outcome_unknown']));
});
