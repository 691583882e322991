import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { manualClock, untilEqual, untilTrue } from '../../../test/kit/clock.ts';
import { recordedEvents } from '../../../test/kit/service.ts';
import { CatalogError } from '../../catalog/error.ts';
import { Connection } from './connection.ts';
import { Turns } from './event-loop-turns.ts';
import type { Exchange } from './exchange.ts';
import { Ledger } from './ledger.ts';

const MEBIBYTE = 1024 * 1024;

const REQUEST_BYTES = 4_096;
/** `GET / HTTP/1.1` and an empty line. */
const SMALLEST_BYTES = 18;
const SLICE_BYTES = 4_096;
const SLICES = 16;
const TURN_MS_MAX = 8;

/** A connection on a socket of the test's own, whose exchanges end when the test says so. */
function held(socket = new PassThrough() as unknown as Socket) {
  const finish: (() => void)[] = [];
  const served: Exchange[] = [];
  const ledger = new Ledger();
  const exchange = (method: string, more: object = {}) => {
    const request = { method, httpVersion: '1.1', headers: {}, readableLength: 0 };
    const made = { request, isRead: true, heldBytes: 0, keyId: 'key', ...more };
    return Object.assign(made, {
      onClose: (listener: () => void) => finish.push(listener),
      hold: () => ledger.hold(made as unknown as Exchange, REQUEST_BYTES),
      release: () => ledger.hold(made as unknown as Exchange, 0),
    }) as unknown as Exchange;
  };
  const parsed: Buffer[] = [];
  const on = { slice: () => {} };
  socket.on('data', (slice: NonSharedBuffer) => {
    parsed.push(slice);
    on.slice();
  });
  const connection = new Connection(socket, {
    time: manualClock(0),
    events: recordedEvents(),
    headers: [],
    turns: new Turns(),
    ledger,
    partBytes: MEBIBYTE,
    serve: (exchange) => {
      served.push(exchange);
    },
    newRequestId: () => 'id',
    isStopping: () => false,
  });
  return { finish, served, exchange, socket, ledger, connection, parsed, on };
}

/** A turn then ends by the number of requests alone, however slow the machine is. */
function withoutEndOfTurn(t: TestContext): void {
  t.mock.method(performance, 'now', () => 0);
}

/** Lets everything be served that does not wait for another request. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await nextTurn();
}

test('a connection that closes holds nothing, neither for what runs nor for what waits', async () => {
  const { served, exchange, socket, ledger, connection } = held();
  for (const method of ['GET', 'GET', 'POST', 'POST']) connection.begin(exchange(method));
  const [first] = served;
  assert.ok(first);
  ledger.hold(first, 8 * MEBIBYTE);
  socket.write('x'.repeat(100));
  await settled();
  assert.deepEqual([connection.heldBytes, ledger.isFull('key')], [8 * MEBIBYTE + 3 * REQUEST_BYTES + 100, true]);
  const closed = once(socket, 'close');
  socket.destroy();
  await closed;
  assert.deepEqual([connection.heldBytes, ledger.isFull('key')], [0, false]);
  const late = exchange('POST');
  connection.begin(late);
  await settled();
  assert.ok(!served.includes(late), 'nor does it serve what was still in its packet');
  assert.equal(connection.heldBytes, 0);
});

test('a connection that is cut off is closed, holds nothing at once, and is told of once', () => {
  const { exchange, socket, connection } = held();
  for (const method of ['GET', 'POST']) connection.begin(exchange(method));
  assert.equal(connection.heldBytes, 2 * REQUEST_BYTES);
  connection.cutOff('key');
  connection.cutOff('key');
  assert.deepEqual([connection.heldBytes, socket.destroyed], [0, true]);
});

test('requests run side by side only while all of them are safe, and none overtakes one that waits', async (t) => {
  withoutEndOfTurn(t);
  const { finish, served, exchange, connection } = held();
  const begin = (method: string, more?: object) => {
    const begun = exchange(method, more);
    connection.begin(begun);
    return begun;
  };
  const safe = [begin('GET'), begin('HEAD'), begin('OPTIONS'), begin('TRACE')];
  const create = begin('POST');
  const behind = [begin('GET'), begin('GET', { awaitsContinue: true }), begin('GET')];
  await settled();
  assert.deepEqual(served, safe);
  for (const end of finish.splice(0)) end();
  await settled();
  assert.deepEqual(served.slice(4), [create]);
  for (const [index, next] of behind.entries()) {
    finish.shift()?.();
    await settled();
    // The answer to the second may end the connection, so nothing runs beside it.
    assert.deepEqual(served.slice(5 + index), [next]);
  }
});

test('at most eight pipelined requests run side by side', async (t) => {
  withoutEndOfTurn(t);
  const { finish, served, exchange, connection } = held();
  for (let i = 0; i < 12; i += 1) connection.begin(exchange('GET'));
  await settled();
  assert.equal(served.length, 8);
  finish.shift()?.();
  await settled();
  assert.equal(served.length, 9);
});

test('a request that was answered is forgotten, at once or when its answer was sent', () => {
  const { connection, exchange, finish } = held();
  connection.begin(exchange('GET', { isSent: true }));
  assert.equal(connection.latest, undefined);
  const sending = exchange('GET');
  connection.begin(sending);
  assert.equal(connection.latest, sending);
  finish.shift()?.();
  assert.equal(connection.latest, undefined);
});

test('nothing behind the last request is served, neither beside it nor after it', async () => {
  const { connection, exchange, served, finish } = held();
  connection.begin(exchange('GET', { isLast: true }));
  connection.begin(exchange('GET'));
  await settled();
  assert.equal(served.length, 1);
  finish[0]?.();
  connection.begin(exchange('GET'));
  await settled();
  assert.equal(served.length, 1);
});

test('nothing behind input that cannot be parsed is served', async () => {
  const { connection, exchange, served } = held();
  connection.begin(exchange('GET'));
  connection.fail(new CatalogError('malformed_request', 'The request is not valid HTTP'));
  connection.begin(exchange('GET'));
  await settled();
  assert.equal(served.length, 1);
});

test('a request waits for a turn only behind another, and keeps its place when it does', async (t) => {
  withoutEndOfTurn(t);
  const { finish, served, exchange, connection } = held();
  const [first, second, third] = [exchange('POST'), exchange('POST'), exchange('GET')];
  connection.begin(first);
  assert.deepEqual(served, [first], 'the first of a connection waits for no turn');
  connection.begin(second);
  finish.shift()?.();
  connection.begin(third);
  assert.deepEqual(served, [first]);
  await settled();
  assert.deepEqual(served, [first, second]);
  finish.shift()?.();
  await settled();
  assert.deepEqual(served, [first, second, third]);
});

test('while a request waits nothing more is parsed or read, and what has come is held', async () => {
  const { finish, exchange, socket, connection, parsed } = held();
  for (let i = 0; i < 3; i += 1) connection.begin(exchange('POST'));
  socket.write('a'.repeat(100));
  socket.write('b'.repeat(100));
  await settled();
  assert.deepEqual([parsed.length, socket.readableLength], [1, 0], 'Node reads on until it is told to stop');
  assert.equal(connection.heldBytes, 3 * REQUEST_BYTES + 100 + 100);
  finish.shift()?.();
  await settled();
  assert.equal(parsed.length, 1, 'one still waits');
  finish.shift()?.();
  await settled();
  assert.equal(Buffer.concat(parsed).toString(), 'a'.repeat(100) + 'b'.repeat(100));
});

test('a large packet is parsed in slices until one of its requests waits, and the rest once none does', async () => {
  const { finish, exchange, socket, connection, parsed, on } = held();
  on.slice = () => {
    if (parsed.length === 2) for (let i = 0; i < 2; i += 1) connection.begin(exchange('POST'));
  };
  const sent = Buffer.from(Array.from({ length: 20_001 }, (_, i) => i % 251));
  socket.write(sent);
  await settled();
  assert.equal(parsed.length, 2);
  finish.shift()?.();
  while (parsed.length < 5) await nextTurn();
  assert.deepEqual(Buffer.concat(parsed), sent);
  assert.ok(
    parsed.every(({ length }) => length <= 4_096),
    parsed.map(({ length }) => length).join(),
  );
});

test('of the heads in a packet no more are parsed than run, besides one that waits', async (t) => {
  withoutEndOfTurn(t);
  const { finish, exchange, socket, connection, parsed, on } = held();
  on.slice = () => connection.begin(exchange('GET'));
  const head = 'GET / HTTP/1.1\r\n\r\n';
  socket.write(head.repeat(100));
  await settled();
  assert.deepEqual(parsed.map(String), new Array(9).fill(head));
  assert.equal(connection.heldBytes, 9 * REQUEST_BYTES + 100 * head.length);
  finish.shift()?.();
  await settled();
  assert.equal(parsed.length, 10);
});

test('slices that take long come one a turn', async (t) => {
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  const { socket, parsed, on } = held();
  on.slice = () => {
    nowMs += 3;
  };
  socket.write(Buffer.alloc(20_000));
  for (const count of [0, 1, 2, 3, 4, 5]) {
    assert.equal(parsed.length, count);
    await nextTurn();
  }
});

test('a connection takes at most 8 ms of a turn, however much it sends', async (t) => {
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  const { exchange, socket, connection, parsed, on, served } = held();
  const answer = () => {
    nowMs += 1;
    return false;
  };
  // As Node's parser takes for the smallest requests, on a slow machine.
  on.slice = () => {
    const requests = Math.floor((parsed.at(-1)?.length ?? 0) / SMALLEST_BYTES);
    for (let i = 0; i < requests; i += 1) {
      nowMs += 0.01;
      const onClose = (listener: () => void) => process.nextTick(listener);
      const begun = Object.assign(exchange('GET'), { onClose });
      connection.begin(Object.defineProperty(begun, 'isSent', { get: answer }));
    }
  };
  socket.write(Buffer.alloc(SLICES * SLICE_BYTES));
  const turnsMs: number[] = [];
  while (served.length < SLICES * Math.floor(SLICE_BYTES / SMALLEST_BYTES)) {
    const beforeMs = nowMs;
    await nextTurn();
    turnsMs.push(nowMs - beforeMs);
  }
  assert.ok(Math.max(...turnsMs) <= TURN_MS_MAX, `${Math.max(...turnsMs)} ms`);
});

test('the end of the input comes behind all that is held', async () => {
  const { finish, exchange, socket, connection, parsed } = held();
  let isEnded = false;
  socket.on('end', () => {
    isEnded = true;
  });
  for (let i = 0; i < 2; i += 1) connection.begin(exchange('POST'));
  socket.end(Buffer.alloc(10_000));
  await settled();
  assert.deepEqual([parsed.length, isEnded], [0, false]);
  finish.shift()?.();
  while (!isEnded) await nextTurn();
  assert.equal(Buffer.concat(parsed).length, 10_000);
});

test('no more of a body is parsed than its request reads', async () => {
  const { exchange, socket, connection, parsed, on } = held();
  const request = { method: 'POST', httpVersion: '1.1', headers: {}, readableLength: 0 };
  on.slice = () => {
    request.readableLength = 1;
  };
  connection.begin(exchange('POST', { request, isRead: false }));
  socket.write(Buffer.alloc(10_000));
  await settled();
  assert.deepEqual([parsed.length, socket.isPaused()], [1, true]);
  for (const count of [2, 3]) {
    request.readableLength = 0;
    // As Node does when a body is read.
    socket.resume();
    await settled();
    assert.equal(parsed.length, count);
  }
});

test('an unfinished head is held, as much as its lines take, until it is complete', async () => {
  const { exchange, socket, connection, on } = held();
  const lines = 'GET / HTTP/1.1\r\n';
  for (const [sent, heldBytes] of [
    [lines, lines.length - 1 + 90],
    ['a:\r\n'.repeat(100), lines.length - 1 + 90 + 100 * 93],
    ['\r\n\r\n', 0],
    [`${lines}\r\n${'a:\r\n'.repeat(10)}`, 930],
  ] as const) {
    socket.write(sent);
    await settled();
    assert.equal(connection.heldBytes, heldBytes, sent);
  }
  const headers = { 'content-length': '10' };
  on.slice = () => {
    const request = { httpVersion: '1.1', headers, readableLength: 0 };
    const begun = exchange('POST', { isSent: true, isRead: false, request });
    connection.begin(begun);
    Object.assign(begun, { isRead: true });
  };
  socket.write(`${lines}\r\n0123456789`);
  await settled();
  assert.equal(connection.heldBytes, 0, 'a body is no head');
});

test('what follows a malformed request is read, although a large body before it was refused', async () => {
  const { finish, exchange, socket, connection } = held();
  const request = {
    method: 'POST',
    httpVersion: '1.1',
    headers: { 'transfer-encoding': 'chunked' },
    readableLength: 0,
  };
  connection.begin(exchange('POST', { request, isRead: false, fail: () => {} }));
  connection.fail(new CatalogError('malformed_request', 'The request is not valid HTTP'));
  finish.shift()?.();
  let written = 0;
  socket.write(Buffer.alloc(MEBIBYTE), () => {
    written += MEBIBYTE;
  });
  await settled();
  assert.deepEqual([written, connection.heldBytes], [MEBIBYTE, 0]);
});

test('a request that is late is told of only while it is read', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const late = new CatalogError('request_timeout', 'Late');
  const { finish, exchange, socket, connection } = held();
  const failed: unknown[] = [];
  const fail = (error: unknown) => failed.push(error);
  const request = { method: 'POST', httpVersion: '1.1', headers: {}, readableLength: 0 };
  connection.begin(exchange('POST'));
  connection.begin(exchange('POST', { request, isRead: false, fail }));
  socket.write('x');
  await settled();
  connection.timeOut(late);
  t.mock.timers.tick(10_000);
  assert.deepEqual(failed, [], 'it may have arrived');
  finish.shift()?.();
  await settled();
  t.mock.timers.tick(999);
  assert.deepEqual(failed, []);
  t.mock.timers.tick(1);
  assert.deepEqual(failed, [late]);

  const complete = held();
  for (const isRead of [true, false]) complete.connection.begin(complete.exchange('POST', { isRead, fail }));
  complete.socket.write('x');
  await settled();
  complete.connection.timeOut(late);
  Object.assign(complete.connection.latest ?? {}, { isRead: true });
  t.mock.timers.tick(1_000);
  assert.equal(failed.length, 1, 'by then it was read');
  for (const finish of complete.finish) {
    finish();
    await settled();
  }
  t.mock.timers.tick(1_000);
  complete.connection.begin(complete.exchange('POST'));
  assert.equal(complete.served.length, 3, 'and the connection goes on');
});

test('a connection that is closed is not looked at again, and no look keeps the process alive', async (t) => {
  const set = t.mock.method(globalThis, 'setTimeout');
  const { exchange, socket, connection } = held();
  const request = { method: 'POST', httpVersion: '1.1', headers: {}, readableLength: 0 };
  for (const isRead of [true, false]) connection.begin(exchange('POST', { request, isRead, fail: assert.fail }));
  socket.write('x');
  await settled();
  const late = new CatalogError('request_timeout', 'Late');
  connection.timeOut(late);
  const timers = set.mock.calls.filter(({ arguments: [, ms] }) => ms === 1_000).map(({ result }) => result);
  assert.deepEqual(
    timers.map((timer) => timer?.hasRef()),
    [false],
  );
  const closed = once(socket, 'close');
  socket.destroy();
  await closed;
  connection.timeOut(late);
  assert.equal(set.mock.calls.filter(({ arguments: [, ms] }) => ms === 1_000).length, 1);
});

test('what comes over any connection is read into one buffer, and what has to wait is copied from it', async () => {
  const end = (socket: Socket) => void socket.destroy();
  const accepted: ReturnType<typeof held>[] = [];
  await using stack = new AsyncDisposableStack();
  const server = stack.use(createServer((socket) => accepted.push(held(stack.adopt(socket, end)))));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const peers: Socket[] = [];
  for (const text of ['one', 'two']) {
    const peer = connect(port, '127.0.0.1');
    peers.push(stack.adopt(peer, end));
    peer.write(text);
    await untilTrue(() => accepted.at(-1)?.parsed.length === 1 && accepted.length === peers.length);
  }
  const [first, second] = accepted;
  const buffers = new Set(accepted.map(({ parsed }) => parsed[0]?.buffer));
  assert.deepEqual([buffers.size, first?.parsed.toString(), second?.parsed.toString()], [1, 'two', 'two']);

  for (let i = 0; i < 2; i += 1) first?.connection.begin(first.exchange('POST'));
  const heldBytes = first?.connection.heldBytes ?? 0;
  const long = 'x'.repeat(2_000);
  peers[0]?.write(long);
  await untilTrue(() => first?.connection.heldBytes === heldBytes + long.length);
  peers[1]?.write('other');
  await untilEqual(() => second?.parsed.length, 2);
  first?.finish.shift()?.();
  await untilEqual(() => first?.parsed.length, 2);
  assert.equal(first?.parsed[1]?.toString(), long);
});
