import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../../test/kit/clock.ts';
import { HOST, request } from '../../../test/kit/edge/corpus.ts';
import { openRaw, type RawAnswer } from '../../../test/kit/edge/raw.ts';
import { recordedEvents } from '../../../test/kit/service.ts';
import { limitHeaders } from '../limit-headers.ts';
import type { Answer, Exchange } from './exchange.ts';
import { openListener } from './listener.ts';

/** What an answer says besides its status, on a real socket, and what is told of it. */

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT_ID = '00f067aa0ba902b7';

/** Requests to a listener that has one answer to all. */
async function answering(respond: (exchange: Exchange) => Answer) {
  const [clock, events] = [manualClock(), recordedEvents()];
  const listener = await openListener(
    (exchange) => {
      exchange.answer(respond(exchange));
    },
    { time: clock, events, addLimitHeaders: limitHeaders(clock) },
    { host: '127.0.0.1', port: 0 },
  );
  const raw = await openRaw(`http://127.0.0.1:${listener.port}`);
  return {
    clock,
    events,
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
