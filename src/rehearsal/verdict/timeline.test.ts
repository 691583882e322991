import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judge } from './judge.ts';
import type { Note, Rehearsed } from './note.ts';
import { rehearsalView } from './timeline.ts';

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
  step: null,
  isEarly: false,
  status: 200,
  retryAfter: null,
  isDelivered: true,
  isDone: true,
  hasCreated: false,
};

function viewOf(notes: readonly Partial<Note>[], more: Partial<Rehearsed> = {}): string {
  const filled = notes.map((note) => ({ ...NOTE, answeredAt: note.at ?? 0, ...note }));
  return rehearsalView({ keyId: 'key_1', script: 'ok', reached: 0, requests: filled, ...more }).text;
}

/** The cells of each request, without their tags. */
function cellsOf(view: string): string[][] {
  const rows = [...view.matchAll(/<tr id="request-\d+">(.*?)<\/tr>/gs)];
  return rows.map(([, row = '']) => row.split(/<\/t[hd]>/).map((cell) => cell.replaceAll(/<[^>]*>/g, '').trim()));
}

for (const [note, answer] of [
  [{}, '200'],
  [{ status: 304 }, '304'],
  [{ status: 201, hasCreated: true }, '201; created'],
  [{ status: 201, hasCreated: true, isDelivered: false }, '201, not all of it; created'],
  [{ isDelivered: false }, '200, not all of it; carried out'],
  [{ status: null, isDelivered: false }, 'none; carried out'],
  [{ status: null, isDelivered: false, isDone: false }, 'none; nothing done'],
  [{ status: 400, isDone: false }, '400; nothing done'],
  [{ status: 503 }, '503; carried out'],
] as const) {
  test(`an answer is told as "${answer}"`, () => assert.equal(cellsOf(viewOf([note]))[0]?.[5], answer));
}

test('waits are told to the hundredth of a second, those of minutes rounded, none below zero', () => {
  const moments = [0, 999, 1_999, 61_998, 121_998, 300_000];
  const cells = cellsOf(viewOf([...moments.map((at) => ({ at })), { at: 300_001, answeredAt: 9e9 }, { at: 300_002 }]));
  assert.deepEqual(
    cells.map(([, after]) => after),
    ['', '999 ms', '1.00 s', '60.00 s', '60 s', '3 min', '1 ms', '0 ms'],
  );
});

test('a wait is drawn against what was asked for, if that was delivered', () => {
  const asking = { status: 429, retryAfter: 2, isDone: false };
  const view = viewOf([
    { ...asking, step: 'limit:2' },
    { at: 1_500, ...asking, isEarly: true },
    { at: 6_500, isDelivered: false, retryAfter: 2 },
    { at: 9_000 },
  ]);
  assert.deepEqual(
    [...view.matchAll(/<meter ([^>]*)>/g)].map(([, attributes]) => attributes),
    [
      'min="0" max="2000" optimum="2000" low="1800" high="1980" value="1500" title="1.50 s of 2 s"',
      'min="0" max="2000" optimum="2000" low="1800" high="1980" value="2000" title="5.00 s of 2 s"',
    ],
  );
  assert.deepEqual(
    cellsOf(view).map(([number, , asked, came, step, , verdict]) => [number, asked, came, step, verdict]),
    [
      ['1', '', 'GET /v1/pets', 'limit:2', ''],
      ['2', '2 s', 'GET /v1/pets', 'early', 'waits'],
      ['3', '2 s', 'GET /v1/pets', 'none', 'waited'],
      ['4', '', 'GET /v1/pets', 'none', ''],
    ],
  );
});

test('a rule that is kept or was not met shows what it asks', () => {
  const view = viewOf([{ status: 429, retryAfter: 1 }, { at: 1_000 }], { remarks: ['upstream: <made> twice'] });
  const [, waits = '', backsOff = ''] = view.split('<th scope="row"><code>');
  assert.match(
    waits,
    /^waits.*<span class="badge good">kept<\/span>.*>No request comes before a Retry-After is over</s,
  );
  assert.match(backsOff, /^backs-off.*<span class="badge">not met<\/span>.*>Retries without a Retry-After wait, and/s);
  assert.match(view, /<p class="soft">upstream: &lt;made&gt; twice\.<\/p>/);
});

test('of an upstream that failed no rule is broken, as in the report that was printed', () => {
  const notes = [{ status: 429, retryAfter: 1 }, { at: 1 }];
  assert.match(viewOf(notes), /badge danger/);
  assert.doesNotMatch(viewOf(notes, { failure: 'The upstream did not answer' }), /badge (danger|good)">(broken|kept)/);
});

test('a remark that a printed report has already is shown once', () => {
  const notes = [{ answeredAt: 9 }, { at: 5, target: 'orders' }];
  const { remarks } = judge({
    keyId: null,
    script: 'ok',
    reached: 0,
    requests: notes.map((note) => ({ ...NOTE, ...note })),
  });
  assert.equal(remarks.length, 1);
  assert.equal(viewOf(notes, { remarks: [...remarks] }).split('Calls overlapped').length, 2);
});

test('no request, and more than are shown, are said', () => {
  assert.match(viewOf([]), /<tr><td colspan="7">No request has come yet\.<\/td><\/tr>/);
  assert.doesNotMatch(viewOf(Array(200).fill({})), /The latest/);
  assert.match(viewOf(Array(1_201).fill({})), / The latest 200 of 1,201\.<\/p>/);
});
