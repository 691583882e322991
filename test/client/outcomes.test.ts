import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CallOptions, PetCatalog, type PetCatalogOptions } from '../../client/src/pet-catalog.ts';
import { noWaits, refusal } from '../kit/client/bench.ts';

/** What a call ends with, and how long it waits before each further attempt, by the answers that it gets. */

const LOST = new TypeError('fetch failed');
const GOOD = { status: 200, body: '{"id":1,"name":"Dog"}' };
/** The least that the client waits before its next attempts. */
const BACKOFF_MS = [250, 500, 1_000, 2_000];

/** Something else's answer, such as a proxy's, or one of the service with a code. */
interface Reply {
  readonly status: number;
  readonly code?: string;
  readonly body?: string;
  readonly retryAfter?: string;
}
type Answer = Reply | TypeError;

interface Outcome {
  /** `done`, or the code or the status of the error, or its name. */
  readonly end: string | number;
  readonly waits: readonly number[];
}

type Case = readonly [
  title: string,
  answers: readonly Answer[],
  outcome: Outcome,
  options?: Partial<PetCatalogOptions>,
  ofCall?: CallOptions,
];

const at = (ms: number) => new Date(ms).toUTCString();
const repeated = (answer: Answer): Case => {
  const title = answer instanceof TypeError ? 'lost' : `${answer.status} ${answer.code ?? 'of a proxy'}`;
  return [title, [answer, GOOD], { end: 'done', waits: [250] }];
};
const final = (reply: Reply): Case => {
  const title = `${reply.status} ${reply.code ?? 'of a proxy'}`;
  return [title, [reply], { end: reply.code ?? reply.status, waits: [] }];
};
const waiting = (retryAfter: string | undefined, waitMs: number): Case => [
  `Retry-After: ${retryAfter}`,
  [{ status: 429, ...(retryAfter !== undefined && { retryAfter }) }, GOOD],
  { end: 'done', waits: [waitMs + 250] },
];

const READS: readonly Case[] = [
  ['at once', [GOOD], { end: 'done', waits: [] }],
  repeated(LOST),
  ...[408, 500, 502, 503, 504, 507].map((status) => repeated({ status })),
  repeated({ status: 408, code: 'request_timeout' }),
  repeated({ status: 500, code: 'internal_error' }),
  repeated({ status: 503, code: 'unavailable' }),
  repeated({ status: 503, code: 'outcome_unknown' }),
  ...[300, 301, 304, 400, 404, 499, 501, 505].map((status) => final({ status })),
  ...['', 'null', '<h1>Welcome</h1>'].map((body) => final({ status: 200, body })),
  final({ status: 400, code: 'validation_failed' }),
  final({ status: 404, code: 'not_found' }),
  final({ status: 501, code: 'not_implemented' }),
  final({ status: 429, code: 'key_banned', retryAfter: '1' }),
  final({ status: 429, code: 'daily_quota_exceeded', retryAfter: '43200' }),
  waiting('20', 20_000),
  waiting(at(21_000), 20_000),
  waiting(at(-20_000), 1_000),
  waiting('0', 1_000),
  waiting(undefined, 1_000),
  [
    'a refusal by the limit, which waits with all other calls',
    [{ status: 429, code: 'rate_limit_exceeded', retryAfter: '20' }, GOOD],
    { end: 'done', waits: [20_000] },
  ],
  ['lost for good', [LOST, LOST, LOST, LOST, LOST], { end: 'ConnectionError', waits: BACKOFF_MS }],
  ['a retry finds nothing', [LOST, { status: 404, code: 'not_found' }], { end: 'not_found', waits: [250] }],
  [
    'the longest wait',
    Array.from({ length: 8 }, () => LOST),
    { end: 'ConnectionError', waits: [...BACKOFF_MS, 4_000, 5_000, 5_000] },
    { maxRetries: 7 },
  ],
  [
    'a wait that ends before the deadline',
    [{ status: 503, code: 'unavailable', retryAfter: '20' }, GOOD],
    { end: 'done', waits: [20_250] },
    { timeoutMs: 20_251 },
  ],
  [
    'a wait that ends at the deadline',
    [{ status: 503, code: 'unavailable', retryAfter: '20' }],
    { end: 'unavailable', waits: [] },
    { timeoutMs: 20_250 },
  ],
  ['no retries', [LOST], { end: 'ConnectionError', waits: [] }, { maxRetries: 0 }],
  ['no retries of this call', [LOST], { end: 'ConnectionError', waits: [] }, { maxRetries: 3 }, { maxRetries: 0 }],
  ['more of this call', [LOST, LOST], { end: 'ConnectionError', waits: [250] }, { maxRetries: 0 }, { maxRetries: 1 }],
];

const missing = { status: 404, code: 'not_found' };
const busy = { status: 503, code: 'unavailable' };
const ofTwo = (title: string, first: Answer, second: Answer, end: string): Case => [
  title,
  [first, second],
  { end, waits: [250] },
];
const CANCELLATIONS: readonly Case[] = [
  ofTwo('lost', LOST, missing, 'done'),
  ofTwo('a proxy fails', { status: 502 }, missing, 'done'),
  ofTwo('the service fails', { status: 500, code: 'internal_error' }, missing, 'done'),
  ofTwo('the outcome is unknown', { status: 503, code: 'outcome_unknown' }, missing, 'done'),
  ofTwo('busy', busy, missing, 'not_found'),
  ofTwo('it did not arrive', { status: 408, code: 'request_timeout' }, missing, 'not_found'),
  ofTwo('complete by then', LOST, { status: 409, code: 'order_not_cancellable' }, 'order_not_cancellable'),
  ['lost, then busy', [LOST, busy, missing], { end: 'done', waits: [250, 500] }],
];

// Without If-Match the same quantity again would forget an order that came between.
const CHANGES: readonly Case[] = [
  ...[LOST, { status: 502 }, { status: 500, code: 'internal_error' }, { status: 503, code: 'outcome_unknown' }].map(
    (answer): Case => [
      answer instanceof TypeError ? 'lost' : `${answer.status}`,
      [answer],
      { end: answer instanceof TypeError ? 'ConnectionError' : (answer.code ?? answer.status), waits: [] },
    ],
  ),
  repeated(busy),
  repeated({ status: 408, code: 'request_timeout' }),
];

for (const [title, call, cases] of [
  ['a GET', ({ categories }, options) => categories.get(1, options), READS],
  ['a cancellation', ({ orders }) => orders.cancel(1), CANCELLATIONS],
  ['a change', ({ inventory }) => inventory.update(1, { quantity: 1 }), CHANGES],
  [
    'a change with If-Match',
    ({ inventory }) => inventory.update(1, { quantity: 1 }, { ifMatch: '"1"' }),
    [repeated(LOST)],
  ],
] as const satisfies [string, (catalog: PetCatalog, options?: CallOptions) => Promise<unknown>, readonly Case[]][]) {
  for (const [answered, answers, { end, waits }, options, ofCall] of cases) {
    test(`${title}, ${answered}: ${end} after ${waits.length} waits`, async (t) => {
      t.mock.method(Math, 'random', () => 0);
      const found = await run(answers, options, (catalog) => call(catalog, ofCall));
      assert.deepEqual(found, { end, waits, sent: answers.length });
    });
  }
}

test('the longest backoff is twice the least, and ten seconds at most', async (t) => {
  t.mock.method(Math, 'random', () => 1);
  const answers = Array.from({ length: 7 }, () => LOST);
  const { waits } = await run(answers, { maxRetries: 6 }, (catalog) => catalog.categories.get(1));
  assert.deepEqual(waits, [500, 1_000, 2_000, 4_000, 8_000, 10_000]);
});

test('every attempt of a create has the same key, of another create another one, and the own one if it is given', async () => {
  const keys: (string | null)[] = [];
  const send = (answer: Response) => (_input: unknown, init?: RequestInit) => {
    keys.push(new Headers(init?.headers).get('idempotency-key'));
    return Promise.resolve(answer);
  };
  const create = (options?: { idempotencyKey: string }) => {
    const answers = [refusal(503, 'unavailable'), Response.json({ id: 1, name: 'Dog' }, { status: 201 })];
    const { clock } = noWaits();
    const fetch = (input: unknown, init?: RequestInit) => send(answers.shift() ?? assert.fail())(input, init);
    return new PetCatalog({ baseUrl: 'http://x/v1', apiKey: 'secret', clock, fetch }).categories.create(
      { name: 'Dog' },
      options,
    );
  };
  await create();
  await create();
  await create({ idempotencyKey: 'mine' });
  const [one, again, other, otherAgain, ...own] = keys;
  assert.deepEqual([again, otherAgain, own], [one, other, ['mine', 'mine']]);
  assert.notEqual(one, other);
});

async function run(
  answers: readonly Answer[],
  options: Partial<PetCatalogOptions> | undefined,
  call: (catalog: PetCatalog) => Promise<unknown>,
) {
  const { clock, waits } = noWaits();
  let sent = 0;
  const fetch = async (_input: unknown, init?: RequestInit) => {
    const answer = answers[sent] ?? assert.fail('one attempt too many');
    sent += 1;
    assert.equal(init?.redirect, 'manual');
    if (answer instanceof Error) throw answer;
    return responseOf(answer);
  };
  const catalog = new PetCatalog({ baseUrl: 'http://service.example/v1', apiKey: 'secret', clock, fetch, ...options });
  const end: string | number = await call(catalog).then(
    () => 'done',
    ({ code, status, name }) => code ?? status ?? name,
  );
  return { end, waits, sent };
}

function responseOf({ status, code, body = '', retryAfter }: Reply): Response {
  const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
  if (code !== undefined) return refusal(status, code, headers);
  return new Response(status === 304 ? null : body, { status, headers });
}
