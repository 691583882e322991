import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PLAIN } from '../report/write.ts';
import type { Note, Play } from './note.ts';
import { type Allowed, EXIT_CODES, outcomeOf, reportOf, runText, suiteOf } from './verdict.ts';

const NOTE: Note = {
  at: 0,
  answeredAt: 0,
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
const early = Array.from({ length: 21 }, () => ({ ...NOTE, at: 9, answeredAt: 9, step: null, isEarly: true }));

test('of much evidence the first twenty sentences are shown', () => {
  const report = reportOf({ script: 'limit:2,ok', reached: 1, requests: [NOTE, ...early] });
  const { evidence = [] } = report.rules.find(({ rule }) => rule === 'waits') ?? {};
  assert.equal(evidence.length, 21);
  assert.equal(evidence[20], '1 more');
  assert.equal(outcomeOf(report), 'broken');
});

test('a script that was not followed to its end is an error of its own', () => {
  const report = reportOf({ script: 'limit:2', reached: 0, requests: [] });
  const { name, verdicts } = suiteOf(report);
  assert.deepEqual(
    verdicts.map(({ sentence }) => sentence),
    [
      'Every step of the script is reached',
      'No request comes before a Retry-After is over',
      'Retries without a Retry-After wait, and longer each time',
      'A request that cannot succeed is not repeated unchanged at once',
      'A repeated POST has the same Idempotency-Key and body',
      'One create makes one resource',
      'No call is tried more than 10 times',
      'The client goes on after an answer with unknown members',
    ],
  );
  assert.equal(name, 'play limit:2');
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

const UNREACHED = 'script error 0 of 1 steps were reached';
const BROKEN = [NOTE, ...early.slice(0, 1)];

for (const [what, happened, allowed, exit, lines] of [
  ['a command that ends well', { command: { exit: 0, timedOut: false } }, {}, 0, ['script passed ', 'command passed ']],
  [
    'a command that fails, though a step is not reached',
    { reached: 0, command: { exit: 7, timedOut: false } },
    {},
    4,
    [UNREACHED, 'command failed The command exited with 7'],
  ],
  [
    'a signal',
    { command: { exit: null, timedOut: false } },
    {},
    4,
    ['script passed ', 'command failed A signal ended the command'],
  ],
  [
    'a failure that is allowed, and a step that need not be reached',
    { reached: 0, command: { exit: 1, timedOut: false } },
    { failure: true, partial: true },
    0,
    ['script skipped 0 of 1 steps were reached', 'command skipped The command exited with 1'],
  ],
  [
    'a command that does not end, even where its failure is allowed',
    { reached: 0, command: { exit: null, timedOut: true } },
    { failure: true },
    2,
    [UNREACHED, 'command error The command did not end in time, and was stopped'],
  ],
  [
    'a broken rule before the time-out',
    { requests: BROKEN, command: { exit: null, timedOut: true } },
    {},
    1,
    undefined,
  ],
  ['another rule than the known one', { requests: BROKEN }, { known: new Set(['once']) }, 1, undefined],
  ['the known rule', { requests: BROKEN }, { known: new Set(['waits']) }, 0, undefined],
  [
    'an upstream that failed',
    { requests: BROKEN, failure: 'gone' },
    {},
    2,
    ['script error gone', 'waits skipped The script never led there'],
  ],
] as const satisfies readonly (readonly [string, Partial<Play>, Allowed, number, readonly string[] | undefined])[]) {
  test(`${what} ends with ${exit}`, () => {
    const report = reportOf({ script: 'limit:2', reached: 1, requests: [], ...happened });
    assert.equal(EXIT_CODES[outcomeOf(report, allowed)], exit);
    const { verdicts } = suiteOf(report, allowed);
    const shown = verdicts.map(({ id, verdict, message }) => `${id} ${verdict} ${message}`);
    if (lines) assert.deepEqual(shown.slice(0, 2), lines);
  });
}

test('of several reasons the first in this order is the exit of a run', () => {
  assert.deepEqual(Object.keys(EXIT_CODES), ['untried', 'broken', 'timed out', 'failed', 'unreached', 'kept']);
});

test('a run shows what was known to be broken, and remarks by script', () => {
  const play = { script: 'limit:2', reached: 1, requests: [NOTE, ...early.slice(0, 2)] };
  const report = reportOf({ ...play, remarks: ['upstream: made twice'] });
  const allowed = { known: new Set(['waits']) };
  const known =
    'Known to be broken: Request 2 (GET /v1/pets) came 9 ms after request 1 (GET /v1/pets), whose Retry-After was 2 s';
  assert.equal(
    runText([{ report, allowed }], PLAIN),
    `Judged under one script

  limit:2  2 kept, 1 known

  known: limit:2.waits
    ${known}

2 kept, 1 known of 3 rules

limit:2: upstream: made twice`,
  );
  const { message, details } = suiteOf(report, allowed).verdicts[1] ?? {};
  assert.deepEqual([message, details?.length], [known, 1]);
});
