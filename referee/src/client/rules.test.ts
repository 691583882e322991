import assert from 'node:assert/strict';
import { test } from 'node:test';
import { note } from '../../test/kit/note.ts';
import { verdicts } from '../../test/kit/upstream.ts';
import { type Learned, UNKNOWN_CLIENT } from './learned.ts';
import type { Note, Play } from './note.ts';
import { type Customs, judge, USUAL_CUSTOMS } from './rules.ts';

/** The moment of a request in ms, and what differs from a GET that was answered 200 at once. */
type Happened = readonly [at: number, differs: Partial<Note>];

const ok = {};
const other = { path: '/other' };
const elsewhere = { ...other, connection: 2, connectedAt: 1 };
const lost = { step: 'lost', status: null, isDelivered: false };
const failed = { step: 'error', status: 500, isDone: false };
const limited = { step: 'limit:2', status: 429, retryAfter: 2, isDone: false };
const busy = { step: 'unavailable:1', status: 503, retryAfter: 1, isDone: false };
const greased = { step: 'grease' };
const post = { method: 'POST', body: 'dog', idempotencyKey: 'k' };
const created = { ...post, status: 201 };
const lostCreate = { ...created, ...lost };
const failedCreate = { ...post, ...failed };
const halved = { ...created, step: 'cut', isDelivered: false };
const otherKey = { ...created, idempotencyKey: 'l' };
const withoutKey = { ...created, idempotencyKey: null };
const refused = { ...post, status: 400 };
const unheard = { ...refused, isDelivered: false };
const busyCreate = { ...withoutKey, ...busy };
const unread = { ...lostCreate, body: null };

/** Tries of one call with these waits between them. */
function tries(differs: Partial<Note>, ...waits: number[]): Happened[] {
  let at = 0;
  return [0, ...waits].map((wait) => {
    at += wait;
    return [at, differs];
  });
}

/** Requests, each after its moment. */
function sent(...parts: readonly (number | Partial<Note>)[]): Happened[] {
  return Array.from({ length: parts.length / 2 }, (_, index) => {
    return [parts[2 * index] as number, parts[2 * index + 1] as Partial<Note>];
  });
}

function playOf(happened: readonly Happened[], more: Partial<Play> = {}): Play {
  const requests = happened.map(([at, differs]) => note(at, { path: '/v1/categories', step: 'ok', ...differs }));
  return { script: 'ok', reached: 0, steps: 1, requests, remarks: [], ...more };
}

function judged(happened: readonly Happened[], more: Partial<Play> = {}, by: Partial<Learned & Customs> = {}) {
  return judge(playOf(happened, more), { ...UNKNOWN_CLIENT, ...by }, { ...USUAL_CUSTOMS, ...by });
}

const ended = (exit: number | null, timedOut = false) => ({ command: { exit, timedOut } });

const CASES: readonly (readonly [name: string, met: string, happened: readonly Happened[], more?: Partial<Play>])[] = [
  ['ordinary answers, the same call twice among them', '', sent(0, ok, 0, ok, 5, created, 6, created)],

  ['the end of a Retry-After', 'waits kept', sent(0, limited, 2_000, ok, 2_001, ok)],
  ['the end of a Retry-After, less what a timer may be early', 'waits kept', sent(0, limited, 1_998, ok)],
  ['a request before the end of a Retry-After', 'waits broken', sent(0, limited, 1_997, ok)],
  ['another call before its end', 'waits broken', sent(0, busy, 500, other)],
  ['another call on another connection', 'waits broken', sent(0, busy, 3, elsewhere)],
  ['another call that began within two milliseconds', '', sent(0, busy, 2, elsewhere)],
  ['calls of other workers alone', '', sent(0, busy, 500, { ...other, answeredAt: 700 }, 600, elsewhere)],
  ['a worker that is 100 ms early', 'waits kept', sent(0, { ...other, answeredAt: 50 }, 10, busy, 910, ok)],
  ['a worker that is 101 ms early', 'waits broken', sent(0, { ...other, answeredAt: 50 }, 10, busy, 909, ok)],
  ['a request that began before the answer had ended', 'waits kept', sent(0, { ...limited, answeredAt: 20 }, 20, ok)],
  ['almost the wait for a date', 'waits kept', sent(0, { ...limited, retryAfter: 2.4 }, 2_300, ok)],
  ['less than the wait for a date', 'waits broken', sent(0, { ...limited, retryAfter: 2.4 }, 2_299, ok)],
  ['a Retry-After of half an answer', '', sent(0, { ...busy, isDelivered: false }, 5, other)],
  ['a request that was noted before an earlier one', 'waits broken', sent(500, ok, 0, limited)],

  ['two retries at once', '', [...tries(lost, 0), [0, ok]]],
  ['three retries within 34 ms', 'backs-off broken', [...tries(lost, 4, 10), [34, ok]]],
  ['three retries within 35 ms', '', [...tries(lost, 5, 10), [35, ok]]],
  ['six retries after 29 ms each', 'backs-off broken', [...tries(failed, 29, 29, 29, 29, 29), [174, ok]]],
  ['retries after half a Retry-After', 'backs-off broken', [...tries({ ...busy, isDelivered: false }, 5, 5), [15, ok]]],
  ['a fixed wait that ignores a Retry-After', 'waits broken', [...tries(limited, 1_000), [2_000, ok]]],
  ['retries that another call came between', '', sent(0, failed, 1, other, 2, failed, 3, other, 4, failed, 5, other)],
  ['retries of full jitter', '', [...tries(failed, 3, 190, 20), [700, ok]]],
  ['retries after a Retry-After', 'waits kept', [...tries(busy, 1_000, 1_000, 1_300), [4_400, ok]]],

  ['a 400 asked for again later', 'stops kept', sent(0, refused, 1_000, refused)],
  ['a 400 repeated with another body', 'stops kept', sent(0, refused, 1, { ...created, body: 'other' })],
  ['a 400 repeated after another call', 'stops kept', sent(0, refused, 1, other, 2, refused)],
  ['a 400 while the same was under way', 'stops kept', sent(0, { ...refused, answeredAt: 5 }, 1, refused)],
  ['a 400 that did not arrive', 'retries-safely kept, once kept', sent(0, unheard, 9_000, other)],
  ['a 401 repeated with other credentials', 'stops kept', sent(0, { status: 401 }, 1, { credentials: 'new' })],
  ['a 409 repeated with them', 'stops broken', sent(0, { status: 409 }, 1, { credentials: 'new' })],
  ['a 404 polled', '', tries({ status: 404 }, 5, 5, 5)],

  ['a POST repeated with key and body', 'retries-safely kept', sent(0, failedCreate, 500, created)],
  ['a POST repeated with another key', 'retries-safely broken', sent(0, failedCreate, 500, otherKey)],
  ['a POST repeated without a key', 'retries-safely broken', sent(0, { ...withoutKey, ...failed }, 1_000, withoutKey)],
  ['the same after an answer that nothing was done', 'waits kept', sent(0, busyCreate, 1_000, withoutKey)],
  ['a 429 repeated with another key', 'waits kept', sent(0, { ...post, ...limited }, 2_000, otherKey)],
  ['a key with another body', 'retries-safely broken', sent(0, failedCreate, 500, { ...created, body: 'cat' })],
  ['a repetition whose body did not arrive', 'retries-safely kept, once kept', sent(0, failedCreate, 500, unread)],
  ['a create whose status came, and half of its body', 'retries-safely kept, once kept', [[0, halved]], ended(0)],
  [
    'another create after a failed one',
    'retries-safely kept',
    sent(0, failedCreate, 500, { ...otherKey, body: 'cat' }),
  ],
  [
    'equal creates at once, each repeated with its key',
    'retries-safely kept, once kept',
    sent(0, { ...lostCreate, answeredAt: 9 }, 1, { ...otherKey, ...lost, answeredAt: 8 }, 20, otherKey, 30, created),
  ],
  [
    'equal creates at once without a key, one of them lost',
    'retries-safely kept, once kept',
    sent(0, { ...withoutKey, ...lost, answeredAt: 9 }, 1, { ...withoutKey, answeredAt: 8 }),
  ],

  ['a lost create that was replayed', 'retries-safely kept, once kept', sent(0, lostCreate, 500, created)],
  ['a lost create made a second time', 'once broken', sent(0, lostCreate, 500, otherKey)],
  [
    'a lost create made anew after a refusal',
    'once broken',
    sent(0, lostCreate, 500, { ...failedCreate, idempotencyKey: 'l' }, 900, otherKey),
  ],
  [
    'a lost create that is asked for again after two refusals',
    'retries-safely kept, once kept',
    sent(0, lostCreate, 500, failedCreate, 900, failedCreate, 1_900, created),
  ],
  ['a lost create that is not repeated', 'retries-safely kept, once kept', sent(0, lostCreate, 1, other)],

  ['ten tries', '', tries(lost, 200, 400, 800, ...Array(6).fill(1_000))],
  ['ten tries, the last of which succeeds', '', [...tries(lost, 200, 400, 800, ...Array(5).fill(1_000)), [7_000, ok]]],
  ['eleven tries', 'gives-up broken', [...tries(lost, 200, 400, 800, ...Array(6).fill(1_000)), [8_000, ok]]],
  [
    'two rounds of six tries with a pause longer than any backoff',
    '',
    tries(lost, ...Array(5).fill(100), 10_001, ...Array(5).fill(100)),
  ],
  ['eleven tries with long waits', 'gives-up broken', tries(lost, 2_000, 4_000, 8_000, ...Array(7).fill(30_000))],
  [
    'eleven tries, each within ten seconds of the end of a Retry-After',
    'waits kept, gives-up broken',
    tries({ ...busy, retryAfter: 20 }, ...Array(5).fill([30_000, 21_000]).flat()),
  ],
  ['eleven tries after a second each', 'gives-up broken', tries(failed, ...Array(10).fill(1_000))],

  ['another call after a greased answer', 'tolerates kept', sent(0, greased, 10, other)],
  ['a greased answer, then a failed command', 'tolerates broken', [[0, greased]], ended(1)],
  ['a greased answer, then a command that was stopped', '', [[0, greased]], ended(1, true)],
  ['a greased answer that did not arrive', '', [[0, { ...greased, isDelivered: false }]], ended(1)],
  ['a greased answer repeated by a loop', '', sent(0, greased, 10, ok, 20, ok)],
];

for (const [name, met, happened, more] of CASES) {
  test(`judged: ${name}`, () => assert.equal(verdicts(playOf(happened, more)), met));
}

test('waits that pauses of the machine explain decide nothing, and longer ones do', () => {
  for (const [wait, isTested] of [
    [45, false],
    [55, true],
  ] as const) {
    const later = tries(failed, wait, wait, wait).map(([at, met]): Happened => [at + 40, met]);
    assert.equal(judged([[0, other], ...later]).tested.has('backs-off GET /v1/categories'), isTested, `${wait}`);
  }
});

test('a refusal binds the requests of the scope that is given', () => {
  const here = { credentials: 'b', body: 'x' };
  const elsewhere = { ...other, credentials: 'a' };
  for (const [scope, later, isBroken] of [
    ['key', here, false],
    ['key', elsewhere, true],
    ['route', here, true],
    ['route', elsewhere, false],
    ['all', { ...here, ...other }, true],
  ] as const) {
    const { findings } = judged(sent(0, limited, 500, later), {}, { scope });
    const isFound = findings.some(({ rule }) => rule === 'waits');
    assert.equal(isFound, isBroken, `${scope} ${JSON.stringify(later)}`);
  }
});

test('a call that a client makes once is one under whatever keys, and no verdict is of tries that have nothing in common', () => {
  const kind = 'POST /v1/categories';
  const learned = { calls: [{ kind, count: 1, hasJson: true }], expected: () => 1 };
  const twelve = (differs: (index: number) => Partial<Note>) =>
    Array.from({ length: 12 }, (_, index): Happened => [index, { ...failedCreate, ...differs(index) }]);
  const { findings } = judged(
    twelve((index) => ({ idempotencyKey: `${index}` })),
    {},
    learned,
  );
  assert.deepEqual([...new Set(findings.map(({ rule }) => rule))].sort(), ['backs-off', 'gives-up', 'retries-safely']);
  const anew = judged(
    twelve((index) => ({ idempotencyKey: null, body: `dog at ${index}` })),
    {},
    learned,
  );
  assert.deepEqual([anew.findings, [...anew.tested.keys()]], [[], []]);
  assert.equal(anew.untested.size, 4);
  const grown = judged(sent(0, failedCreate, 500, created, 900, { ...otherKey, body: 'cat' }), {}, learned);
  assert.ok(grown.tested.has(`recovers ${kind}`), 'there was more to do than when it was learned');
});

test('a try of a client that had left, which was seen late, is not taken for a repetition', () => {
  const [left, again] = [{ ...refused, status: null, isDelivered: false, answeredAt: 20 }, created];
  const { findings } = judged(sent(0, left, 2, refused, 10, again), {}, { expected: () => 2 });
  assert.ok(findings.every(({ rule }) => rule === 'recovers'));
});

test('equal calls that overlap are accused of tries that are too many for all of them', () => {
  for (const count of [20, 21]) {
    const happened = [...sent(0, ok), ...tries(lost, ...Array(count - 2).fill(200))];
    const { findings } = judged(happened, {}, { expected: () => 2, isConcurrent: true });
    const isBroken = findings.some(({ rule }) => rule === 'gives-up');
    assert.equal(isBroken, count > 20);
  }
});

test('what can never succeed is not repeated unchanged', () => {
  for (const status of [400, 401, 403, 409, 410, 413, 415, 422])
    assert.equal(verdicts(playOf(sent(0, { status }, 5, { status }))), 'stops broken', `${status}`);
});

test('the evidence names the requests, and what was asked for', () => {
  const [get, create] = ['GET /v1/categories', 'POST /v1/categories'];
  const repeats = `Request 2 (${create}) repeats request 1 (${create})`;
  for (const [happened, said] of [
    [
      sent(0, ok, 100, limited, 150, { ...limited, isEarly: true }, 9_000, ok),
      `Request 3 (${get}) came 50 ms after request 2 (${get}), a 429 that asked to wait 2 s`,
    ],
    [sent(0, refused, 5, refused), `${repeats}, a 400`],
    [sent(0, lostCreate, 500, otherKey), `${repeats} under another idempotency key, after no answer`],
    [sent(0, failedCreate, 500, { ...created, body: 'cat' }), `${repeats} with the same key, and another body`],
    [tries(lost, ...Array(11).fill(200)), `Request 11 (${get}) is try 11 of 12 of its call`],
  ] as const) {
    const findings = judged(happened).findings.filter(({ rule }) => rule !== 'recovers');
    const texts = findings.map(({ text }) => text);
    assert.deepEqual(texts, [said]);
  }
});
