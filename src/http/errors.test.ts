import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AnyErrorCode, CatalogError } from '../catalog/error.ts';
import type { Decision } from '../limits/limiter.ts';
import { errorAnswer, overLimit, refusal, STATUS_OF } from './errors.ts';
import type { Answer } from './transport/exchange.ts';

/** The answers to refused and failed requests, word by word. */

const NOW = Date.UTC(2026, 0, 1, 12) / 1000;
const CODES = Object.keys(STATUS_OF) as AnyErrorCode[];

/** Its members, with the parsed body. */
function read({ body, ...answer }: Answer) {
  return { ...answer, body: JSON.parse(String(body)) };
}

test('an error is its code, its message and its status, and closes the connection if the input is lost', () => {
  const closing: AnyErrorCode[] = [];
  for (const code of CODES) {
    const { closes, ...answer } = read(refusal(code, 'A "quoted"\nline'));
    const status = STATUS_OF[code];
    assert.deepEqual(answer, { status, code, headers: [], body: { code, message: 'A "quoted"\nline', status } });
    if (closes) closing.push(code);
  }
  assert.deepEqual(closing, [
    'malformed_request',
    'request_timeout',
    'payload_too_large',
    'uri_too_long',
    'expectation_failed',
    'headers_too_large',
    'not_implemented',
    'http_version_not_supported',
  ]);
  assert.deepEqual(refusal('not_found', 'Nothing', ['Allow', 'GET']).headers, ['Allow', 'GET']);
});

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
    const { status, headers, body } = read(overLimit({ ...decision, ...refused }, NOW + 10));
    assert.deepEqual([status, headers, body.code], [429, ['Retry-After', '30'], code]);
    assert.equal(body.message, `${message}; retry in 30 s, at 2026-01-01T12:00:40Z`);
  }
  for (const late of [40, 90]) {
    const { headers } = overLimit(decision, NOW + late);
    assert.deepEqual(headers, ['Retry-After', '1'], 'at least a second');
  }
});

test('a failure says what to do, and a defect hides what failed', () => {
  const { status, headers, body } = read(errorAnswer(new CatalogError('not_found', 'There is no pet 7')));
  assert.deepEqual([status, headers, body.message], [404, [], 'There is no pet 7']);
  for (const code of ['unavailable', 'outcome_unknown'] as const) {
    assert.deepEqual(errorAnswer(new CatalogError(code, 'Later')).headers, ['Retry-After', '1']);
  }
  const defect = read(errorAnswer(new Error('secret')));
  assert.deepEqual([defect.status, defect.body.code], [500, 'internal_error']);
  assert.equal(defect.body.message, 'The service failed; quote the X-Request-Id when you report it');
});
