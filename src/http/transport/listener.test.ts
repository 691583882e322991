import assert from 'node:assert/strict';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { connect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { manualClock } from '../../../test/kit/clock.ts';
import { HOST, request } from '../../../test/kit/edge/corpus.ts';
import { openRaw } from '../../../test/kit/edge/raw.ts';
import { recordedEvents } from '../../../test/kit/events.ts';
import { type Exchange, requestIds } from './exchange.ts';
import { openListener } from './listener.ts';

/** How a port is opened and closed, and what is said of input that is no request. */

const GET = request('GET / HTTP/1.1', HOST);
const LARGE = 'x'.repeat(32 * 1024 * 1024);
const GRACE_MS = 7_000;

test('no command takes the id of a request for an option', () => {
  for (let started = 0; started < 1_000; started += 1) assert.match(requestIds()(), /^[A-Za-z0-9_][\w-]*\.1$/);
});

/** A listener with one answer to all, and its connections. */
async function opened(serve: (exchange: Exchange) => void = (exchange) => exchange.answer({ status: 200, body: 'x' })) {
  const exchanges: Exchange[] = [];
  const listener = await openListener(
    (exchange) => {
      exchanges.push(exchange);
      serve(exchange);
    },
    { time: manualClock(), events: recordedEvents() },
    { host: '127.0.0.1', port: 0 },
  );
  return {
    listener,
    exchanges,
    open: () => openRaw(`http://127.0.0.1:${listener.port}`),
    [Symbol.asyncDispose]: () => listener.stop(0),
  };
}

/** Turns the time of a stop by hand: its waits, and the end of its grace. */
function turnedTime(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  syncBuiltinESMExports();
  const [grace, timeout] = [new AbortController(), AbortSignal.timeout];
  t.mock.method(AbortSignal, 'timeout', (ms: number) => (ms === GRACE_MS ? grace.signal : timeout(ms)));
  return {
    endGrace: () => grace.abort(),
    async pass(ms: number): Promise<void> {
      t.mock.timers.tick(ms);
      await settled();
    },
    [Symbol.dispose](): void {
      t.mock.timers.reset();
      syncBuiltinESMExports();
    },
  };
}

/** Lets everything happen that waits for no time. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await nextTurn();
}

test('a connection whose answer was on its way is closed within 50 ms of its end, and one that hangs with the grace', async (t) => {
  await using at = await opened((exchange) => {
    if (exchange.request.url === '/') exchange.answer({ status: 200, body: LARGE });
  });
  using time = turnedTime(t);
  const [{ listener, exchanges, open }, { pass, endGrace }] = [at, time];
  await using slow = await open();
  await using hanging = await open();
  slow.pause();
  await slow.send(GET);
  await hanging.send(request('GET /hangs HTTP/1.1', HOST));
  while (exchanges.length < 2) await nextTurn();
  let isStopped = false;
  const stopped = listener.stop(GRACE_MS).then(() => {
    isStopped = true;
  });
  await settled();
  await pass(500);
  slow.resume();
  assert.equal((await slow.answer()).body.length, LARGE.length);
  await settled();
  await pass(49);
  assert.equal(slow.isEnded, false);
  await pass(1);
  assert.deepEqual(await slow.answersUntilClosed(), []);
  await pass(3_600_000);
  assert.deepEqual([hanging.isEnded, isStopped], [false, false]);
  endGrace();
  await pass(50);
  assert.deepEqual(await hanging.answersUntilClosed(), []);
  await pass(50);
  await stopped;
});

test('what connected before the stop is answered, though it was not accepted yet', async () => {
  for (const before of [nextTurn, ioEvent]) {
    await using at = await opened();
    const { listener } = at;
    await before();
    const socket = connect(listener.port, '127.0.0.1');
    socket.end(request('GET / HTTP/1.1', HOST));
    // The system connects in the next tick, and the listener accepts in the next turn.
    await new Promise<void>((resolve) => process.nextTick(resolve));
    const stopped = listener.stop(GRACE_MS);
    const [answer] = await once(socket, 'data');
    assert.match(String(answer), /^HTTP\/1\.1 200 OK\r\n/);
    socket.destroy();
    await stopped;
  }
});

/** Resolves within a turn after the system was asked for connections. */
async function ioEvent(): Promise<void> {
  await stat(import.meta.dirname);
}
