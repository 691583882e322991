import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { recordedEvents } from '../../../test/kit/service.ts';
import { Connection } from './connection.ts';
import type { Exchange } from './exchange.ts';
import { Turns } from './turns.ts';
import { UnsentBytes } from './unsent-bytes.ts';

const MEBIBYTE = 1024 * 1024;

/** A connection on a socket of the test's own, whose exchanges end when the test says so. */
function held() {
  const finish: (() => void)[] = [];
  const exchange = (method: string) => {
    const fields = { request: { method, httpVersion: '1.1', socket: {} }, isRead: true, unsentBytes: 0, keyId: 'key' };
    return { ...fields, onClose: (listener: () => void) => finish.push(listener) } as unknown as Exchange;
  };
  const socket = new PassThrough() as unknown as Socket;
  const unsent = new UnsentBytes();
  const connection = new Connection(socket, {
    clock: () => ({ unix: 0, steady: 0 }),
    events: recordedEvents(),
    headers: [],
    turns: new Turns(),
    unsent,
    serve: () => {},
    newRequestId: () => 'id',
    isStopping: () => false,
  });
  return { finish, exchange, socket, unsent, connection };
}

test('a connection that closes holds none of its unread answers, sent in part or not at all', async () => {
  const { exchange, socket, unsent, connection } = held();
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
});

test('a connection with a hundred requests waiting is not read from until they are fewer', () => {
  const { finish, exchange, socket, connection } = held();
  for (let i = 0; i < 100; i += 1) connection.begin(exchange('POST'));
  assert.deepEqual([finish.length, socket.isPaused()], [1, false], 'one runs, and 99 wait');
  connection.begin(exchange('POST'));
  assert.equal(socket.isPaused(), true);
  finish.shift()?.();
  assert.deepEqual([finish.length, socket.isPaused()], [1, false]);
});
