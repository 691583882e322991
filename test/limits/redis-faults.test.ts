import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Limits } from '../../src/catalog/plan.ts';
import { ANSWER_MS } from '../../src/limits/redis/link.ts';
import { untilTrue } from '../kit/clock.ts';
import { redisBench } from '../kit/limits/redis-bench.ts';
import { openProxy } from '../kit/proxy.ts';
import { redisServerMissing, startRedis } from '../kit/redis-server.ts';

const INSTANCES = 2;
const LIMITS: Limits = { minute: 2_000, day: 1_000_000 };
const CALLERS = 10;
const SHARE = LIMITS.minute / INSTANCES;

const skip = redisServerMissing();

test('a slow Redis, cut connections and a black hole delay no request beyond the deadline', { skip }, async (t) => {
  await using bench = await faultBench();
  const load = await bench.load();
  for (const fault of ['delay', 'cut', 'swallow', 'cut'] as const) {
    await load.some();
    bench.proxy[fault](200);
    if (fault !== 'cut') await bench.until('degraded');
    await load.some();
    bench.proxy.resume();
    await bench.until('ok');
  }
  await load.end(t);
});

test('a Redis that cannot write is treated as down', { skip }, async (t) => {
  await using bench = await faultBench();
  const load = await bench.load();
  await load.some();
  await bench.server.command('CONFIG', 'SET', 'min-replicas-to-write', '1');
  await bench.until('degraded');
  const [lost, failures] = [bench.lost.length, bench.failures()];
  await untilTrue(() => bench.failures() >= failures + 2 * INSTANCES, 'reconnects');
  assert.deepEqual(bench.states(), ['degraded', 'degraded']);
  assert.equal(bench.lost.length, lost, 'a connection alone is no recovery');
  await bench.server.command('CONFIG', 'SET', 'min-replicas-to-write', '0');
  await bench.until('ok');
  await load.end(t);
});

test('a password opens Redis, and no failure shows it', { skip }, async () => {
  await using server = await startRedis('--requirepass', 'open sesame/?');
  const lost: unknown[] = [];
  for (const [url, state] of [
    [`redis://default:${encodeURIComponent('open sesame/?')}@127.0.0.1:${server.port}/1`, 'ok'],
    [`redis://:s3cret@127.0.0.1:${server.port}`, 'degraded'],
    ['redis://user:s3cret@127.0.0.1:1', 'degraded'],
    ['rediss://user:s3cret@127.0.0.1:1', 'degraded'],
    [`rediss://user:s3cret@127.0.0.1:${server.port}`, 'degraded'],
    ['redis://user:s3cret@[', 'degraded'],
  ] as const) {
    await using bench = await redisBench({ url: () => url, instances: INSTANCES, answerMs: ANSWER_MS });
    assert.deepEqual(bench.states(), [state, state], url);
    lost.push(...bench.lost);
  }
  assert.equal(lost.length, 5 * INSTANCES);
  for (const error of lost) {
    assert.ok(error instanceof Error && error.message, 'it says what went wrong');
    assert.doesNotMatch(`${error.stack} ${JSON.stringify(error, Object.getOwnPropertyNames(error))}`, /s3cret|sesame/);
  }
});

/** Two instances behind a proxy before a Redis of their own. */
async function faultBench() {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startRedis());
  const proxy = stack.use(await openProxy({ host: '127.0.0.1', port: server.port }));
  const url = () => `redis://127.0.0.1:${proxy.port}`;
  const bench = stack.use(await redisBench({ url, instances: INSTANCES, answerMs: ANSWER_MS }));
  const running = stack.move();
  return {
    ...{ ...bench, server, proxy },
    /** Calls all instances with one key; `end` holds what was admitted against so many more than its limit at most. */
    async load() {
      const key = await bench.issue(LIMITS);
      const { some, admitted, end } = bench.load([key], { paceMs: 20, callers: CALLERS / INSTANCES });
      return {
        some,
        async end(t: TestContext, moreMax = () => INSTANCES * SHARE) {
          await end();
          // What the key has left, in full: there is but one window, as the clock stands still.
          const sum = admitted(key) + (await bench.spend(key));
          const most = LIMITS.minute + moreMax();
          t.diagnostic(`${sum} admitted of ${most} at most`);
          assert.ok(sum >= LIMITS.minute && sum <= most, `${sum} were admitted`);
        },
      };
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
