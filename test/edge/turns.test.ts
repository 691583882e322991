import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { openListener } from '../../src/http/transport/listener.ts';
import { manualClock } from '../kit/clock.ts';
import { get, HOST, request } from '../kit/edge/corpus.ts';
import { openRaw } from '../kit/edge/raw.ts';
import { recordedEvents } from '../kit/service.ts';

const PIPELINED = 400;
/** Several turns of all connections; serving a whole packet at once takes three times as many. */
const SERVED_BEFORE_MAX = 150;

/** Longer than the time for one turn. */
const SLOW_MS = 3;
const SLOW_PIPELINED = 30;
/** Once through both packets' first requests and a few turns; by count alone, a turn would serve 16. */
const SLOW_SERVED_BEFORE_MAX = 12;

test('a pipelining client takes turns with others, and every request is answered in order', async () => {
  await using listener = await pathsListener(() => {});
  const { paths, url } = listener;
  await using stack = new AsyncDisposableStack();
  const other = stack.use(await openRaw(url));
  const greedy = [stack.use(await openRaw(url)), stack.use(await openRaw(url))];
  const packet = Array.from({ length: PIPELINED }, (_, i) => get(`X-Request-Id: n${i}`)).join('');
  for (const raw of greedy) raw.send(packet);
  while (paths.length === 0) await nextTurn();
  await other.send(request('GET /other HTTP/1.1', HOST));
  assert.equal((await other.answer()).status, 200);
  const served = paths.indexOf('/other');
  assert.ok(served < SERVED_BEFORE_MAX, `${served} requests were served before`);

  for (const raw of greedy) {
    for (let i = 0; i < PIPELINED; i += 1) assert.equal((await raw.answer()).headers.get('x-request-id'), `n${i}`);
  }
  assert.equal(paths.length, 2 * PIPELINED + 1);
});

for (const [manner, pause] of [
  ['at once', undefined],
  ['after a promise', () => Promise.resolve()],
] as const) {
  test(`requests that take long, ${manner}, are fewer in one turn`, async () => {
    const spin = () => {
      for (const endMs = performance.now() + SLOW_MS; performance.now() < endMs; );
    };
    await using listener = await pathsListener(() => (pause ? pause().then(spin) : spin()));
    const { paths, url } = listener;
    await using other = await openRaw(url);
    await using greedy = await openRaw(url);
    await greedy.send(get().repeat(SLOW_PIPELINED));
    while (paths.length === 0) await nextTurn();
    await other.send(request('GET /other HTTP/1.1', HOST));
    assert.equal((await other.answer()).status, 200);
    const served = paths.indexOf('/other');
    assert.ok(served < SLOW_SERVED_BEFORE_MAX, `${served} requests were served before`);
  });
}

/** Notes the order in which requests are served. */
async function pathsListener(work: () => Promise<void> | void) {
  const paths: string[] = [];
  const context = { time: manualClock(), events: recordedEvents() };
  const listener = await openListener(
    (exchange) => {
      paths.push(exchange.request.url ?? '');
      const answer = () => exchange.answer({ status: 200, body: 'x' });
      const working = work();
      return working ? working.then(answer) : answer();
    },
    context,
    { host: '127.0.0.1', port: 0 },
  );
  const url = `http://127.0.0.1:${listener.port}/v1`;
  return { paths, url, [Symbol.asyncDispose]: () => listener.stop(0) };
}
