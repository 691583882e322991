import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { manualClock } from '../../../test/kit/clock.ts';
import { HOST, request } from '../../../test/kit/edge/corpus.ts';
import { openRaw, type RawAnswer } from '../../../test/kit/edge/raw.ts';
import { recordedEvents } from '../../../test/kit/service.ts';
import { type ApiKey, newApiKey } from '../../catalog/api-key.ts';
import { CatalogError } from '../../catalog/error.ts';
import type { Decision } from '../../limits/limiter.ts';
import { limitHeaders } from '../app.ts';
import { type Answer, Exchange, requestIds } from './exchange.ts';
import { Ledger } from './ledger.ts';
import { openListener } from './listener.ts';

/** What an answer says besides its status, on a real socket, and what is told of it. */

const { key: KEY } = newApiKey({ name: 'one', environment: 'production', plan: 'pro' }, 0);
const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT_ID = '00f067aa0ba902b7';

/** Requests to a listener that has one answer to all. */
async function answering(respond: (exchange: Exchange) => Answer) {
  const [clock, events, ledger] = [manualClock(), recordedEvents(), new Ledger()];
  const exchanges: Exchange[] = [];
  const listener = await openListener(
    (exchange) => {
      exchanges.push(exchange);
      exchange.answer(respond(exchange));
    },
    { time: clock, events, ledger, addLimitHeaders: limitHeaders(clock) },
    { host: '127.0.0.1', port: 0 },
  );
  const raw = await openRaw(`http://127.0.0.1:${listener.port}`);
  return {
    clock,
    events,
    ledger,
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
    exchange.decide(counted, {
      current: (key, before) => {
        asked.push([key, before]);
        return { ...before, remaining: 6, now: 1_020 };
      },
    });
    assert.equal(exchange.decision, counted);
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
  const failures: CatalogError[] = [];
  const [first, second] = [1, 2].map((each) => new CatalogError('malformed_request', `Failure ${each}`));
  assert.ok(first && second);
  await using at = await answering((exchange) => {
    exchange.fail(first);
    exchange.onFailure = (failure) => failures.push(failure);
    exchange.fail(second);
    return OK;
  });
  assert.equal((await at.ask('GET /')).headers.get('connection'), 'close');
  assert.deepEqual(failures, [first], 'the first one counts');
});

test('100 is sent once, and only to a client that waits for it', async () => {
  for (const [expect, statuses] of [
    [['Expect: 100-continue'], [100, 200]],
    [[], [200]],
  ] as const) {
    await using at = await answering((exchange) => {
      exchange.continue();
      exchange.continue();
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

test('before the gates a request has neither a key nor a decision', async () => {
  const thrown: string[] = [];
  await using at = await answering((exchange) => {
    assert.equal(exchange.keyId, undefined);
    for (const read of [() => exchange.key, () => exchange.decision]) {
      try {
        read();
      } catch (error) {
        thrown.push((error as Error).message);
      }
    }
    exchange.key = KEY;
    assert.deepEqual([exchange.keyId, exchange.route], [KEY.id, 'unmatched']);
    return OK;
  });
  assert.equal((await at.ask('GET /')).status, 200);
  assert.deepEqual(thrown, ['The request is not authenticated', 'The request has not been counted']);
});

test('a key is full by what it holds, and a connection that is cut off is told of once', async () => {
  await using at = await answering((exchange) => {
    exchange.key = KEY;
    return { status: 200, body: `${exchange.isKeyFull}` };
  });
  assert.equal((await at.ask('GET /')).body, 'false');
  const account = { heldBytes: 0, cutOff: () => {} };
  at.ledger.hold({ heldBytes: 0, account, keyId: KEY.id }, 8 * 1024 * 1024);
  assert.equal((await at.ask('GET /')).body, 'true');
  const [exchange] = at.exchanges;
  assert.ok(exchange);
  for (let times = 1; times <= 2; times += 1) {
    exchange.account.cutOff(KEY.id);
    assert.deepEqual(at.events.cutOff, [KEY.id]);
  }
  assert.equal(exchange.request.socket.destroyed, true);
});

test('what a request holds before its key is known goes to the key', (t) => {
  const { exchange, account, ledger } = unsentAfter(t, { answer: { status: 200, body: 'x'.repeat(9 * 1024 * 1024) } });
  const { heldBytes } = exchange;
  assert.deepEqual([ledger.isFull(KEY.id), account.heldBytes], [false, heldBytes]);
  exchange.key = KEY;
  assert.deepEqual([ledger.isFull(KEY.id), account.heldBytes, exchange.heldBytes], [true, heldBytes, heldBytes]);
  exchange.release();
  assert.deepEqual([ledger.isFull(KEY.id), account.heldBytes, exchange.heldBytes], [false, 0, 0]);
  account.cutOff = () => assert.fail('it holds nothing more');
  const cutOff: string[] = [];
  for (const keyId of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) {
    const other = { heldBytes: 0, cutOff: () => cutOff.push(keyId) };
    ledger.hold({ heldBytes: 0, account: other, keyId }, 7 * 1024 * 1024);
  }
  assert.deepEqual(cutOff, ['a'], 'of those that hold anything the first is cut off');
});

test('what the system does not take is held: the request, and a body that is the answer’s own', (t) => {
  const text = 'x'.repeat(100_000);
  const request = 4_096;
  const cases: [what: string, given: Parameters<typeof unsentAfter>[1], bytes: number][] = [
    ['a text', { answer: { status: 200, body: text } }, request + 100_000],
    ['a text that HEAD leaves out', { method: 'HEAD', answer: { status: 200, body: text } }, request],
    ['bytes that answers share', { answer: { status: 200, body: [Buffer.from(text)] } }, request],
    [
      'what is unsent of them, as written besides encrypted',
      { encrypted: true, answer: { status: 200, body: [Buffer.from(text)] } },
      request + 2 * 7_000,
    ],
    ['the headers of the request', { rawHeaders: ['Host', 'x', 'A', ''] }, request + 1 + 4 * 45 + 6 + 1],
  ];
  for (const [what, given, bytes] of cases) assert.equal(unsentAfter(t, given).exchange.heldBytes, bytes, what);
  assert.equal(unsentAfter(t, { isSent: true }).exchange.heldBytes, 0);
  const { exchange } = unsentAfter(t, { isDestroyed: true });
  exchange.hold(1);
  assert.equal(exchange.heldBytes, 0, 'nothing would give it back');
});

test('an answer has 30 s from when its turn to be sent comes, and a second for every 50 kB', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  for (const [bytes, allowedMs] of [
    [50, 30_001],
    [20_000_000, 430_000],
  ] as const) {
    const given = unsentAfter(t, { answer: { status: 200, body: 'x'.repeat(bytes) } });
    t.mock.timers.tick(3_600_000);
    given.emit('socket');
    t.mock.timers.tick(allowedMs - 1);
    assert.equal(given.isDestroyed(), false, `${bytes} bytes`);
    t.mock.timers.tick(1);
    assert.equal(given.isDestroyed(), true, `${bytes} bytes`);
  }
  const closed = unsentAfter(t, { hasSocket: true });
  closed.emit('close');
  t.mock.timers.tick(3_600_000);
  assert.equal(closed.isDestroyed(), false, 'an answer that was received is not cut off');
});

test('the time of an answer keeps no process alive, and ends when it was sent', (t) => {
  const [set, cleared] = [t.mock.method(globalThis, 'setTimeout'), t.mock.method(globalThis, 'clearTimeout')];
  const { emit } = unsentAfter(t, { hasSocket: true });
  const timer = set.mock.calls.at(-1)?.result;
  assert.equal(timer?.hasRef(), false);
  emit('close');
  assert.deepEqual(cleared.mock.calls.at(-1)?.arguments, [timer]);
});

test('a large body is sent in parts, each when the one before is gone', (t) => {
  const bytes = Buffer.from(Array.from({ length: 250_000 }, (_, index) => index % 251));
  const half = [bytes.subarray(0, 120_000), bytes.subarray(120_000)];
  // The last of the characters that take two units of text stands across the first part's end, or before it.
  const wide = ['x', ''].map((first) => first + '🐶'.repeat(125_000));
  for (const body of [bytes.toString('latin1'), half, ...wide]) {
    const { written, emit } = unsentAfter(t, { answer: { status: 200, body } });
    const lengths: number[] = [];
    while (written.length > lengths.length) {
      lengths.push(written.at(-1)?.length ?? 0);
      emit('drain');
    }
    const expected = typeof body === 'string' ? Buffer.from(body) : bytes;
    assert.ok(Buffer.concat(written.map((part) => Buffer.from(part as string))).equals(expected));
    assert.ok(lengths.every((length) => length <= 100_000) && lengths.length >= 3, lengths.join());
  }
});

/** An exchange that was answered, on a connection whose peer does not read. */
function unsentAfter(
  t: TestContext,
  {
    method = 'GET',
    answer = OK as Answer,
    isSent = false,
    isDestroyed = false,
    encrypted = false,
    hasSocket = false,
    rawHeaders = [] as readonly string[],
  } = {},
) {
  const listeners: Record<string, (() => void)[]> = {};
  const listen = (event: string, listener: () => void) => {
    listeners[event] = [...(listeners[event] ?? []), listener];
  };
  const written: (Uint8Array | string)[] = [];
  const response = {
    shouldKeepAlive: true,
    writableEnded: true,
    writableLength: isSent ? 0 : 7_000,
    socket: hasSocket ? {} : null,
    writeHead: (_status: number, headers: readonly string[]) => headers.includes('X-Always') || assert.fail(),
    ...Object.fromEntries(['end', 'cork', 'uncork'].map((name) => [name, () => {}])),
    write: (part: Uint8Array | string) => {
      written.push(part);
      return false;
    },
    on: listen,
    once: listen,
    destroy: t.mock.fn(),
  };
  const socket = { destroyed: isDestroyed, ...(encrypted && { encrypted }) };
  const asked = { method, url: rawHeaders.length > 0 ? '/' : '', headers: {}, rawHeaders, socket, complete: true };
  const ledger = new Ledger();
  const exchange = new Exchange(asked as never, response as never, {
    time: manualClock(),
    events: recordedEvents(),
    headers: ['X-Always', 'here'],
    ledger,
    partBytes: 100_000,
    newRequestId: () => 'id',
    isStopping: () => false,
  });
  const account = { heldBytes: 0, cutOff: () => {} };
  exchange.account = account;
  exchange.answer(answer);
  return {
    exchange,
    account,
    ledger,
    written,
    isDestroyed: () => response.destroy.mock.callCount() > 0,
    emit: (event: string) => {
      for (const listener of listeners[event] ?? []) listener();
    },
  };
}

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
