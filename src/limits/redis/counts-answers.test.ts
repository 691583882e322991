import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Dice } from '../../../test/simulator/dice.ts';
import { SimulatedRedis } from '../../../test/simulator/redis.ts';
import { VirtualTime } from '../../../test/simulator/virtual-time.ts';
import { UNUSED } from '../window.ts';
import { RedisCounts } from './counts.ts';

/** What is sent to Redis and how its answers are read, on a Redis and a way to it that the test plays. */

const NOON = Date.UTC(2026, 0, 1, 12) / 1_000;
const DAY = NOON / 86_400 - 0.5;
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
  const sent: (readonly string[])[] = [];
  const way = {
    toMs: 0,
    backMs: 0,
    isSuspended: false,
    isLost: false,
    /** How far the clock of the process was turned. */
    turnedSeconds: 0,
    /** Replaces the answer to a script. */
    reply: undefined as unknown,
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
    onNewServer: () => {},
    newClient: () => ({
      on(event: string, listener: (error?: unknown) => void) {
        if (event === 'ready') onReady = listener;
      },
      isReady: true,
      connect: async () => onReady(),
      sendCommand: async (command) => {
        if (way.isLost) throw new Error('lost');
        await wait(way.toMs);
        const [name, , , key] = command;
        if (name === 'EVALSHA' && !key?.includes('beat')) sent.push(command.slice(2));
        const reply = redis.run(command);
        await wait(way.backMs);
        return way.reply ?? reply;
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
  return { time, redis, way, sent, noted, counts, settle };
}

type Bench = Awaited<ReturnType<typeof bench>>;

/** What Redis has of the key, without a change. */
async function read({ counts }: Bench) {
  const found = await counts.count(KEY, LIMITS, { cost: 0 });
  assert.ok(typeof found === 'object');
  return found;
}

test('a request is counted, and the state from before it is returned', async () => {
  const at = await bench();
  const now = { unix: NOON, steady: NOON };
  assert.equal(await at.counts.count(KEY, LIMITS, { cost: 1 }), 'missing');
  const unused = { now, state: UNUSED };
  assert.deepEqual(await at.counts.count(KEY, LIMITS, { cost: 1, remembered: EMPTY }), unused);
  const state = { ...UNUSED, minuteEnds: NOON + 60, minuteUsed: 1, day: DAY, dayUsed: 1 };
  assert.deepEqual(await at.counts.count(KEY, LIMITS, { cost: 0 }), { now, state });
  assert.deepEqual(await at.counts.count(KEY, LIMITS, { cost: 1 }), { now, state });
  assert.equal((await read(at)).state.minuteUsed, 2);
  for (const limits of [
    { minute: 2, day: 20 },
    { minute: 10, day: 2 },
  ]) {
    await at.counts.count(KEY, limits, { cost: 1 });
    assert.equal((await read(at)).state.minuteUsed, 2, 'without room nothing is counted');
  }
  assert.equal(at.noted.counted.length, 9);
  const both = () => Promise.all([1, 2].map(() => at.counts.count(KEY, LIMITS, { cost: 1 })));
  await both();
  assert.equal(at.noted.counted.length, 11, 'each request is told, also of those in one step');
  at.way.isLost = true;
  assert.deepEqual(await both(), [undefined, undefined]);
});

test('requests of a key in one turn are counted in one step, each on what the one before it left', async () => {
  const at = await bench();
  const limits = { minute: 3, day: 20 };
  await at.counts.count(KEY, limits, { cost: 0, remembered: EMPTY });
  const used = async (...asked: readonly (readonly [keyId: string, cost: 0 | 1, limits?: typeof LIMITS])[]) => {
    at.sent.length = 0;
    const counted = asked.map(([keyId, cost, own = limits]) => at.counts.count(keyId, own, { cost }));
    const found = await Promise.all(counted);
    assert.deepEqual(
      at.sent.map(([keys]) => keys),
      ['4'],
    );
    return found.map((each) => (typeof each === 'object' ? [each.state.minuteUsed, each.state.dayUsed] : each));
  };
  assert.deepEqual(
    await used([KEY, 1], ['another', 1], [KEY, 1], [KEY, 0], [KEY, 1], [KEY, 1], [KEY, 1], ['another', 1]),
    [[0, 0], 'missing', [1, 1], [2, 2], [2, 2], [3, 3], [3, 3], 'missing'],
  );
  assert.equal((await read(at)).state.minuteUsed, 3, 'without room nothing is counted');
  const own = { minute: 10, day: 4 };
  const other = { minute: 10, day: 20 };
  assert.deepEqual(await used([KEY, 1, own], [KEY, 1, own], [KEY, 1, other], ['another', 1], [KEY, 0]), [
    [3, 3],
    [4, 4],
    [4, 4],
    'missing',
    [5, 5],
  ]);
  assert.equal((await read(at)).state.dayUsed, 5);
});

test('what is remembered is merged, and begins a value only if it is complete', async () => {
  const at = await bench();
  const counts = { keyId: KEY, minuteEnds: NOON + 30, minuteUsed: 3, day: DAY, dayUsed: 7 };
  const remembered = { counts, isComplete: false };
  assert.equal(await at.counts.count(KEY, LIMITS, { cost: 0, remembered }), 'missing');
  const found = await at.counts.count(KEY, LIMITS, { cost: 0, remembered: { ...remembered, isComplete: true } });
  const { keyId: _, ...windows } = counts;
  assert.deepEqual(typeof found === 'object' && found.state, { ...UNUSED, ...windows });
  assert.equal(at.redis.value(KEY), `${NOON + 30} 3 ${DAY} 7`);
});

test('what is remembered is merged by a step of its own, which further requests join', async () => {
  const at = await bench();
  const used = async (...remembered: (typeof EMPTY | undefined)[]) => {
    const counted = remembered.map((each) => at.counts.count(KEY, LIMITS, { cost: 1, remembered: each }));
    return (await Promise.all(counted)).map((each) => (typeof each === 'object' ? each.state.minuteUsed : each));
  };
  assert.deepEqual(await used(undefined, EMPTY, undefined), ['missing', 0, 1]);
  assert.equal(at.sent.at(-1)?.[0], '2');
});

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

test('the clock is read however long the process has been running', async () => {
  const at = await bench('its own');
  await at.time.pass(10_000);
  await at.counts.count(KEY, LIMITS, { cost: 0, remembered: EMPTY });
  at.redis.step(60_000);
  await read(at);
  assert.equal(at.noted.steps, 1);
});

test('it is up while it is connected', async () => {
  const { counts } = await bench();
  assert.equal(counts.isUp, true);
  await counts[Symbol.asyncDispose]();
  assert.equal(counts.isUp, false);
  assert.equal(counts.count(KEY, LIMITS, { cost: 0 }), undefined, 'a request waits for nothing then');
});

test('a request goes to Redis with its limits, its cost and what is remembered, or else with nothing', async () => {
  const { counts, sent } = await bench();
  const windows = { keyId: KEY, minuteEnds: NOON + 30, minuteUsed: 3, day: DAY, dayUsed: 7 };
  await Promise.all([
    counts.count(KEY, LIMITS, { cost: 1 }),
    counts.count(KEY, LIMITS, { cost: 0, remembered: { counts: windows, isComplete: false } }),
    counts.count(KEY, LIMITS, { cost: 0, remembered: EMPTY }),
  ]);
  const now = `${NOON}`;
  const requests = [
    ['10', '20', '1', '', ''],
    ['10', '20', '0', `${NOON + 30} 3 ${DAY} 7`, ''],
    ['10', '20', '0', '0 0 0 0', '1'],
  ];
  const [call, ...more] = sent;
  assert.deepEqual([call?.[0], call?.slice(4), more], ['3', [now, now, ...requests.flat()], []]);
});
