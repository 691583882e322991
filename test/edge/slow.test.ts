import assert from 'node:assert/strict';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { CatalogError } from '../../src/catalog/error.ts';
import { errorAnswer } from '../../src/http/errors.ts';
import { limitHeaders } from '../../src/http/limit-headers.ts';
import type { Answer, Exchange } from '../../src/http/transport/exchange.ts';
import { type Listener, openListener, type Timeouts } from '../../src/http/transport/listener.ts';
import { withJson } from '../../src/http/transport/request.ts';
import { manualClock } from '../kit/clock.ts';
import { assertAnswer, get, HOST, post, request } from '../kit/edge/corpus.ts';
import { openRaw, type RawAnswer, type RawConnection } from '../kit/edge/raw.ts';
import { OPERATOR } from '../kit/operator.ts';
import { recordedEvents, testService } from '../kit/service.ts';

const BODY = '{"name":"Dog"}';
const LENGTH = `Content-Length: ${BODY.length}`;

/** Short for the test, which checks that the timeouts apply, not their length. */
const TIMEOUTS: Timeouts = { headMs: 300, requestMs: 600, checkIntervalMs: 20, keepAliveMs: 60_000 };

describe('clients that take too long to send', { concurrency: true }, () => {
  let listener: Listener;
  let url: string;

  before(async () => {
    listener = await openImpatient(TIMEOUTS);
    url = `http://127.0.0.1:${listener.port}/v1`;
  });
  after(() => listener.stop(0));

  for (const [title, bytes, earlier] of [
    ['no head at all', '', []],
    ['half a request line', 'GET /v1/ca', []],
    ['half a head', get().slice(0, -2), []],
    ['no body', post('', LENGTH), []],
    ['half a body', post(BODY.slice(5), LENGTH), []],
    ['half a chunk', post(`e\r\n${BODY.slice(5)}`, 'Transfer-Encoding: chunked'), []],
    ['chunks without the last', post(`e\r\n${BODY}\r\n`, 'Transfer-Encoding: chunked'), []],
    ['an endless chunk that does not come', post('ffffffffffffffff\r\n', 'Transfer-Encoding: chunked'), []],
    ['a good request and half a head', get() + get().slice(0, -2), [200]],
    ['a good request and half a body', get() + post(BODY.slice(5), LENGTH), [200]],
    ['no body after 100', post('', LENGTH, 'Expect: 100-continue'), [100]],
  ] as const) {
    test(`a client that sends ${title} and then nothing gets 408 and a close`, async () => {
      await using raw = await openRaw(url);
      await raw.send(bytes);
      const answers = await raw.answersUntilClosed();
      const last = answers.pop();
      assert.deepEqual(
        answers.map(({ status }) => status),
        earlier,
      );
      assertTimeout(last);
    });
  }

  for (const [title, head, drip] of [
    ['a head', request('GET /v1/categories HTTP/1.1', HOST).slice(0, -2), 'X-A: b\r\n'],
    ['a body', post('', 'Content-Length: 100000').replace('\r\n\r\n', '\r\n\r\n '), ' '],
    ['chunks', post('', 'Transfer-Encoding: chunked'), '1\r\n \r\n'],
  ] as const) {
    test(`a client that trickles ${title} gets 408 and a close`, async () => {
      await using raw = await openRaw(url);
      await raw.send(head);
      const answer = raw.answer();
      const dripping = setInterval(() => raw.send(drip).catch(() => {}), 10);
      try {
        assertTimeout(await answer);
      } finally {
        clearInterval(dripping);
      }
    });
  }

  test('a client answered before its body arrived is closed without another answer', async () => {
    await using raw = await openRaw(url);
    await raw.send(request('POST /v1/categories HTTP/1.1', HOST, 'Authorization: Bearer wrong', LENGTH));
    const [answer, ...more] = await raw.answersUntilClosed();
    assert.equal(answer?.status, 401);
    assert.deepEqual(more, []);
  });

  test('an idle connection is kept until its own timeout, independent of the others', async () => {
    await using raw = await openRaw(url);
    for (let i = 0; i < 2; i++) {
      await raw.send(get());
      assert.equal((await raw.answer()).status, 200);
      // Another connection reaches both timeouts first.
      await using other = await openRaw(url);
      await other.send(post('', LENGTH));
      assertTimeout(await other.answer());
    }
  });

  test('an idle connection is closed after its timeout, without an answer', async () => {
    const idle = await openImpatient({ headMs: 60_000, requestMs: 60_000, checkIntervalMs: 20, keepAliveMs: 1 });
    try {
      await using raw = await openRaw(`http://127.0.0.1:${idle.port}`);
      await raw.send(get());
      assert.equal((await raw.answer()).status, 200);
      assert.deepEqual(await raw.answersUntilClosed(), []);
    } finally {
      await idle.stop(0);
    }
  });
});

test('clients that do not read a large list do not hold up others, and get the whole list in the end', async () => {
  await using service = await testService();
  const { secret } = await service.issue();
  const description = 'x'.repeat(1_900);
  await service.storage.categories.import(Array(2_000).fill({ name: 'animal', description }), OPERATOR);
  const list = async () => (await service.call(secret, '/categories')).text();
  const whole = await list();
  assert.ok(whole.length > 3_500_000);
  await using opened = new AsyncDisposableStack();
  const slow: RawConnection[] = [];
  for (let i = 0; i < 20; i++) slow.push(opened.use(await openRaw(service.url)));
  for (const raw of slow) {
    raw.pause();
    await raw.send(get().replace('<key>', secret));
  }
  for (let i = 0; i < 10; i++) {
    assert.equal((await service.call(secret, '/rate_limit')).status, 200);
    assert.equal(await list(), whole);
  }
  for (const raw of slow) {
    raw.resume();
    const answer = await raw.answer();
    assert.equal(answer.status, 200);
    assert.equal(answer.body, whole);
  }
});

test('by default a head has 10 s, a request 30 s, and an idle connection 130 s', async () => {
  let server: Partial<Server> = {};
  const serve = (exchange: Exchange) => {
    ({ server } = exchange.request.socket as Socket & { server: Server });
    exchange.answer({ status: 200 });
  };
  const listener = await openListener(
    serve,
    { time: manualClock(), events: recordedEvents() },
    { host: '127.0.0.1', port: 0 },
  );
  await fetch(`http://127.0.0.1:${listener.port}/`, { headers: { connection: 'close' } });
  await listener.stop(0);
  // Each is checked twice a second.
  const { headersTimeout, requestTimeout, keepAliveTimeout, maxConnections } = server;
  assert.deepEqual([headersTimeout, requestTimeout, keepAliveTimeout, maxConnections], [9_000, 29_000, 130_000, 4_016]);
  assert.equal(Reflect.get(server, 'connectionsCheckingInterval'), 500);
});

function assertTimeout(answer: RawAnswer | undefined): void {
  assert.ok(answer);
  assert.equal(answer.status, 408);
  const { code, message } = JSON.parse(answer.body);
  assert.deepEqual([code, message], ['request_timeout', 'The request did not arrive in time; send it without pausing']);
  assert.equal(answer.headers.get('connection'), 'close');
  assertAnswer(answer);
}

/** A listener with its own timeouts that reads bodies, refuses wrong keys unread, and answers. */
function openImpatient(timeouts: Timeouts): Promise<Listener> {
  const respond = async (exchange: Exchange): Promise<Answer> => {
    if (exchange.request.headers.authorization === 'Bearer wrong') throw new CatalogError('invalid_api_key', 'No');
    if (exchange.request.method === 'POST') return withJson(exchange, () => ({ status: 200 }));
    return { status: 200 };
  };
  const serve = async (exchange: Exchange) => {
    exchange.answer(await respond(exchange).catch(errorAnswer));
  };
  const time = manualClock();
  const context = { time, events: recordedEvents(), addLimitHeaders: limitHeaders(time) };
  return openListener(serve, context, { host: '127.0.0.1', port: 0, timeouts });
}
