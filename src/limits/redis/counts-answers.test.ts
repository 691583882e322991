import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Dice } from '../../../test/simulator/dice.ts';
import { SimulatedRedis } from '../../../test/simulator/redis.ts';
import { VirtualTime } from '../../../test/simulator/virtual-time.ts';
import { RedisCounts } from './counts.ts';

/** What is sent to Redis and how its answers are read, on a Redis and a way to it that the test plays. */

const NOON = Date.UTC(2026, 0, 1, 12) / 1_000;
const LIMITS = { minute: 10, day: 20 };
const KEY = 'key_1';
const EMPTY = { counts: undefined, isComplete: true };

/** The server's clock is an hour ahead of that of the process. */
async function bench(redisTime: 'its own' | 'ours' = 'ours') {
  const time = new VirtualTime(NOON * 1_000);
  const clock = () => {
    const unix = Math.floor(time.nowMs / 1_000) + way.turnedSeconds;
    return { unix, steady: unix };
  };
  const own = { ...time.process(), now: clock };
  const redis = new SimulatedRedis({ time, dice: new Dice(1), skewMs: 3_600_000, onSet: () => {} });
  const way = {
    toMs: 0,
    backMs: 0,
    isSuspended: false,
    /** How far the clock of the process was turned. */
    turnedSeconds: 0,
  };
  const noted = { steps: 0, counted: [] as number[] };
  const wait = async (ms: number) => {
    if (way.isSuspended) time.leap(ms);
    else if (ms > 0) await time.wait(ms);
  };
  let onReady: (error?: unknown) => void = () => {};
  const counts = new RedisCounts({
    url: 'redis://played',
    keyPrefix: 'p',
    time: own,
    answerMs: 60_000,
    ...(redisTime === 'ours' && { serverTime: own }),
    events: {
      requestCounted: (ms) => noted.counted.push(ms),
      redisFailed: () => {},
      redisLate: () => {},
      limiterDegraded: () => {},
      limiterRecovered: () => {},
    },
    onClockStep: () => {
      noted.steps += 1;
    },
    onCluster: () => {},
    newClient: () => ({
      on(event: string, listener: (error?: unknown) => void) {
        if (event === 'ready') onReady = listener;
      },
      isReady: true,
      connect: async () => onReady(),
      sendCommand: async (command) => {
        await wait(way.toMs);
        const reply = redis.run(command);
        await wait(way.backMs);
        return reply;
      },
      destroy: () => {},
    }),
  });
  await counts.connect();
  const settle = async <T>(work: Promise<T>): Promise<T> => {
    const done = work.then(() => {
      isDone = true;
    });
    let isDone = false;
    while (!isDone) await time.pass(1);
    await done;
    return work;
  };
  return { time, redis, way, noted, counts, settle };
}

type Bench = Awaited<ReturnType<typeof bench>>;

/** What Redis has of the key, without a change. */
async function read({ counts }: Bench) {
  const found = await counts.count(KEY, LIMITS, { cost: 0 });
  assert.ok(typeof found === 'object');
  return found;
}

test('the time is that of the server, within what its answers took', async () => {
  const at = await bench('its own');
  const { counts, way, noted, settle } = at;
  const at12 = { unix: NOON, steady: NOON };
  assert.deepEqual(counts.now(), { earliest: at12, latest: at12 }, 'before the first answer that of the process');
  await at.time.pass(400);
  Object.assign(way, { toMs: 700, backMs: 2_000 });
  const found = await settle(Promise.resolve(counts.count(KEY, LIMITS, { cost: 0, remembered: EMPTY })));
  assert.ok(typeof found === 'object');
  const server = NOON + 3_600;
  assert.deepEqual(found.now, { unix: server + 1, steady: server + 1 }, 'read 1.1 s after noon');
  assert.deepEqual(noted.counted, [2_700]);
  // It is 3.1 s after noon, and the answer may have taken all of its 2.7 s on one way.
  assert.deepEqual(counts.now(), {
    earliest: { unix: server + 1, steady: server + 1 },
    latest: { unix: server + 3, steady: server + 3 },
  });
  await at.time.pass(10_000);
  assert.deepEqual(
    [counts.now().earliest.unix, counts.now().latest.unix],
    [server + 11, server + 13],
    'it goes on between answers',
  );
});

test('a clock of the server that was set by more than a second is noticed, either way', async () => {
  for (const [stepMs, steps] of [
    [1_000, 0],
    [-1_000, 0],
    [1_001, 1],
    [-1_001, 1],
  ] as const) {
    const at = await bench('its own');
    await at.counts.count(KEY, LIMITS, { cost: 0, remembered: EMPTY });
    at.redis.step(stepMs);
    await read(at);
    assert.equal(at.noted.steps, steps, `${stepMs} ms`);
    await read(at);
    assert.equal(at.noted.steps, steps, 'it is noticed once');
  }
  const unsure = await bench('its own');
  unsure.way.backMs = 500;
  await unsure.settle(Promise.resolve(unsure.counts.count(KEY, LIMITS, { cost: 0, remembered: EMPTY })));
  unsure.way.backMs = 0;
  unsure.redis.step(-1_200);
  await read(unsure);
  assert.equal(unsure.noted.steps, 0, 'half a second of it may be that of an answer');
  const at = await bench();
  await at.counts.count(KEY, LIMITS, { cost: 0, remembered: EMPTY });
  at.way.turnedSeconds = 60;
  await read(at);
  assert.equal(at.noted.steps, 0, 'a clock in its place may be turned');
});

test('an answer that took five seconds says nothing of the clock, unless it is the first', async () => {
  for (const [tookMs, earliest] of [
    [5_000, 0],
    [5_001, 5],
  ] as const) {
    const at = await bench('its own');
    await at.counts.count(KEY, LIMITS, { cost: 0, remembered: EMPTY });
    Object.assign(at.way, { backMs: tookMs, isSuspended: true });
    await read(at);
    assert.equal(at.counts.now().earliest.unix - NOON - 3_600, earliest, `${tookMs} ms`);
    const first = await bench('its own');
    Object.assign(first.way, { backMs: tookMs, isSuspended: true });
    await first.counts.count(KEY, LIMITS, { cost: 0, remembered: EMPTY });
    assert.equal(first.counts.now().earliest.unix, NOON + 3_600);
  }
});
