import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { recordedEvents } from '../../../test/kit/service.ts';
import { CatalogError } from '../../catalog/error.ts';
import { Connection } from './connection.ts';
import type { Exchange } from './exchange.ts';
import { Turns } from './turns.ts';
import { UnsentBytes } from './unsent-bytes.ts';

const MEBIBYTE = 1024 * 1024;

/** A connection on a socket of the test's own, whose exchanges end when the test says so. */
function held() {
  const finish: (() => void)[] = [];
  const served: Exchange[] = [];
  const exchange = (method: string, more: object = {}) => {
    const request = { method, httpVersion: '1.1', socket: {}, headers: {} };
    const fields = { request, isRead: true, unsentBytes: 0, holder: 'key' };
    return { ...fields, ...more, onClose: (listener: () => void) => finish.push(listener) } as unknown as Exchange;
  };
  const socket = new PassThrough() as unknown as Socket;
  const unsent = new UnsentBytes();
  const connection = new Connection(socket, {
    clock: () => ({ unix: 0, steady: 0 }),
    events: recordedEvents(),
    headers: [],
    turns: new Turns(),
    unsent,
    serve: (exchange) => {
      served.push(exchange);
    },
    newRequestId: () => 'id',
    isStopping: () => false,
  });
  return { finish, served, exchange, socket, unsent, connection };
}

/** A turn then ends by the number of requests alone, however slow the machine is. */
function withoutEndOfTurn(t: TestContext): void {
  t.mock.method(performance, 'now', () => 0);
}

/** Lets everything be served that does not wait for another request. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await nextTurn();
}

test('a connection that closes holds none of its unread answers, sent in part or not at all', async () => {
  const { served, exchange, socket, unsent, connection } = held();
  const exchanges = [exchange('GET'), exchange('GET'), exchange('GET')];
  for (const each of exchanges) connection.begin(each);
  for (const each of exchanges) unsent.add(each, 3 * MEBIBYTE);
  assert.equal(unsent.isFull('key'), true);
  const closed = once(socket, 'close');
  socket.destroy();
  await closed;
  assert.equal(unsent.isFull('key'), false);
  assert.deepEqual(
    exchanges.map(({ unsentBytes }) => unsentBytes),
    [0, 0, 0],
  );
  const late = exchange('POST');
  connection.begin(late);
  await settled();
  assert.ok(!served.includes(late), 'nor does it serve what was still in its packet');
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

test('a connection with a hundred requests waiting is not read from until none waits', async () => {
  const { finish, exchange, socket, connection } = held();
  socket.resume();
  for (let i = 0; i < 100; i += 1) connection.begin(exchange('POST'));
  assert.deepEqual([finish.length, socket.isPaused()], [1, false], 'one runs, and 99 wait');
  connection.begin(exchange('POST'));
  assert.equal(socket.isPaused(), true);
  // As Node does for a request whose body was not read.
  const resumed = once(socket, 'resume');
  socket.resume();
  await resumed;
  assert.equal(socket.isPaused(), true);
  for (let left = 100; left > 0; left -= 1) {
    assert.equal(socket.isPaused(), true, `${left} wait`);
    while (finish.length === 0) await nextTurn();
    finish.shift()?.();
  }
  while (socket.isPaused()) await nextTurn();
  assert.equal(finish.length, 1);
});

test('a connection that has filled up is parsed in slices from then on, one a turn', async () => {
  const { finish, exchange, socket, connection } = held();
  const parsed: Buffer[] = [];
  socket.on('data', (slice: NonSharedBuffer) => parsed.push(slice));
  for (let i = 0; i < 101; i += 1) connection.begin(exchange('POST'));
  while (finish.length > 0 || socket.isPaused()) {
    finish.shift()?.();
    await nextTurn();
  }
  const sent = Buffer.from(Array.from({ length: 10_001 }, (_, i) => i % 251));
  socket.write(sent.subarray(0, 10_000));
  socket.end(sent.subarray(10_000));
  const slices: number[] = [];
  while (!socket.readableEnded) {
    const before = parsed.length;
    await nextTurn();
    slices.push(parsed.length - before);
  }
  assert.deepEqual(Buffer.concat(parsed), sent);
  assert.ok(
    parsed.every(({ length }) => length <= 4_096),
    parsed.map(({ length }) => length).join(),
  );
  assert.ok(Math.max(...slices) <= 2, `slices by turn: ${slices}`);
});

for (const [what, headers, isSliced] of [
  ['a large body', { 'content-length': '16385' }, true],
  ['a body of unknown length', { 'transfer-encoding': 'chunked' }, true],
  ['a small body', { 'content-length': '16384' }, false],
  ['no body', {}, false],
] as const) {
  for (const isSent of [true, false]) {
    const when = isSent ? 'at once' : 'later';
    test(`after a refusal ${when}, ${what} is ${isSliced ? '' : 'not '}read in slices`, async () => {
      const { finish, exchange, socket, connection } = held();
      const parsed: Buffer[] = [];
      socket.on('data', (slice: NonSharedBuffer) => parsed.push(slice));
      const request = { method: 'POST', httpVersion: '1.1', socket: {}, headers };
      connection.begin(exchange('POST', { request, isRead: false, isSent }));
      finish.shift()?.();
      while (socket.isPaused()) await nextTurn();
      socket.end(Buffer.alloc(10_000));
      while (!socket.readableEnded) await nextTurn();
      assert.equal(Buffer.concat(parsed).length, 10_000);
      assert.equal(parsed.length, isSliced ? 3 : 1);
    });
  }
}

test('what follows a malformed request is read, although a large body before it was refused', async () => {
  const { finish, exchange, socket, connection } = held();
  socket.resume();
  const request = { method: 'POST', httpVersion: '1.1', socket: {}, headers: { 'transfer-encoding': 'chunked' } };
  connection.begin(exchange('POST', { request, isRead: false, fail: () => {} }));
  connection.fail(new CatalogError('malformed_request', 'The request is not valid HTTP'));
  finish.shift()?.();
  await settled();
  assert.equal(socket.isPaused(), false);
});

test('in one turn of the event loop one paused connection is read from again', async () => {
  const turns = new Turns();
  let resumed = 0;
  const connect = () => {
    const ask = () => {
      if (turns.takeRead(ask)) resumed += 1;
    };
    ask();
  };
  for (let i = 0; i < 3; i += 1) connect();
  for (const expected of [1, 2, 3, 3]) {
    await nextTurn();
    assert.equal(resumed, expected);
  }
});

test('waiting requests count as memory of their connection until they are served', async () => {
  const { finish, exchange, connection } = held();
  const exchanges = Array.from({ length: 5 }, () => exchange('POST'));
  for (const each of exchanges) connection.begin(each);
  const waiting = () => exchanges.filter(({ unsentBytes }) => unsentBytes > 2_000).length;
  assert.equal(waiting(), 4);
  finish.shift()?.();
  while (finish.length === 0) await nextTurn();
  assert.equal(waiting(), 3);
});
