import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Judged, judge } from './judge.ts';
import type { Note } from './note.ts';

/** The moment of a request in ms, and what differs from a GET that was answered 200 at once. */
type Happened = readonly [at: number, differs: Partial<Note>];

const ORDINARY: Omit<Note, 'at' | 'answeredAt'> = {
  method: 'GET',
  route: '/v1/categories',
  target: 'list',
  body: null,
  idempotencyKey: null,
  step: 'ok',
  isEarly: false,
  status: 200,
  retryAfter: null,
  isDelivered: true,
  isDone: true,
  hasCreated: false,
};
const lost = { step: 'lost', status: null, isDelivered: false };
const failed = { step: 'error', status: 500, isDone: false };
const limited = { step: 'limit:2', status: 429, retryAfter: 2, isDone: false };
const post = { method: 'POST', target: 'create', body: 'dog', idempotencyKey: 'k' };
const created = { ...post, status: 201, hasCreated: true };

/** What is said by each rule that the requests lead to. */
function verdicts(...happened: readonly Happened[]): Record<string, string> {
  const judged = judgedOf(happened).filter(({ verdict }) => verdict !== 'not met');
  return Object.fromEntries(judged.map(({ rule, verdict }) => [rule, verdict]));
}

function evidence(rule: string, ...happened: readonly Happened[]): readonly string[] {
  return (judgedOf(happened).find((each) => each.rule === rule)?.findings ?? []).map(({ text }) => text);
}

function judgedOf(happened: readonly Happened[]): Judged[] {
  return judge(happened.map(([at, differs]) => ({ ...ORDINARY, at, answeredAt: at, ...differs })));
}

test('requests that meet nothing lead to no rule', () => {
  assert.deepEqual(verdicts(), {});
  assert.deepEqual(verdicts([0, {}], [0, {}], [5, created], [6, created]), {});
});

test('waits: a request may come when a Retry-After is over, 100 ms before it, and when it was under way already', () => {
  assert.deepEqual(verdicts([0, limited]), { waits: 'kept', 'gives-up': 'kept' });
  assert.deepEqual(verdicts([0, limited], [1_900, {}]), { waits: 'kept' });
  assert.deepEqual(verdicts([0, limited], [1_899, {}]), { waits: 'broken' });
  assert.deepEqual(verdicts([0, { ...limited, answeredAt: 20 }], [20, {}]), { waits: 'kept' });
  assert.deepEqual(verdicts([0, limited], [2_000, {}], [2_001, {}]), { waits: 'kept' });
  assert.deepEqual(verdicts([0, { ...limited, status: 503, retryAfter: 1 }], [500, { target: 'other' }]), {
    'gives-up': 'kept',
    waits: 'broken',
  });
  assert.deepEqual(evidence('waits', [0, {}], [100, limited], [150, { ...limited, isEarly: true }], [9_000, {}]), [
    'Request 3 (GET /v1/categories) came 50 ms after request 2 (GET /v1/categories), whose Retry-After was 2 s',
  ]);
});

test('waits: getRateLimit may be asked at any time', () => {
  const free = { route: '/v1/rate_limit', target: 'free', step: null };
  assert.deepEqual(verdicts([0, limited], [1, free], [2_000, {}]), { waits: 'kept' });
  assert.deepEqual(verdicts([0, limited], [1, { ...free, method: 'OPTIONS' }], [2_000, {}]), { waits: 'broken' });
});

test('backs-off: the first wait is 100 ms, the next at least 0.9 of it, and the last of three longer than the first', () => {
  assert.deepEqual(verdicts([0, failed], [100, {}]), { 'backs-off': 'kept' });
  assert.deepEqual(verdicts([0, failed], [99, {}]), { 'backs-off': 'broken' });
  assert.deepEqual(verdicts([0, lost], [1_000, lost], [1_900, {}]), { 'backs-off': 'kept' });
  assert.deepEqual(verdicts([0, lost], [1_000, lost], [1_899, {}]), { 'backs-off': 'broken' });
  assert.deepEqual(verdicts([0, lost], [500, lost], [1_000, lost], [1_501, {}]), { 'backs-off': 'kept' });
  assert.deepEqual(verdicts([0, lost], [500, lost], [1_000, lost], [1_500, {}]), { 'backs-off': 'broken' });
  assert.deepEqual(evidence('backs-off', [0, failed], [7, {}]), [
    'Request 2 (GET /v1/categories) was a retry after 7 ms',
  ]);
});

test('backs-off: what waits for a Retry-After, and another call, is no retry of it', () => {
  assert.deepEqual(verdicts([0, limited], [2_000, {}]), { waits: 'kept' });
  assert.deepEqual(verdicts([0, failed], [1, { target: 'other' }], [300, {}]), { 'backs-off': 'kept' });
  assert.deepEqual(verdicts([0, { step: 'slow:5', answeredAt: 5_000 }], [10, {}]), {});
});

for (const status of [400, 401, 403, 404, 409, 410, 413, 415, 422]) {
  test(`stops: a ${status} is not repeated unchanged`, () => {
    const refused = { ...post, status };
    assert.deepEqual(verdicts([0, refused], [5_000, { ...created, body: 'other' }]), { stops: 'kept' });
    assert.deepEqual(verdicts([0, refused], [5_000, refused]), { stops: 'broken' });
    assert.deepEqual(evidence('stops', [0, refused], [5_000, refused]), [
      `Request 2 (POST /v1/categories) repeats request 1 (POST /v1/categories), which was answered ${status}`,
    ]);
  });
}

test('retries-safely: a POST is repeated with its own Idempotency-Key and body', () => {
  const rules = { 'backs-off': 'kept', 'retries-safely': 'kept' };
  const unsafe = { ...rules, 'retries-safely': 'broken' };
  const first = { ...post, ...failed };
  assert.deepEqual(verdicts([0, first], [500, created]), rules);
  assert.deepEqual(verdicts([0, first], [500, { ...created, idempotencyKey: 'other' }]), unsafe);
  assert.deepEqual(
    verdicts([0, { ...first, idempotencyKey: null }], [500, { ...created, idempotencyKey: null }]),
    unsafe,
  );
  assert.deepEqual(verdicts([0, first], [500, { ...created, body: 'cat' }]), {
    'gives-up': 'kept',
    'retries-safely': 'broken',
  });
  assert.deepEqual(verdicts([0, first], [500, { ...created, idempotencyKey: 'another', body: 'cat' }]), {
    'gives-up': 'kept',
  });
});

test('once: a create whose answer was lost is not made a second time', () => {
  const rules = { 'backs-off': 'kept', 'retries-safely': 'kept', once: 'kept' };
  const lostCreate = { ...created, ...lost };
  assert.deepEqual(verdicts([0, lostCreate], [500, { ...created, hasCreated: false }]), rules);
  assert.deepEqual(verdicts([0, lostCreate], [500, created]), { ...rules, once: 'broken' });
  assert.deepEqual(evidence('once', [0, lostCreate], [500, created]), [
    'Request 2 (POST /v1/categories) created what request 1 (POST /v1/categories) had created already',
  ]);
});

test('gives-up: ten tries of a call are the most', () => {
  const tries = (count: number) => Array.from({ length: count }, (_, index): Happened => [2 ** index * 200, lost]);
  assert.deepEqual(verdicts(...tries(10)), { 'backs-off': 'kept', 'gives-up': 'kept' });
  assert.deepEqual(verdicts(...tries(10), [500_000, {}]), { 'backs-off': 'kept', 'gives-up': 'broken' });
  assert.deepEqual(evidence('gives-up', ...tries(12)), ['Request 11 (GET /v1/categories) is try 11 of 12 of its call']);
});

test('tolerates: after a greased answer another request comes', () => {
  const grease = { step: 'grease' };
  assert.deepEqual(verdicts([0, grease], [10, {}]), { tolerates: 'kept' });
  assert.deepEqual(verdicts([0, grease], [10, grease]), { tolerates: 'broken' });
});
