import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Learned, UNKNOWN_CLIENT } from './learned.ts';
import type { Note, Play } from './note.ts';
import { judge, RULE_NAMES, USUAL_CUSTOMS } from './rules.ts';

/** What differs from a GET that was answered 200 at once; `target` is its path. */
type Differs = Partial<Note> & { readonly target?: string };
/** The moment of a request in ms, and what differs. */
type Happened = readonly [at: number, differs: Differs];

const ok = {};
const other = { target: '/other' };
const lost = { step: 'lost', status: null, isDelivered: false };
const failed = { step: 'error', status: 500, isDone: false };
const limited = { step: 'limit:2', status: 429, retryAfter: 2, isDone: false };
const busy = { step: 'unavailable:1', status: 503, retryAfter: 1, isDone: false };
const greased = { step: 'grease' };
const post = { method: 'POST', body: 'dog', idempotencyKey: 'k' };
const created = { ...post, status: 201 };
const lostCreate = { ...created, ...lost };
const refused = { ...post, status: 400 };

/** Tries of one call with these waits between them. */
function tries(differs: Differs, ...waits: number[]): Happened[] {
  let at = 0;
  return [0, ...waits].map((wait) => {
    at += wait;
    return [at, differs];
  });
}

/** Requests, each after its moment. */
function sent(...parts: readonly (number | Differs)[]): Happened[] {
  const happened: Happened[] = [];
  for (let index = 0; index < parts.length; index += 2)
    happened.push([parts[index] as number, parts[index + 1] as Differs]);
  return happened;
}

function notesOf(happened: readonly Happened[]): Note[] {
  return happened.map(([at, { target = '/v1/categories', ...differs }]) => {
    const { method = 'GET', body = null } = differs;
    const about = { method, path: target, kind: `${method} ${target}`, call: `${method} ${target} ${body}`, body };
    const usual = {
      idempotencyKey: null,
      isConditional: false,
      credentials: 'a',
      connection: 1,
      connectedAt: 0,
      step: 'ok',
    };
    const answer = { isEarly: false, status: 200, retryAfter: null, isDelivered: true, isDone: true, hasJson: true };
    return { at, answeredAt: at, ...about, ...usual, ...answer, ...differs };
  });
}

interface More extends Partial<Play> {
  readonly learned?: Learned;
}

function judged(happened: readonly Happened[], { learned = UNKNOWN_CLIENT, ...more }: More = {}) {
  const requests = notesOf(happened);
  const play = { script: 'ok', reached: 0, steps: 1, requests, remarks: [], ...more };
  return judge(play, learned, USUAL_CUSTOMS);
}

/** Rules that every failure puts to the test; they are shown where they are broken. */
const USUALLY_TESTED = /^(recovers|gives-up|backs-off|tells)$/;

/** The rules that were put to the test, each with its verdict. */
function verdicts(happened: readonly Happened[], more?: More): string {
  const { tested, findings } = judged(happened, more);
  const isMet = (rule: string) => [...tested].some((cell) => cell.startsWith(`${rule} `));
  const isBroken = (rule: string) => findings.some((each) => each.rule === rule);
  return RULE_NAMES.filter((rule) => rule !== 'recovers' && isMet(rule))
    .filter((rule) => isBroken(rule) || !USUALLY_TESTED.test(rule))
    .map((rule) => `${rule} ${isBroken(rule) ? 'broken' : 'kept'}`)
    .join(', ');
}

function evidence(...happened: readonly Happened[]): string[] {
  return judged(happened)
    .findings.filter(({ rule }) => rule !== 'recovers')
    .map(({ text }) => text);
}

const CASES: readonly (readonly [name: string, met: string, happened: readonly Happened[], more?: Partial<Play>])[] = [
  ['nothing', '', []],
  ['ordinary answers, the same call twice among them', '', sent(0, ok, 0, ok, 5, created, 6, created)],

  ['the end of a Retry-After', 'waits kept', sent(0, limited, 2_000, ok, 2_001, ok)],
  ['the end of a Retry-After, less what is tolerated', 'waits kept', sent(0, limited, 1_900, ok)],
  ['a request before the end of a Retry-After', 'waits broken', sent(0, limited, 1_899, ok)],
  ['another call before its end', 'waits broken', sent(0, busy, 500, other)],
  ['a request that began before the answer had ended', 'waits kept', sent(0, { ...limited, answeredAt: 20 }, 20, ok)],
  ['a wait for a date', 'waits broken', sent(0, { ...limited, retryAfter: 2.4 }, 2_299, ok)],
  ['a Retry-After of half an answer', '', sent(0, { ...busy, isDelivered: false }, 5, other)],
  ['a request that was noted before an earlier one', 'waits broken', sent(500, ok, 0, limited)],

  ['two retries at once', '', [...tries(lost, 0), [0, ok]]],
  ['three retries within 34 ms', 'backs-off broken', [...tries(lost, 4, 10), [34, ok]]],
  ['three retries within 35 ms', '', [...tries(lost, 5, 10), [35, ok]]],
  ['four retries within 74 ms', 'backs-off broken', [...tries(failed, 50, 0, 0), [74, ok]]],
  ['five retries after 25 ms each', '', [...tries(failed, 25, 25, 25, 25), [125, ok]]],
  ['six retries after 29 ms each', 'backs-off broken', [...tries(failed, 29, 29, 29, 29, 29), [174, ok]]],
  ['retries after half a Retry-After', 'backs-off broken', [...tries({ ...busy, isDelivered: false }, 5, 5), [15, ok]]],
  ['retries of full jitter', '', [...tries(failed, 3, 190, 20), [700, ok]]],
  ['retries after a Retry-After', 'waits kept', [...tries(busy, 1_000, 1_000, 1_300), [4_400, ok]]],
  [
    'retries that another call came between',
    '',
    sent(0, failed, 1, other, 2, failed, 3, other, 4, failed, 5, other, 6, ok),
  ],
  ['another call in the moment of the answer', '', sent(0, failed, 0, other, 5, ok)],
  ['a slow answer', '', sent(0, { step: 'slow:5', answeredAt: 5_000 }, 5_010, other)],

  ['a 400 repeated at once', 'stops broken', sent(0, refused, 999, refused)],
  [
    'a 400 repeated in the moment of the answer',
    'stops broken',
    sent(0, refused, 0, { ...refused, answeredAt: 9_000 }),
  ],
  ['a 400 asked for again later', 'stops kept', sent(0, refused, 1_000, refused)],
  ['a 400 repeated with another body', 'stops kept', sent(0, refused, 1, { ...created, body: 'other' })],
  ['a 400 repeated after another call', 'stops kept', sent(0, refused, 1, other, 2, refused)],
  [
    'a 400 while the same was under way',
    'stops kept',
    sent(0, { ...refused, answeredAt: 5 }, 1, { ...refused, answeredAt: 6 }),
  ],
  [
    'a 400 that did not arrive',
    'retries-safely kept, once kept',
    sent(0, { ...refused, isDelivered: false }, 9_000, other),
  ],
  [
    'a 401 repeated with other credentials',
    'stops kept',
    sent(0, { status: 401, credentials: 'old' }, 1, { credentials: 'new' }),
  ],
  [
    'a 401 repeated with the same credentials',
    'stops broken',
    sent(0, { status: 401, credentials: 'a' }, 1, { status: 401, credentials: 'a' }),
  ],
  ['a 404 polled', '', tries({ status: 404 }, 5, 5, 5)],

  ['a POST repeated with key and body', 'retries-safely kept', sent(0, { ...post, ...failed }, 500, created)],
  [
    'a POST repeated with another key',
    'retries-safely broken',
    sent(0, { ...post, ...failed }, 500, { ...created, idempotencyKey: 'l' }),
  ],
  [
    'a POST repeated with another key in the moment of the answer',
    'retries-safely broken',
    sent(0, { ...post, ...failed }, 0, { ...created, idempotencyKey: 'l' }),
  ],
  [
    'a POST repeated without a key',
    'retries-safely broken',
    sent(0, { ...post, ...failed, idempotencyKey: null }, 1_000, { ...created, idempotencyKey: null }),
  ],
  [
    'a POST repeated without a key, after an answer that nothing was done',
    'waits kept',
    sent(0, { ...post, ...busy, idempotencyKey: null }, 1_000, { ...created, idempotencyKey: null }),
  ],
  [
    'a key with another body',
    'retries-safely broken',
    sent(0, { ...post, ...failed }, 500, { ...created, body: 'cat' }),
  ],
  [
    'another create after one that failed',
    'retries-safely kept',
    sent(0, { ...post, ...failed }, 500, { ...created, idempotencyKey: 'l', body: 'cat' }),
  ],
  [
    'a repetition after other calls and a long pause',
    'retries-safely broken',
    sent(0, { ...post, ...failed }, 5, other, 90_000, { ...created, idempotencyKey: 'l' }),
  ],
  [
    'equal creates at once, each repeated with its key',
    'retries-safely kept, once kept',
    sent(
      0,
      { ...lostCreate, answeredAt: 9 },
      1,
      { ...lostCreate, idempotencyKey: 'l', answeredAt: 8 },
      20,
      { ...created, idempotencyKey: 'l' },
      30,
      { ...created },
    ),
  ],
  [
    'equal creates at once without a key, one of them lost',
    'retries-safely kept, once kept',
    sent(0, { ...lostCreate, idempotencyKey: null, answeredAt: 9 }, 1, {
      ...created,
      idempotencyKey: null,
      answeredAt: 8,
    }),
  ],
  [
    'a 429 repeated with another key',
    'waits kept',
    sent(0, { ...post, ...limited }, 2_000, { ...created, idempotencyKey: 'l' }),
  ],

  ['a lost create that was replayed', 'retries-safely kept, once kept', sent(0, lostCreate, 500, { ...created })],
  ['a lost create made a second time', 'once broken', sent(0, lostCreate, 500, { ...created, idempotencyKey: 'l' })],
  [
    'a lost create made anew after a refusal',
    'once broken',
    sent(0, lostCreate, 500, { ...post, ...failed, idempotencyKey: 'l' }, 900, { ...created, idempotencyKey: 'l' }),
  ],
  [
    'a lost create that is asked for again after two refusals',
    'retries-safely kept, once kept',
    sent(0, lostCreate, 500, { ...post, ...failed }, 900, { ...post, ...failed }, 1_900, created),
  ],
  ['a lost create that is not repeated', 'retries-safely kept, once kept', sent(0, lostCreate, 1, other)],

  ['ten tries', '', tries(lost, 200, 400, 800, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000)],
  [
    'ten tries, the last of which succeeds',
    '',
    [...tries(lost, 200, 400, 800, 1_000, 1_000, 1_000, 1_000, 1_000), [7_000, ok]],
  ],
  [
    'eleven tries',
    'gives-up broken',
    [...tries(lost, 200, 400, 800, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000), [8_000, ok]],
  ],
  [
    'two rounds of six tries with a pause longer than any backoff',
    '',
    [...tries(lost, 100, 100, 100, 100, 100, 10_001, 100, 100, 100, 100, 100)],
  ],
  [
    'eleven tries with long waits',
    'gives-up broken',
    tries(lost, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000, 30_000, 30_000, 30_000),
  ],
  [
    'two rounds of six tries with a pause ten times as long as the longest wait',
    '',
    tries(lost, 2_000, 2_000, 2_000, 500, 2_000, 20_001, 2_000, 500, 2_000, 2_000, 2_000),
  ],
  [
    'eleven tries, each within ten seconds of the end of a Retry-After',
    'waits kept, gives-up broken',
    tries({ ...busy, retryAfter: 20 }, ...Array(5).fill([30_000, 21_000]).flat()),
  ],
  ['a poller', '', tries(failed, ...Array(20).fill(1_100), 1_300)],
  ['a poller of three requests, a second and a fifth more apart', '', [...tries(failed, 1_000), [2_200, ok]]],
  ['eleven tries after almost a second each', 'gives-up broken', tries(failed, ...Array(10).fill(990))],

  ['another call after a greased answer', 'tolerates kept', sent(0, greased, 10, other)],
  ['a greased answer as the last', '', [[0, greased]]],
  [
    'a greased answer, and a command that failed',
    'tolerates broken',
    [[0, greased]],
    { command: { exit: 1, timedOut: false } },
  ],
  [
    'a greased answer, and a command that a signal ended',
    'tolerates broken',
    [[0, greased]],
    { command: { exit: null, timedOut: false } },
  ],
  ['a greased answer, and a command that was stopped', '', [[0, greased]], { command: { exit: 1, timedOut: true } }],
  [
    'a greased answer, and a command that ended well',
    'tolerates kept',
    [[0, greased]],
    { command: { exit: 0, timedOut: false } },
  ],
  ['a greased answer repeated, and no other one', 'tolerates broken', sent(0, greased, 10, ok)],
  ['a greased answer repeated by a loop', '', sent(0, greased, 10, ok, 20, ok)],
  ['greased answers repeated, and no plain one to compare with', '', sent(0, greased, 10, greased)],
  ['a greased answer polled', 'tolerates kept', sent(0, greased, 1_000, ok)],
];

for (const [name, met, happened, more] of CASES) {
  test(`judged: ${name}`, () => assert.equal(verdicts(happened, more), met));
}

for (const status of [400, 401, 403, 409, 410, 413, 415, 422]) {
  test(`a ${status} is not repeated unchanged`, () => {
    assert.equal(verdicts(sent(0, { status }, 5, { status })), 'stops broken');
  });
}

test('the evidence names the requests, and what was asked for', () => {
  for (const [happened, ...said] of [
    [
      sent(0, ok, 100, limited, 150, { ...limited, isEarly: true }, 9_000, ok),
      'Request 3 (GET /v1/categories) came 50 ms after request 2 (GET /v1/categories), a 429 that asked to wait 2 s',
    ],
    [
      tries(failed, 5, 5, 5),
      'Request 4 (GET /v1/categories) was the last of 3 retries, which waited 15 ms together; a backoff waits 35 ms at least',
    ],
    [sent(0, refused, 5, refused), 'Request 2 (POST /v1/categories) repeats request 1 (POST /v1/categories), a 400'],
    [
      sent(0, lostCreate, 500, { ...created, idempotencyKey: 'l' }),
      'Request 2 (POST /v1/categories) repeats request 1 (POST /v1/categories) under another idempotency key, after no answer',
    ],
    [
      sent(0, { ...post, ...failed }, 500, { ...created, idempotencyKey: null }),
      'Request 2 (POST /v1/categories) repeats request 1 (POST /v1/categories) without an idempotency key, after a 500',
    ],
    [
      sent(0, { ...post, ...failed }, 500, { ...created, body: 'cat' }),
      'Request 2 (POST /v1/categories) repeats request 1 (POST /v1/categories) with the same key, and another body',
    ],
    [tries(lost, ...Array(11).fill(200)), 'Request 11 (GET /v1/categories) is try 11 of 12 of its call'],
  ] as [Happened[], ...string[]][]) {
    assert.deepEqual(evidence(...happened), said);
  }
});
