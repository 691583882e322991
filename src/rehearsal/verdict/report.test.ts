import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Note } from './note.ts';
import { outcomeOf, reportOf, reportText, suiteOf } from './report.ts';

const NOTE: Note = {
  at: 0,
  answeredAt: 0,
  turnedBy: 0,
  method: 'GET',
  route: '/v1/pets',
  target: 'pets',
  body: null,
  idempotencyKey: null,
  credentials: null,
  step: 'limit:2',
  isEarly: false,
  status: 429,
  retryAfter: 2,
  isDelivered: true,
  isDone: false,
  hasCreated: false,
};
const early = Array.from({ length: 30 }, () => ({ ...NOTE, at: 9, answeredAt: 9, step: null, isEarly: true }));

test('of much evidence the first twenty sentences are shown', () => {
  const report = reportOf({ keyId: 'key_1', script: 'limit:2,ok', reached: 1, notes: [NOTE, ...early] });
  const { evidence = [] } = report.rules.find(({ rule }) => rule === 'waits') ?? {};
  assert.equal(evidence.length, 21);
  assert.equal(evidence[20], '10 more');
  const text = reportText(report);
  assert.match(
    text,
    /^The rehearsal of key_1: limit:2,ok\n1 of 2 steps were reached, by 31 requests\n\n {2}script {10}in error\n/,
  );
  assert.match(
    text,
    /\n {2}BROKEN waits\n {4}No request comes before .*\n {4}Request 2 \(GET \/v1\/pets\) came 9 ms after/,
  );
  assert.equal(outcomeOf(report), 'broken');
});

test('a script that was not followed to its end is an error of its own', () => {
  const report = reportOf({ keyId: null, script: 'limit:2', reached: 0, notes: [] });
  const { name, verdicts } = suiteOf(report);
  assert.equal(name, 'rehearsal limit:2');
  assert.deepEqual(
    verdicts.map(({ id, verdict }) => `${id} ${verdict}`),
    [
      'script error',
      ...['waits', 'backs-off', 'stops', 'retries-safely', 'once', 'gives-up', 'tolerates'].map(
        (id) => `${id} skipped`,
      ),
    ],
  );
  assert.equal(outcomeOf(report), 'unreached');
});
