import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Note } from './note.ts';
import { exitCodeOf, reportJunit, reportOf, reportText } from './report.ts';

const NOTE: Note = {
  at: 0,
  answeredAt: 0,
  method: 'GET',
  route: '/v1/pets',
  target: 'pets',
  body: null,
  idempotencyKey: null,
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
  assert.match(reportText(report), /^ {2}waits {11}broken\n {4}Request 2 \(GET \/v1\/pets\) came 9 ms after/m);
  assert.equal(exitCodeOf(report), 1);
});

test('XML is escaped', () => {
  const report = reportOf({ keyId: '<&">', script: 'limit:2', reached: 0, notes: [] });
  assert.match(
    reportJunit(report),
    /<testsuite name="rehearsal\.&lt;&amp;&quot;&gt;" tests="8" failures="0" errors="1"/,
  );
  assert.equal(exitCodeOf(report), 3);
});
