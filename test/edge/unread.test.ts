import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Exchange, Serve } from '../../src/http/transport/exchange.ts';
import { openListener } from '../../src/http/transport/listener.ts';
import { manualClock, untilEqual, untilTrue } from '../kit/clock.ts';
import { get, HOST, post, request } from '../kit/edge/corpus.ts';
import { openRaw } from '../kit/edge/raw.ts';
import { recordedEvents } from '../kit/events.ts';

/** What a listener holds for clients that send or ask for more than is served, in requests and bytes. */

const WAITING_MAX = 128;
const MEBIBYTE = 1024 * 1024;
const PACKET = 3_000;
const ANNOUNCED = post('', `Content-Length: ${MEBIBYTE / 4}`) + 'x'.repeat(MEBIBYTE / 4);

/** A listener whose answers wait for `go`, unless `serve` says otherwise. */
async function held(serve?: Serve, connectionsMax = 4_000) {
  const go = Promise.withResolvers<void>();
  const [served, sockets]: [string[], Set<Socket>] = [[], new Set()];
  const events = recordedEvents();
  let [refused, cutOff] = [0, 0];
  events.connectionRefused = () => {
    refused += 1;
  };
  events.connectionCutOff = () => {
    cutOff += 1;
  };
  const wait = (exchange: Exchange) => go.promise.then(() => exchange.answer({ status: 200, body: 'x' }));
  const listener = await openListener(
    (exchange) => {
      served.push(exchange.requestId);
      sockets.add(exchange.request.socket);
      return (serve ?? wait)(exchange);
    },
    { time: manualClock(), events },
    { host: '127.0.0.1', port: 0, connectionsMax },
  );
  const opened = new AsyncDisposableStack();
  const url = `http://127.0.0.1:${listener.port}/v1`;
  return {
    go: go.resolve,
    served,
    sockets,
    refused: () => refused,
    cutOff: () => cutOff,
    haveRead: (bytes: number) =>
      untilEqual(() => [...sockets].reduce((sum, { bytesRead }) => sum + bytesRead, 0), bytes),
    open: async () => opened.use(await openRaw(url)),
    async [Symbol.asyncDispose]() {
      go.resolve();
      await opened.disposeAsync();
      await listener.stop(0);
    },
  };
}

function numbered(count: number): string {
  return Array.from({ length: count }, (_, index) => get(`X-Request-Id: n${index}`)).join('');
}

test('one request of a connection runs and 128 wait; of more the connection answers those, in order, and closes', async () => {
  await using at = await held();
  const raw = await at.open();
  await raw.send(numbered(WAITING_MAX + 1));
  await untilEqual(() => at.served.length, 1);
  await raw.send(get());
  await nextTurn();
  assert.equal(at.served.length, 1);
  at.go();
  const answers = await raw.answersUntilClosed();
  assert.deepEqual(
    answers.map(({ headers }) => headers.get('x-request-id')),
    Array.from({ length: WAITING_MAX + 1 }, (_, index) => `n${index}`),
  );
  assert.equal(answers.at(-1)?.headers.get('connection'), 'close');
});

test('all connections together hold 16 MiB of waiting requests, announced bodies and heads included', async () => {
  await using at = await held();
  // Sixty such bodies and their requests leave room for two.
  const connections = await Promise.all([1, 2, 3, 4].map(() => at.open()));
  const sent = get() + ANNOUNCED.repeat(15);
  for (const raw of connections) await raw.send(sent);
  await at.haveRead(4 * sent.length);
  const more = await at.open();
  const tooMuch = numbered(1) + ANNOUNCED.repeat(3);
  await more.send(tooMuch);
  await at.haveRead(4 * sent.length + tooMuch.length);
  at.go();
  assert.equal((await more.answersUntilClosed()).length, 3, 'the last is not served');
  for (const raw of connections)
    for (let count = 0; count < 16; count += 1) assert.equal((await raw.answer()).status, 200);
  // All of it is given back.
  await more[Symbol.asyncDispose]();
  const later = await at.open();
  await later.send(get() + ANNOUNCED.repeat(15));
  for (let count = 0; count < 16; count += 1) assert.equal((await later.answer()).status, 200);
});

test('of requests that were parsed and are not served 8,192 are kept, then connections are cut off', async () => {
  await using at = await held();
  const smallest = 'GET / HTTP/1.1\r\n\r\n'.repeat(PACKET);
  const greedy = await Promise.all(Array.from({ length: 4 }, () => at.open()));
  for (const raw of greedy) await raw.send(smallest).catch(() => {});
  await untilTrue(() => at.cutOff() > 0);
  assert.ok(at.cutOff() <= 2, 'those that keep within the bound stay');
  await Promise.all(greedy.map((raw) => raw.reset()));
  await untilTrue(() => [...at.sockets].every(({ destroyed }) => destroyed));
  const before = at.cutOff();
  const again = await at.open();
  await again.send(smallest);
  at.go();
  assert.equal((await again.answersUntilClosed()).length, WAITING_MAX + 1, 'closed connections hold nothing');
  assert.equal(at.cutOff(), before);
});

test('what comes behind the last answer reaches no parser', async () => {
  await using at = await held((exchange) => exchange.answer({ status: 200, body: 'x' }));
  const raw = await at.open();
  await raw.send(get('Connection: close'));
  assert.equal((await raw.answersUntilClosed()).length, 1);
  await raw.send('GET / HTTP/1.1\r\n\r\n'.repeat(10_000));
  const [socket] = at.sockets;
  await untilTrue(() => (socket?.bytesRead ?? 0) > 180_000);
  assert.deepEqual([at.served.length, at.cutOff()], [1, 0]);
});

test('waiting requests take turns with those of other connections', async () => {
  const order: string[] = [];
  await using at = await held((exchange) => {
    order.push(exchange.request.url ?? '');
    exchange.answer({ status: 200, body: 'x' });
  });
  const [greedy, other] = [await at.open(), await at.open()];
  await greedy.send(get().repeat(WAITING_MAX));
  while (order.length === 0) await nextTurn();
  await other.send(request('GET /other HTTP/1.1', HOST));
  assert.equal((await other.answer()).status, 200);
  assert.ok(order.indexOf('/other') < WAITING_MAX / 2, `${order.indexOf('/other')} came before`);
});

test('a body that waits is read ahead, and no more of it than 256 KiB until it is asked for', async () => {
  const bodies: number[] = [];
  const go = Promise.withResolvers<void>();
  await using at = await held(async (exchange) => {
    if (exchange.request.method === 'GET') await go.promise;
    else bodies.push((await exchange.readBody(32 * MEBIBYTE)).length);
    exchange.answer({ status: 200, body: 'x' });
  });
  const raw = await at.open();
  const large = Buffer.alloc(8 * MEBIBYTE, 'x');
  const sending = raw.send(Buffer.concat([Buffer.from(get() + post('', `Content-Length: ${large.length}`)), large]));
  await untilEqual(() => at.served.length, 1);
  for (let turn = 0; turn < 200; turn += 1) await nextTurn();
  const [socket] = at.sockets;
  assert.ok(socket && socket.bytesRead < MEBIBYTE, `${socket?.bytesRead} bytes were read`);
  go.resolve();
  for (let count = 0; count < 2; count += 1) assert.equal((await raw.answer()).status, 200);
  await sending;
  assert.deepEqual(bodies, [large.length]);
});

test('beyond CONNECTIONS_MAX the oldest connection with an unread answer makes room, and none that is served', async () => {
  const go = Promise.withResolvers<void>();
  await using at = await held(async (exchange) => {
    if (exchange.request.url === '/served') await go.promise;
    exchange.answer({ status: 200, body: 'x'.repeat(exchange.request.url === '/unread' ? 20_000_000 : 1_000) });
  }, 3);
  const [served, unread, idle] = [await at.open(), await at.open(), await at.open()];
  await served.send(request('GET /served HTTP/1.1', HOST));
  unread.pause();
  await unread.send(request('GET /unread HTTP/1.1', HOST));
  await idle.send(get());
  assert.equal((await idle.answer()).status, 200);
  await untilEqual(() => at.served.length, 3);
  for (const count of [1, 2]) {
    const later = await at.open();
    await later.send(request('GET /served HTTP/1.1', HOST));
    await untilEqual(() => at.served.length, 3 + count);
    assert.deepEqual([at.cutOff(), at.refused()], [count, 0]);
  }
  assert.deepEqual(
    [...at.sockets].map(({ destroyed }) => destroyed),
    [false, true, true, false, false],
  );
  const beyond = await at.open();
  await assert.rejects(beyond.answer());
  assert.deepEqual([at.cutOff(), at.refused()], [2, 1]);
  go.resolve();
  assert.equal((await served.answer()).status, 200);
});

test('a client that does not read has 30 s for its answer, and a second for every 50 kB', async (t) => {
  const bytes = 20_000_000;
  const allowedMs = 30_000 + bytes / 50;
  t.mock.timers.enable({ apis: ['setTimeout'] });
  await using at = await held((exchange) => exchange.answer({ status: 200, body: 'x'.repeat(bytes) }));
  const reader = await at.open();
  await reader.send(get());
  assert.equal((await reader.answer()).body.length, bytes);
  const idle = await at.open();
  idle.pause();
  await idle.send(get());
  while (at.sockets.size < 2) await nextTurn();
  const destroyed = () => [...at.sockets].map((socket) => socket.destroyed);
  t.mock.timers.tick(allowedMs - 1);
  assert.deepEqual(destroyed(), [false, false]);
  t.mock.timers.tick(1);
  assert.deepEqual(destroyed(), [false, true]);
  assert.equal(at.cutOff(), 1);
  t.mock.timers.reset();
  await reader.send(get());
  assert.equal((await reader.answer()).status, 200);
});

test('a connection that closes while requests wait serves none of them, and holds nothing any more', async () => {
  await using at = await held();
  const [raw, later] = [await at.open(), await at.open()];
  const sent = get() + ANNOUNCED.repeat(60);
  await raw.send(sent);
  await at.haveRead(sent.length);
  await raw.reset();
  await untilTrue(() => [...at.sockets].every(({ destroyed }) => destroyed));
  await later.send(sent);
  await at.haveRead(2 * sent.length);
  at.go();
  for (let count = 0; count < 61; count += 1) assert.equal((await later.answer()).status, 200);
  assert.equal(at.served.length, 1 + 61);
});
