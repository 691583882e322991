import assert from 'node:assert/strict';
import { Session } from 'node:inspector/promises';
import { test } from 'node:test';
import { judge } from './judge.ts';
import type { Note, Play } from './note.ts';

/** The moment of a request in ms, and what differs from a GET that was answered 200 at once. */
type Happened = readonly [at: number, differs: Partial<Note>];

const ORDINARY: Omit<Note, 'at' | 'answeredAt'> = {
  method: 'GET',
  route: '/v1/categories',
  target: 'list',
  body: null,
  idempotencyKey: null,
  credentials: null,
  step: 'ok',
  isEarly: false,
  status: 200,
  retryAfter: null,
  isDelivered: true,
  isDone: true,
  hasCreated: false,
};
const ok = {};
const other = { target: 'other' };
const lost = { step: 'lost', status: null, isDelivered: false };
const failed = { step: 'error', status: 500, isDone: false };
const limited = { step: 'limit:2', status: 429, retryAfter: 2, isDone: false };
const busy = { step: 'unavailable:1', status: 503, retryAfter: 1, isDone: false };
const greased = { step: 'grease' };
const post = { method: 'POST', target: 'create', body: 'dog', idempotencyKey: 'k' };
const created = { ...post, status: 201, hasCreated: true };
const lostCreate = { ...created, ...lost };
const refused = { ...post, status: 400 };

/** Tries of one call with these waits between them. */
function tries(differs: Partial<Note>, ...waits: number[]): Happened[] {
  let at = 0;
  return [0, ...waits].map((wait) => {
    at += wait;
    return [at, differs];
  });
}

/** Two requests, the second one so many ms after the first. */
function pair(first: Partial<Note>, ms: number, second: Partial<Note>): Happened[] {
  return [
    [0, first],
    [ms, second],
  ];
}

function judged(happened: readonly Happened[], more: Partial<Play> = {}) {
  const requests = happened.map(([at, differs]) => ({ ...ORDINARY, at, answeredAt: at, ...differs }));
  return judge({ script: 'ok', reached: 0, requests, ...more });
}

/** The rules that were met, each with its verdict and the requests that break it. */
function verdicts(happened: readonly Happened[], more?: Partial<Play>): string {
  return judged(happened, more)
    .rules.filter(({ verdict }) => verdict !== 'not met')
    .map(({ rule, verdict, findings }) => [rule, verdict, ...findings.map(({ number }) => number)].join(' '))
    .join(', ');
}

function evidence(...happened: readonly Happened[]): string[] {
  return judged(happened).rules.flatMap(({ findings }) => findings.map(({ text }) => text));
}

const CASES: readonly (readonly [name: string, met: string, happened: readonly Happened[], more?: Partial<Play>])[] = [
  ['nothing', '', []],
  [
    'ordinary answers, the same call twice among them',
    '',
    [
      [0, ok],
      [0, ok],
      [5, created],
      [6, created],
    ],
  ],

  [
    'the end of a Retry-After',
    'waits kept',
    [
      [0, limited],
      [2_000, ok],
      [2_001, ok],
    ],
  ],
  ['the end of a Retry-After, less what is tolerated', 'waits kept', pair(limited, 1_900, ok)],
  ['a request before the end of a Retry-After', 'waits broken 2', pair(limited, 1_899, ok)],
  ['another call before its end', 'waits broken 2, gives-up kept', pair(busy, 500, other)],
  ['a request that began before the answer had ended', 'waits kept', pair({ ...limited, answeredAt: 20 }, 20, ok)],
  ['a wait for a date', 'waits broken 2', pair({ ...limited, retryAfter: 2.4 }, 2_299, ok)],
  ['a Retry-After of half an answer', 'gives-up kept', pair({ ...busy, isDelivered: false }, 5, other)],
  [
    'a request that was noted before an earlier one',
    'waits broken 1',
    [
      [500, ok],
      [0, limited],
    ],
  ],

  ['two retries at once', '', [...tries(lost, 0), [0, ok]]],
  ['three retries within 34 ms', 'backs-off broken 4', [...tries(lost, 4, 10), [34, ok]]],
  ['three retries within 35 ms', 'backs-off kept', [...tries(lost, 5, 10), [35, ok]]],
  ['four retries within 74 ms', 'backs-off broken 5', [...tries(failed, 50, 0, 0), [74, ok]]],
  ['five retries after 25 ms each', 'backs-off kept', [...tries(failed, 25, 25, 25, 25), [125, ok]]],
  ['six retries after 29 ms each', 'backs-off broken 7', [...tries(failed, 29, 29, 29, 29, 29), [174, ok]]],
  [
    'retries after half a Retry-After',
    'backs-off broken 4',
    [...tries({ ...busy, isDelivered: false }, 5, 5), [15, ok]],
  ],
  ['retries of full jitter', 'backs-off kept', [...tries(failed, 3, 190, 20), [700, ok]]],
  ['retries after a Retry-After', 'waits kept', [...tries(busy, 1_000, 1_000, 1_300), [4_400, ok]]],
  [
    'retries that another call came between',
    'gives-up kept',
    [
      [0, failed],
      [1, other],
      [2, failed],
      [3, other],
      [4, failed],
      [5, other],
      [6, ok],
    ],
  ],
  [
    'another call in the moment of the answer',
    'gives-up kept',
    [
      [0, failed],
      [0, other],
      [5, ok],
    ],
  ],
  ['a slow answer', '', pair({ step: 'slow:5', answeredAt: 5_000 }, 5_010, other)],

  ['a 400 repeated at once', 'stops broken 2', pair(refused, 999, refused)],
  ['a 400 repeated in the moment of the answer', 'stops broken 2', pair(refused, 0, { ...refused, answeredAt: 9_000 })],
  ['a 400 asked for again later', 'stops kept', pair(refused, 1_000, refused)],
  ['a 400 repeated with another body', 'stops kept', pair(refused, 1, { ...created, body: 'other' })],
  [
    'a 400 repeated after another call',
    'stops kept',
    [
      [0, refused],
      [1, other],
      [2, refused],
    ],
  ],
  [
    'a 400 while the same was under way',
    'stops kept',
    pair({ ...refused, answeredAt: 5 }, 1, { ...refused, answeredAt: 6 }),
  ],
  ['a 400 that did not arrive', 'gives-up kept', pair({ ...refused, isDelivered: false }, 9_000, other)],
  [
    'a 401 repeated with other credentials',
    'stops kept',
    pair({ status: 401, credentials: 'old' }, 1, { credentials: 'new' }),
  ],
  [
    'a 401 repeated with the same credentials',
    'stops broken 2',
    pair({ status: 401, credentials: 'a' }, 1, { status: 401, credentials: 'a' }),
  ],
  ['a 404 polled', '', tries({ status: 404 }, 5, 5, 5)],

  ['a POST repeated with key and body', 'retries-safely kept', pair({ ...post, ...failed }, 500, created)],
  [
    'a POST repeated with another key',
    'retries-safely broken 2',
    pair({ ...post, ...failed }, 500, { ...created, idempotencyKey: 'l' }),
  ],
  [
    'a POST repeated with another key in the moment of the answer',
    'retries-safely broken 2',
    pair({ ...post, ...failed }, 0, { ...created, idempotencyKey: 'l' }),
  ],
  [
    'a POST repeated without a key',
    'waits kept, retries-safely broken 2',
    pair({ ...post, ...busy, idempotencyKey: null }, 1_000, { ...created, idempotencyKey: null }),
  ],
  [
    'a key with another body',
    'retries-safely broken 2, gives-up kept',
    pair({ ...post, ...failed }, 500, { ...created, body: 'cat' }),
  ],
  [
    'another create after one that failed',
    'gives-up kept',
    pair({ ...post, ...failed }, 500, { ...created, idempotencyKey: 'l', body: 'cat' }),
  ],
  [
    'a repetition after other calls and a long pause',
    'retries-safely broken 3, gives-up kept',
    [
      [0, { ...post, ...failed }],
      [5, other],
      [90_000, { ...created, idempotencyKey: 'l' }],
    ],
  ],
  [
    'equal creates at once, each repeated with its key',
    'retries-safely kept, once kept',
    [
      [0, { ...lostCreate, answeredAt: 9 }],
      [1, { ...lostCreate, idempotencyKey: 'l', answeredAt: 8 }],
      [20, { ...created, hasCreated: false, idempotencyKey: 'l' }],
      [30, { ...created, hasCreated: false }],
    ],
  ],
  [
    'equal creates at once without a key, one of them lost',
    'once kept, gives-up kept',
    [
      [0, { ...lostCreate, idempotencyKey: null, answeredAt: 9 }],
      [1, { ...created, idempotencyKey: null, answeredAt: 8 }],
    ],
  ],
  [
    'a 429 repeated with another key',
    'waits kept',
    pair({ ...post, ...limited }, 2_000, { ...created, idempotencyKey: 'l' }),
  ],

  [
    'a lost create that was replayed',
    'retries-safely kept, once kept',
    pair(lostCreate, 500, { ...created, hasCreated: false }),
  ],
  [
    'a lost create made a second time',
    'retries-safely broken 2, once broken 2',
    pair(lostCreate, 500, { ...created, idempotencyKey: 'l' }),
  ],
  [
    'a lost create made anew after a refusal',
    'retries-safely broken 2, once broken 3',
    [
      [0, lostCreate],
      [500, { ...post, ...failed, idempotencyKey: 'l' }],
      [900, { ...created, idempotencyKey: 'l' }],
    ],
  ],
  [
    'a lost create made anew after two refusals',
    'backs-off kept, retries-safely kept, once broken 4',
    [
      [0, lostCreate],
      [500, { ...post, ...failed }],
      [900, { ...post, ...failed }],
      [1_900, created],
    ],
  ],
  ['a lost create that is not repeated', 'once kept, gives-up kept', pair(lostCreate, 1, other)],

  ['ten tries', 'backs-off kept, gives-up kept', tries(lost, 200, 400, 800, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000)],
  [
    'ten tries, the last of which succeeds',
    'backs-off kept',
    [...tries(lost, 200, 400, 800, 1_000, 1_000, 1_000, 1_000, 1_000), [7_000, ok]],
  ],
  [
    'eleven tries',
    'backs-off kept, gives-up broken 11',
    [...tries(lost, 200, 400, 800, 1_000, 1_000, 1_000, 1_000, 1_000, 1_000), [8_000, ok]],
  ],
  [
    'two rounds of six tries with a pause longer than any backoff',
    'backs-off kept, gives-up kept',
    [...tries(lost, 100, 100, 100, 100, 100, 10_001, 100, 100, 100, 100, 100)],
  ],
  [
    'eleven tries with long waits',
    'backs-off kept, gives-up broken 11',
    tries(lost, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000, 30_000, 30_000, 30_000),
  ],
  [
    'two rounds of six tries with a pause ten times as long as the longest wait',
    'backs-off kept, gives-up kept',
    tries(lost, 2_000, 2_000, 2_000, 500, 2_000, 20_001, 2_000, 500, 2_000, 2_000, 2_000),
  ],
  [
    'eleven tries, each within ten seconds of the end of a Retry-After',
    'waits kept, gives-up broken 11',
    tries({ ...busy, retryAfter: 20 }, ...Array(5).fill([30_000, 21_000]).flat()),
  ],
  ['a poller', 'gives-up kept', tries(failed, ...Array(20).fill(1_100), 1_300)],
  [
    'a poller of three requests, a second and a fifth more apart',
    'gives-up kept',
    [...tries(failed, 1_000), [2_200, ok]],
  ],
  [
    'eleven tries after almost a second each',
    'backs-off kept, gives-up broken 11',
    tries(failed, ...Array(10).fill(990)),
  ],

  ['another call after a greased answer', 'tolerates kept', pair(greased, 10, other)],
  ['a greased answer as the last', '', [[0, greased]]],
  [
    'a greased answer, and a command that failed',
    'tolerates broken 1',
    [[0, greased]],
    { command: { exit: 1, timedOut: false } },
  ],
  [
    'a greased answer, and a command that a signal ended',
    'tolerates broken 1',
    [[0, greased]],
    { command: { exit: null, timedOut: false } },
  ],
  [
    'a greased 304, and a command that failed',
    '',
    [[0, { ...greased, status: 304 }]],
    { command: { exit: 1, timedOut: false } },
  ],
  ['a greased answer, and a command that was stopped', '', [[0, greased]], { command: { exit: 1, timedOut: true } }],
  ['a greased answer, and a command that ended well', '', [[0, greased]], { command: { exit: 0, timedOut: false } }],
  [
    'a greased refusal, and a command that failed',
    'stops kept',
    [[0, { ...greased, status: 400 }]],
    { command: { exit: 1, timedOut: false } },
  ],
  ['a greased answer repeated, and no other one', 'tolerates broken 2', pair(greased, 10, ok)],
  [
    'a greased answer repeated by a loop',
    'tolerates kept',
    [
      [0, greased],
      [10, ok],
      [20, ok],
    ],
  ],
  ['greased answers repeated, and no plain one to compare with', '', pair(greased, 10, greased)],
  ['a greased answer polled', 'tolerates kept', pair(greased, 1_000, ok)],
];

for (const [name, met, happened, more] of CASES) {
  test(`judged: ${name}`, () => assert.equal(verdicts(happened, more), met));
}

for (const status of [400, 401, 403, 409, 410, 413, 415, 422]) {
  test(`a ${status} is not repeated unchanged`, () => {
    const happened: Happened[] = [
      [0, { status }],
      [5, { status }],
    ];
    assert.equal(verdicts(happened), 'stops broken 2');
  });
}

test('the evidence names the requests, and what was asked for', () => {
  assert.deepEqual(evidence([0, ok], [100, limited], [150, { ...limited, isEarly: true }], [9_000, ok]), [
    'Request 3 (GET /v1/categories) came 50 ms after request 2 (GET /v1/categories), whose Retry-After was 2 s',
  ]);
  assert.deepEqual(evidence(...tries(failed, 5, 5, 5)), [
    'Request 4 (GET /v1/categories) was the last of 3 retries of one call, which waited 15 ms together; a backoff waits 35 ms at least',
  ]);
  assert.deepEqual(evidence([0, refused], [5, refused]), [
    'Request 2 (POST /v1/categories) repeats request 1 (POST /v1/categories), which was answered 400',
  ]);
  assert.deepEqual(evidence([0, lostCreate], [500, { ...created, idempotencyKey: 'l' }]), [
    'Request 2 (POST /v1/categories) repeats request 1 (POST /v1/categories) with another Idempotency-Key',
    'Request 2 (POST /v1/categories) created what request 1 (POST /v1/categories) had created already',
  ]);
  assert.deepEqual(evidence(...tries(lost, ...Array(11).fill(200))), [
    'Request 11 (GET /v1/categories) is try 11 of 12 of its call',
  ]);
  assert.deepEqual(
    evidence([0, { ...limited, retryAfter: 2.345 }], [50, { ...limited, route: '/v1/pets' }], [60, ok]),
    [
      'Request 2 (GET /v1/pets) came 50 ms after request 1 (GET /v1/categories), whose Retry-After was 2.345 s',
      'Request 3 (GET /v1/categories) came 10 ms after request 2 (GET /v1/pets), whose Retry-After was 2 s',
    ],
  );
  const first = { ...post, ...failed };
  assert.deepEqual(evidence([0, first], [500, { ...created, idempotencyKey: null }]), [
    'Request 2 (POST /v1/categories) repeats request 1 (POST /v1/categories) without an Idempotency-Key',
  ]);
  assert.deepEqual(evidence([0, first], [500, { ...created, body: 'cat' }]), [
    'Request 2 (POST /v1/categories) repeats request 1 (POST /v1/categories) with the same Idempotency-Key, and another body',
  ]);
  const stopped = judged([[0, greased]], { command: { exit: 1, timedOut: false } }).rules.at(-1)?.findings;
  assert.deepEqual(stopped, [
    {
      number: 1,
      text: 'Request 1 (GET /v1/categories) had an answer with unknown members, and then the command failed',
    },
  ]);
  assert.deepEqual(evidence([0, greased], [5, ok]), [
    'Request 2 (GET /v1/categories) repeats request 1 (GET /v1/categories), whose answer had unknown members',
  ]);
});

test('calls that overlapped or alternated are named', () => {
  const remarks = (...happened: Happened[]) => judged(happened).remarks;
  const overlapped = [
    'Calls overlapped or alternated, so backs-off and gives-up were judged by uninterrupted runs of tries only',
  ];
  assert.deepEqual(remarks([0, failed], [5, failed], [9, ok], [10, other]), []);
  assert.deepEqual(remarks([0, { answeredAt: 9 }], [5, other]), overlapped);
  assert.deepEqual(remarks([0, failed], [5, other], [9, ok]), overlapped);
  assert.deepEqual(remarks([0, ok], [5, other], [9, ok]), []);
});

test('a client that hammers is judged by calls for each of its requests, not for each pair', async () => {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await session.post('Profiler.takePreciseCoverage');
  judged(tries(limited, ...Array(1_999).fill(1)));
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const judging = result.filter(({ url }) => /\/src\/client\/[a-z]+\.ts$/.test(url));
  const functions = judging.flatMap((each) => each.functions);
  const calls = functions.reduce((sum, { ranges }) => sum + (ranges[0]?.count ?? 0), 0);
  assert.ok(calls > 2_000 && calls < 100 * 2_000, `${calls} calls`);
  session.disconnect();
});
