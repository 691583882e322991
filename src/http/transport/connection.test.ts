import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { recordedEvents } from '../../../test/kit/service.ts';
import { Connection } from './connection.ts';
import type { Exchange } from './exchange.ts';
import { Turns } from './turns.ts';
import { UnsentBytes } from './unsent-bytes.ts';

test('a connection with a hundred requests waiting is not read from until they are fewer', () => {
  const finish: (() => void)[] = [];
  const exchange = () => {
    const create = { request: { method: 'POST', httpVersion: '1.1', socket: {} }, isRead: true, unsentBytes: 0 };
    return { ...create, onClose: (listener: () => void) => finish.push(listener) } as unknown as Exchange;
  };
  const socket = new PassThrough() as unknown as Socket;
  const connection = new Connection(socket, {
    clock: () => ({ unix: 0, steady: 0 }),
    events: recordedEvents(),
    headers: [],
    turns: new Turns(),
    unsent: new UnsentBytes(),
    serve: () => {},
    newRequestId: () => 'id',
    isStopping: () => false,
  });

  for (let i = 0; i < 100; i += 1) connection.begin(exchange());
  assert.deepEqual([finish.length, socket.isPaused()], [1, false], 'one runs, and 99 wait');
  connection.begin(exchange());
  assert.equal(socket.isPaused(), true);
  finish.shift()?.();
  assert.deepEqual([finish.length, socket.isPaused()], [1, false]);
});
