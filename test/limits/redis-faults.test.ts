import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { ApiKey } from '../../src/catalog/api-key.ts';
import type { Limits } from '../../src/catalog/plan.ts';
import { ANSWER_MS } from '../../src/limits/redis/link.ts';
import { untilEqual, untilTrue } from '../kit/clock.ts';
import { freePort } from '../kit/deploy/port.ts';
import { redisBench } from '../kit/limits/redis-bench.ts';
import { serveProcess } from '../kit/process.ts';
import { openProxy } from '../kit/proxy.ts';
import { redisServerMissing, startRedis } from '../kit/redis-server.ts';
import { temporaryFolder } from '../kit/service.ts';

const INSTANCES = 2;
const LIMITS: Limits = { minute: 2_000, day: 1_000_000 };
const CALLERS = 10;
const SHARE = LIMITS.minute / INSTANCES;

const skip = redisServerMissing();

test('a slow Redis is given up at its deadline and used again once it is fast', { skip }, async (t) => {
  await using bench = await faultBench();
  const load = await bench.load();
  await load.some();
  bench.proxy.delay(200);
  await bench.until('degraded');
  await load.some();
  bench.proxy.resume();
  await bench.until('ok');
  await load.end(t);
});

test('a suspended Redis delays no request', { skip }, async (t) => {
  await using bench = await faultBench();
  const load = await bench.load();
  await load.some();
  for (let outage = 1; outage <= 3; outage += 1) {
    bench.server.freeze();
    await bench.until('degraded');
    await load.some();
    bench.server.thaw();
    await bench.until('ok');
  }
  await load.end(t);
});

test('a Redis that was killed and returns empty is seeded with the counts', { skip }, async (t) => {
  await using bench = await faultBench();
  const load = await bench.load();
  await load.some();
  await bench.server.kill();
  await bench.until('degraded');
  await load.some();
  await bench.server.start();
  await bench.until('ok');
  await load.end(t);
});

test('cut connections and a black hole delay no request beyond the deadline', {
  skip,
}, async (t) => {
  await using bench = await faultBench();
  const load = await bench.load();
  for (const fault of ['cut', 'swallow', 'cut'] as const) {
    await load.some();
    bench.proxy[fault]();
    if (fault === 'swallow') await bench.until('degraded');
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

test('after FLUSHALL counts are restored from storage', { skip }, async (t) => {
  await using bench = await faultBench();
  const load = await bench.load();
  const flushes = 5;
  for (let i = 0; i < flushes; i += 1) {
    await load.some();
    await bench.server.command('FLUSHALL');
    await bench.server.command('SCRIPT', 'FLUSH');
  }
  // Lost is only what an instance counted after the other's last look, unless an overloaded machine was an outage too.
  await load.end(t, () => (bench.lost.length === 0 ? flushes * CALLERS : INSTANCES * SHARE));
});

test('without Redis an instance starts and admits its share', { skip }, async () => {
  await using bench = await faultBench();
  const odd = { minute: 7, day: 1_000 };
  const [key, patient, ofDay] = [
    await bench.issue(odd),
    await bench.issue(odd),
    await bench.issue({ minute: 1_000, day: 5 }),
  ];
  await bench.server.kill();
  await using limiter = await bench.start();
  assert.equal(limiter.state, 'degraded');
  const admitted = async (each: ApiKey) => {
    const decisions = await Promise.all(Array.from({ length: 20 }, () => limiter.charge(each)));
    return decisions.filter(({ refusal }) => !refusal).length;
  };
  assert.deepEqual([await admitted(key), await admitted(patient)], [4, 4], 'half of 7, rounded up');
  assert.equal(await admitted(ofDay), 3, 'half of the day as well');
  await bench.server.start();
  await untilEqual(() => limiter.state, 'ok');
  assert.equal(await admitted(key), 7, 'what was admitted meanwhile was on top');
  await bench.server.kill();
  await untilEqual(() => limiter.state, 'degraded');
  assert.equal(await admitted(patient), 0, 'a share is given once a window, however many outages there are in it');
});

test('a key that was refused before the outage stays refused in it', { skip }, async () => {
  await using bench = await faultBench();
  const key = await bench.issue({ minute: 5, day: 1_000 });
  const [one] = bench.limiters;
  for (let i = 0; i < 6; i += 1) await one?.charge(key);
  await bench.server.kill();
  await bench.until('degraded');
  assert.equal((await one?.charge(key))?.refusal, 'rate_limit_exceeded');
  assert.equal((await one?.peek(key))?.remaining, 0);
});

test('each deadline that Redis missed is counted for the operator', { skip }, async () => {
  await using server = await startRedis();
  using folder = temporaryFolder();
  const operatorPort = await freePort();
  const env = { REDIS_URL: server.url, INSTANCES: '1', OPERATOR_PORT: `${operatorPort}` };
  await using _service = await serveProcess([], { cwd: folder.path, env });
  const deadlines = async () => {
    const text = await (await fetch(`http://127.0.0.1:${operatorPort}/metrics`)).text();
    return Number(/^pet_catalog_redis_deadlines_total (\d+)$/m.exec(text)?.[1]);
  };
  server.freeze();
  // On a busy machine Redis may have missed one before, and is asked again only once it answers.
  await untilTrue(async () => (await deadlines()) > 0, 'the deadline');
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
    await using bench = await faultBench(url);
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
async function faultBench(url?: string) {
  await using stack = new AsyncDisposableStack();
  const server = stack.use(await startRedis());
  const proxy = stack.use(await openProxy({ host: '127.0.0.1', port: server.port }));
  const own = `redis://127.0.0.1:${proxy.port}`;
  const bench = stack.use(await redisBench({ url: () => url ?? own, instances: INSTANCES, answerMs: ANSWER_MS }));
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
          const sum = admitted(key).length + (await bench.spend(key));
          const most = LIMITS.minute + moreMax();
          t.diagnostic(`${sum} admitted of ${most} at most`);
          assert.ok(sum >= LIMITS.minute && sum <= most, `${sum} were admitted`);
        },
      };
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
