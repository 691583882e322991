import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { manualClock } from '../../../test/kit/clock.ts';
import { HOST, request } from '../../../test/kit/edge/corpus.ts';
import { openRaw, type RawAnswer } from '../../../test/kit/edge/raw.ts';
import { recordedEvents } from '../../../test/kit/service.ts';
import { type ApiKey, newApiKey } from '../../catalog/api-key.ts';
import { CatalogError } from '../../catalog/error.ts';
import type { Decision } from '../../limits/limiter.ts';
import { limitHeaders } from '../limit-headers.ts';
import { type Answer, type Exchange, requestIds } from './exchange.ts';
import { openListener } from './listener.ts';

/** What an answer says besides its status, on a real socket, and what is told of it. */

const { key: KEY } = newApiKey({ name: 'one', environment: 'production', plan: 'pro' }, 0);
const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT_ID = '00f067aa0ba902b7';

/** Requests to a listener that has one answer to all. */
async function answering(respond: (exchange: Exchange) => Answer) {
  const [clock, events] = [manualClock(), recordedEvents()];
  const exchanges: Exchange[] = [];
  const listener = await openListener(
    (exchange) => {
      exchanges.push(exchange);
      exchange.answer(respond(exchange));
    },
    { time: clock, events, addLimitHeaders: limitHeaders(clock) },
    { host: '127.0.0.1', port: 0 },
  );
  const raw = await openRaw(`http://127.0.0.1:${listener.port}`);
  return {
    clock,
    events,
    exchanges,
    raw,
    async ask(line: string, ...headers: string[]): Promise<RawAnswer> {
      await raw.send(request(`${line} HTTP/1.1`, HOST, ...headers));
      return raw.answer({ toHead: line.startsWith('HEAD') });
    },
    async [Symbol.asyncDispose]() {
      await raw[Symbol.asyncDispose]();
      await listener.stop(0);
    },
  };
}

const OK = { status: 200, body: 'x' };

/** Its headers without those that Node adds. */
function ownHeaders({ headers }: RawAnswer): Record<string, string> {
  const { date, 'keep-alive': _, ...own } = Object.fromEntries(headers);
  assert.ok(date);
  return own;
}

test('an answer has its own headers and those that every answer has, without a key limits of 0', async () => {
  await using at = await answering((exchange) => {
    exchange.ownHeaders = ['Vary', 'Origin'];
    return { status: 201, headers: ['Location', '/v1/x/1'], body: '"é"' };
  });
  const { unix } = at.clock.now();
  const answer = await at.ask('POST /', 'X-Request-Id: mine', 'Content-Length: 0');
  assert.deepEqual([answer.status, answer.body], [201, '"é"']);
  assert.deepEqual(ownHeaders(answer), {
    'x-ratelimit-limit': '0',
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': `${unix}`,
    'x-request-id': 'mine',
    vary: 'Origin',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    location: '/v1/x/1',
    'content-type': 'application/json',
    'content-length': '4',
    connection: 'keep-alive',
  });
});

test('an answer says what its type is and how long it may be kept, and has neither type nor length without a body', async () => {
  const answers: Answer[] = [
    { status: 200, body: [Buffer.from('ab'), Buffer.from('cde')], contentType: 'text/html', cacheControl: 'no-cache' },
    { status: 304, cacheControl: 'private' },
    { status: 204 },
    { status: 200 },
  ];
  const all = [...answers];
  await using at = await answering(() => all.shift() ?? assert.fail());
  const headers: (string | undefined)[][] = [];
  const bodies: string[] = [];
  for (const _ of answers) {
    const answer = await at.ask('GET /');
    bodies.push(answer.body);
    headers.push(['cache-control', 'content-type', 'content-length'].map((name) => answer.headers.get(name)));
  }
  assert.deepEqual(bodies, ['abcde', '', '', '']);
  assert.deepEqual(headers, [
    ['no-cache', 'text/html', '5'],
    ['private', undefined, undefined],
    ['no-store', undefined, undefined],
    ['no-store', undefined, '0'],
  ]);
});

test('an answer outside the API has no limit headers', async () => {
  await using at = await answering((exchange) => {
    exchange.hasLimitHeaders = false;
    return OK;
  });
  const names = Object.keys(ownHeaders(await at.ask('GET /'))).filter((name) => name.includes('ratelimit'));
  assert.deepEqual(names, []);
});

test('with a key an answer has its limits, as the limiter restates them, by plan', async (t) => {
  let nowMs = 1_000;
  t.mock.method(performance, 'now', () => nowMs);
  const decision = (minute: number, day: number): Decision => ({
    limit: minute,
    remaining: 7,
    reset: 1_060,
    minute: { limit: minute, remaining: 7, reset: 1_060 },
    day: { limit: day, remaining: 70, reset: 2_000 },
    now: 1_010,
  });
  const asked: [ApiKey, Decision][] = [];
  let counted = decision(60, 1_000);
  await using at = await answering((exchange) => {
    nowMs += 250;
    exchange.key = KEY;
    exchange.route = '/v1/x';
    const admitted = exchange.admit(counted, {
      current: (key, before) => {
        asked.push([key, before]);
        return { ...before, remaining: 6, now: 1_020 };
      },
    });
    assert.deepEqual([admitted.key, admitted.decision], [KEY, counted]);
    return OK;
  });
  const limits = async () => {
    const { headers } = await at.ask('GET /');
    return ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'ratelimit-policy', 'ratelimit'].map(
      (name) => headers.get(name),
    );
  };
  const left = '"minute";r=7;t=40, "day";r=70;t=980';
  const free = ['60', '6', '1060', '"minute";q=60;w=60, "day";q=1000;w=86400', left];
  assert.deepEqual(await limits(), free);
  assert.deepEqual(asked, [[KEY, counted]]);
  assert.deepEqual(await limits(), free);
  counted = decision(60, 5_000);
  assert.deepEqual(await limits(), ['60', '6', '1060', '"minute";q=60;w=60, "day";q=5000;w=86400', left]);
  counted = decision(9, 5_000);
  assert.deepEqual(await limits(), ['9', '6', '1060', '"minute";q=9;w=60, "day";q=5000;w=86400', left]);
  const { requestId, ...told } = at.events.answered.at(-1) ?? assert.fail();
  assert.ok(requestId);
  assert.deepEqual(told, {
    durationMs: 250,
    listener: 'public',
    api: 'false',
    cause: undefined,
    keyId: KEY.id,
    plan: 'pro',
    method: 'GET',
    route: '/v1/x',
    status: 200,
    code: undefined,
    windows: counted,
    traceId: undefined,
  });
});

test('a request without a valid id gets one of its own', async () => {
  await using at = await answering(() => OK);
  const ids: string[] = [];
  for (const sent of [[], ['X-Request-Id: a b'], ['X-Request-Id: a', 'X-Request-Id: b']]) {
    ids.push((await at.ask('GET /', ...sent)).headers.get('x-request-id') ?? '');
  }
  assert.equal(new Set(ids).size, 3);
  for (const id of ids) assert.match(id, /^[\w-]{16}\.[0-9a-z]+$/);
  assert.deepEqual(
    at.events.answered.map(({ requestId }) => requestId),
    ids,
  );
  const [one, other] = [requestIds(), requestIds()];
  const first = one();
  assert.match(first, /\.1$/);
  assert.equal(one(), first.replace(/1$/, '2'));
  assert.notEqual(other(), first, 'another process has other ids');
});

test('the trace of a request is that of its traceparent, if that is well-formed', async () => {
  await using at = await answering((exchange) => {
    if (exchange.request.url === '/traced') exchange.traceId = 'ours';
    return OK;
  });
  const rest = `${TRACE_ID}-${PARENT_ID}-01`;
  const cases: [sent: string | undefined, traceId: string | undefined][] = [
    [`00-${rest}`, TRACE_ID],
    [`cc-${rest}`, TRACE_ID],
    [`cc-${rest}-more`, TRACE_ID],
    [`00-${rest}-more`, undefined],
    [`ff-${rest}`, undefined],
    [`cc-${rest}more`, undefined],
    [`00-${rest}0`, undefined],
    [`x00-${rest}`, undefined],
    [`0-${rest}`, undefined],
    [`00-${TRACE_ID.toUpperCase()}-${PARENT_ID}-01`, undefined],
    [`00-${TRACE_ID}0-${PARENT_ID}-01`, undefined],
    [`00-${'0'.repeat(32)}-${PARENT_ID}-01`, undefined],
    [`00-${TRACE_ID}-${'0'.repeat(16)}-01`, undefined],
    [`00-${TRACE_ID}-${PARENT_ID}0-01`, undefined],
    [`00-${TRACE_ID}-${PARENT_ID}`, undefined],
    [undefined, undefined],
  ];
  for (const [sent, traceId] of cases) {
    await at.ask('GET /', ...(sent === undefined ? [] : [`traceparent: ${sent}`]));
    assert.equal(at.events.answered.at(-1)?.traceId, traceId);
  }
  await at.ask('GET /traced', `traceparent: 00-${rest}`);
  assert.equal(at.events.answered.at(-1)?.traceId, 'ours');
});

test('a connection stays open after an answer, unless the answer, its request or what is left of it closes it', async () => {
  for (const [what, isLast, line, headers, closes] of [
    ['nothing', false, 'GET /', [], undefined],
    ['the answer', true, 'GET /', [], true],
    ['the request', true, 'GET /', ['Connection: close'], undefined],
    ['a small body that may still come', false, 'POST /', [`Content-Length: ${256 * 1024}`], undefined],
    ['a body that is too large', true, 'POST /', [`Content-Length: ${256 * 1024 + 1}`], undefined],
    ['a body without a length', true, 'POST /', ['Transfer-Encoding: chunked'], undefined],
    ['a body that waits for 100', true, 'POST /', ['Content-Length: 1', 'Expect: 100-continue'], undefined],
  ] as const) {
    await using at = await answering(() => ({ ...OK, ...(closes && { closes }) }));
    const answer = await at.ask(line, ...headers);
    assert.equal(answer.headers.get('connection'), isLast ? 'close' : 'keep-alive', what);
    assert.equal(at.exchanges[0]?.isLast, isLast, what);
  }
});

test('a request whose rest cannot be read fails once, and its answer is the last', async () => {
  const [first, second] = [1, 2].map((each) => new CatalogError('malformed_request', `Failure ${each}`));
  assert.ok(first && second);
  await using at = await answering((exchange) => {
    exchange.fail(first);
    exchange.fail(second);
    return OK;
  });
  assert.equal((await at.ask('GET /')).headers.get('connection'), 'close');
  assert.equal(at.exchanges[0]?.failure, first, 'the first one counts');
});

test('100 is sent once, and only to a client that waits for it', async () => {
  for (const [expect, statuses] of [
    [['Expect: 100-continue'], [100, 200]],
    [[], [200]],
  ] as const) {
    await using at = await answering((exchange) => {
      for (let times = 0; times < 2; times += 1) exchange.readBody(1).catch(() => {});
      return OK;
    });
    const answers = [await at.ask('POST /', 'Content-Length: 1', ...expect)];
    while (answers.at(-1)?.status === 100) answers.push(await at.raw.answer());
    assert.deepEqual(
      answers.map(({ status }) => status),
      statuses,
    );
  }
});

test('of two answers to a request the first is sent, and told', async () => {
  await using at = await answering((exchange) => {
    exchange.answer({ status: 202, body: 'first' });
    return OK;
  });
  assert.deepEqual([(await at.ask('GET /')).body, at.events.answered.length], ['first', 1]);
  assert.equal(at.exchanges[0]?.status, 202);
  assert.equal((await at.ask('GET /')).body, 'first', 'the connection stays as it is');
});

test('a request is read when its body is, or when it has none', async () => {
  const read: boolean[] = [];
  await using at = await answering((exchange) => {
    read.push(exchange.isRead);
    return OK;
  });
  await at.ask('GET /');
  await at.ask('POST /', 'Content-Length: 1');
  await at.raw.send('x');
  await nextTurn();
  await at.ask('POST /', 'Transfer-Encoding: chunked');
  assert.deepEqual(read, [true, false, false]);
});
