import assert from 'node:assert/strict';
import { test } from 'node:test';
import { note } from '../../test/kit/note.ts';
import { areOverlapping, learnedFrom } from './learned.ts';
import { kindOf, type Note } from './note.ts';
import { planFor } from './plan.ts';
import { USUAL_CUSTOMS } from './rules.ts';

for (const [path, kind] of [
  ['/things/12', 'GET /things/{}'],
  ['/things/0b8f3a52-8a3c-4b5e-9d7e-0c1d2e3f4a5b/parts', 'GET /things/{}/parts'],
  ['/things/cus_Nf9aP0x2Lw', 'GET /things/{}'],
  ['/v1/things', 'GET /v1/things'],
] as const) {
  test(`${path} is of the kind ${kind}`, () => assert.equal(kindOf('GET', path), kind));
}

test('equal calls are expected as often as they came, and new ones as often as others of their kind', () => {
  const twice = { method: 'POST', path: '/a/1', body: 'x' };
  const run = [note(0), note(1), note(2), note(3, twice), note(4, twice)];
  const learned = learnedFrom([run, run.slice(1)]);
  assert.deepEqual(learned.calls, [
    { kind: 'GET /a', count: 3, hasJson: true },
    { kind: 'POST /a/{}', count: 2, hasJson: true },
  ]);
  assert.equal(learned.expected(note(0)), 3);
  assert.equal(learned.expected(note(0, { method: 'POST', path: '/a/2', body: 'y' })), 2);
  assert.deepEqual(learned.remarks, ['GET /a came 3 times, then 2 times without a fault']);
});

test('a fault for good is aimed at the first call of a kind, and at its last one too where all plays are made', () => {
  const [one, other] = ['x', 'y'].map((body, at) => note(at, { method: 'POST', body }));
  const learned = learnedFrom([[one, other]] as Note[][]);
  const aims = (isWhole: boolean) =>
    planFor(learned, USUAL_CUSTOMS, isWhole).flatMap(({ script }) => /^error\*12@(.*)/.exec(script)?.[1] ?? []);
  assert.deepEqual([aims(false), aims(true)], [['POST /a'], ['POST /a', '2.POST /a']]);
});

test('a pause is learned from three or more, up to what is no pause that is meant', () => {
  for (const [moments, pauseMs] of [
    [[0, 10], 0],
    [[0, 10, 20, 900], 10],
    [[0, 200, 400, 600], 25],
  ] as const) {
    assert.equal(learnedFrom([moments.map((at) => note(at))]).pauseMs, pauseMs, `${moments}`);
  }
});

for (const [what, notes, overlap] of [
  ['one after the other', [note(0), note(10)], false],
  ['one while another is answered', [note(0, { answeredAt: 20 }), note(10)], true],
  ['a connection for each', [note(0), note(10, { connection: 2, connectedAt: 9 })], false],
  [
    'a connection that was opened before',
    [note(0, { answeredAt: 5 }), note(10, { connection: 2, connectedAt: 4 })],
    true,
  ],
  [
    'a pool that takes turns',
    [note(0), note(10, { connection: 2, connectedAt: 9 }), note(20), note(30, { connection: 2, connectedAt: 9 })],
    false,
  ],
  ['a client that left and came back', [note(0, { answeredAt: 50, isDelivered: false }), note(10)], false],
] as const) {
  test(`requests overlap or not: ${what}`, () => assert.equal(areOverlapping(notes), overlap));
}
