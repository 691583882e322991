import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { manualClock } from '../../../test/kit/clock.ts';
import { recordedEvents } from '../../../test/kit/service.ts';
import { CatalogError } from '../../catalog/error.ts';
import { limitHeaders } from '../app.ts';
import { Connection } from './connection.ts';
import { Turns } from './event-loop-turns.ts';
import type { Exchange, Serve } from './exchange.ts';
import { Ledger } from './ledger.ts';

/** How a connection ends: what is said last, in which order, and what becomes of further input. */

const MEBIBYTE = 1024 * 1024;
const FAILURE = new CatalogError('malformed_request', 'The request is not valid HTTP');

/** A connection on a socket of the test's own, whose exchanges are sent when the test says so. */
function played(serve: Serve = () => {}) {
  const [written, sent]: [string[], (() => void)[]] = [[], []];
  const way = { taken: (done: () => void) => done() };
  const socket = new Duplex({
    allowHalfOpen: true,
    read: () => {},
    write: (chunk, _encoding, done) => {
      written.push(String(chunk));
      way.taken(done);
    },
  }) as unknown as Socket;
  const events = recordedEvents();
  const ledger = new Ledger();
  const parsed: Buffer[] = [];
  const on = { slice: () => {} };
  socket.on('data', (slice: NonSharedBuffer) => {
    parsed.push(slice);
    on.slice();
  });
  const served: Exchange[] = [];
  const connection = new Connection(socket, {
    time: manualClock(0),
    addLimitHeaders: limitHeaders(manualClock(0)),
    events,
    headers: ['X-Always', 'here'],
    turns: new Turns(),
    ledger,
    partBytes: MEBIBYTE,
    serve: (exchange) => {
      served.push(exchange);
      return serve(exchange);
    },
    newRequestId: () => 'new-id',
    isStopping: () => false,
  });
  const failures: CatalogError[] = [];
  const begin = (method: string, more: object = {}): Exchange => {
    const request = { method, httpVersion: '1.1', headers: {}, readableLength: 0 };
    const fields = { request, requestId: 'its-id', isRead: true, heldBytes: 0, keyId: undefined };
    const hold = (bytes = 0) => ledger.hold(exchange, 4_096 + bytes);
    const release = () => ledger.hold(exchange, 0);
    const fail = (failure: CatalogError) => failures.push(failure);
    const onClose = (listener: () => void) => sent.push(listener);
    const exchange = { ...fields, fail, onClose, hold, release, ...more } as unknown as Exchange;
    connection.begin(exchange);
    return exchange;
  };
  return { way, socket, written, sent, served, events, connection, failures, begin, parsed, on };
}

/** Lets everything happen that does not wait for another request. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await nextTurn();
}

test('input that cannot be parsed is answered once, with what every answer has, and told', async () => {
  const { connection, written, events, socket } = played();
  connection.fail(FAILURE);
  connection.fail(new CatalogError('request_timeout', 'Late'));
  await settled();
  const body = '{"code":"malformed_request","message":"The request is not valid HTTP","status":400}';
  const dateless = written.join('').replace(/^Date: .* GMT\r\n/m, '');
  assert.deepEqual(dateless.split('\r\n'), [
    'HTTP/1.1 400 Bad Request',
    'X-RateLimit-Limit: 0',
    'X-RateLimit-Remaining: 0',
    'X-RateLimit-Reset: 0',
    'X-Request-Id: new-id',
    'X-Always: here',
    'X-Content-Type-Options: nosniff',
    'Cache-Control: no-store',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    'Connection: close',
    '',
    body,
  ]);
  assert.equal(socket.writableEnded, true);
  const nothing = { keyId: undefined, plan: undefined, windows: undefined, traceId: undefined };
  const told = {
    listener: 'public',
    api: 'false',
    cause: undefined,
    requestId: 'new-id',
    method: '',
    route: 'unread',
    status: 400,
    code: FAILURE.code,
  };
  const durationMs = events.answered[0]?.durationMs;
  assert.deepEqual(events.answered, [{ ...told, ...nothing, durationMs }]);
});

test('it is answered after the requests before it, those that wait among them', async () => {
  const { connection, written, socket, begin, sent, served } = played();
  begin('POST');
  begin('POST');
  connection.fail(FAILURE);
  await settled();
  sent.shift()?.();
  await settled();
  assert.deepEqual([served.length, written, socket.writableEnded], [2, [], false]);
  sent.shift()?.();
  await settled();
  assert.deepEqual([written.length, socket.writableEnded], [1, true]);
});

test('the end that Node asks for waits until unparsed input was answered', () => {
  for (const [hasFailed, isLast, isEnded] of [
    [false, false, true],
    [false, true, true],
    [true, false, false],
    [true, true, true],
  ] as const) {
    const { connection, socket, begin } = played();
    begin('GET', { isLast });
    if (hasFailed) connection.fail(FAILURE);
    socket.destroySoon();
    assert.equal(socket.writableEnded, isEnded, `${hasFailed}, ${isLast}`);
  }
  const { connection, socket, written } = played();
  connection.fail(FAILURE);
  socket.destroySoon();
  assert.equal(written.length, 1);
});

test('input after the last answer goes to no parser, and ends the connection beyond 16 MiB', async () => {
  const { socket, parsed } = played();
  socket.destroySoon();
  for (let sent = 0; sent < 16; sent += 1) socket.push(Buffer.alloc(MEBIBYTE));
  await settled();
  assert.deepEqual([parsed.length, socket.destroyed], [0, false]);
  socket.push('x');
  await settled();
  assert.deepEqual([parsed.length, socket.destroyed], [0, true]);
});

test('the peer has two seconds to read the last answer, or until it ends as well', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const late = played();
  late.socket.destroySoon();
  t.mock.timers.tick(1_999);
  assert.equal(late.socket.destroyed, false);
  t.mock.timers.tick(1);
  assert.equal(late.socket.destroyed, true);

  for (const isEarly of [true, false]) {
    const { way, socket } = played();
    const taken = Promise.withResolvers<() => void>();
    way.taken = taken.resolve;
    socket.resume();
    const ended = once(socket, 'end');
    if (isEarly) socket.push(null);
    if (isEarly) await ended;
    socket.write('the last answer');
    socket.destroySoon();
    if (!isEarly) socket.push(null);
    await ended;
    await settled();
    assert.equal(socket.destroyed, false, 'the answer is still to be sent');
    (await taken.promise)();
    await once(socket, 'close');
  }
});

test('the time of the peer is no more than a timer that keeps nothing alive, and ends with the connection', async (t) => {
  const [set, cleared] = [t.mock.method(globalThis, 'setTimeout'), t.mock.method(globalThis, 'clearTimeout')];
  const { socket } = played();
  for (let times = 0; times < 2; times += 1) socket.destroySoon();
  const [timer, ...more] = set.mock.calls.filter(({ arguments: [, ms] }) => ms === 2_000).map(({ result }) => result);
  assert.deepEqual([timer?.hasRef(), more], [false, []]);
  const closed = once(socket, 'close');
  socket.destroy();
  await closed;
  assert.ok(cleared.mock.calls.some(({ arguments: [other] }) => other === timer));
});

test('a defect in serving ends the connection and is told, and a reset is nothing', async () => {
  const defect = new Error('a defect');
  for (const serve of [
    () => {
      throw defect;
    },
    () => Promise.reject(defect),
  ]) {
    const { socket, begin, events } = played(serve);
    const failed: unknown[][] = [];
    events.requestFailed = (...told) => failed.push(told);
    begin('GET');
    await settled();
    assert.deepEqual([failed, socket.destroyed], [[['its-id', defect]], true]);
  }
  const { socket } = played();
  const closed = new Promise<void>((resolve) => socket.once('close', resolve));
  socket.destroy(new Error('ECONNRESET'));
  await closed;
});

test('a request line is checked for other protocols on the first request, and for other versions', () => {
  const speaking = (protocol: string, httpVersion: string) => {
    const at = played();
    const say = (line: string, version: string) => {
      at.on.slice = () =>
        at.begin('GET', { isSent: true, request: { method: 'GET', url: '/x', httpVersion: version, headers: {} } });
      at.socket.push(Buffer.from(`GET /x ${line}\r\n\r\n`));
    };
    say(protocol, httpVersion);
    return { ...at, say };
  };
  const told = ({ failures }: { failures: CatalogError[] }) => failures.map(({ code, message }) => [code, message]);
  const refusal = ['malformed_request', 'The request line names another protocol; send HTTP/1.1'];
  const at = speaking('HTTP/1.1', '1.1');
  at.say('RTSP/1.1', '1.1');
  assert.deepEqual(told(at), [], 'by then it is HTTP');
  at.say('RTSP/1.0', '1.0');
  assert.deepEqual(told(at), [refusal]);
  assert.deepEqual(told(speaking('RTSP/1.1', '1.1')), [refusal]);
});

test('a connection whose peer does not read serves nothing more', async () => {
  const { begin, served, sent } = played();
  const first = begin('GET');
  // Both hold 4 KiB themselves.
  first.hold(MEBIBYTE - 2 * 4_096);
  begin('GET');
  await settled();
  assert.deepEqual(served, [first]);
  sent.shift()?.();
  await settled();
  assert.deepEqual([served.length, first.heldBytes], [2, 0]);
});
