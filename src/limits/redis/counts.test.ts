import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../../test/kit/clock.ts';
import { keyPrefix, redis, sharedRedis } from '../../../test/kit/redis-server.ts';
import type { Counts } from '../../catalog/window-counts.ts';
import { UNUSED } from '../window.ts';
import { RedisCounts, type RedisCountsOptions } from './counts.ts';

const LIMITS = { minute: 300, day: 1_000 };
const NOTHING = { counts: undefined, isComplete: true };

const { url, skip } = await sharedRedis();

const ignore = () => {};

/** Counts on the shared Redis, where nothing fails. */
function countsOn(keyPrefix: string, options: Pick<RedisCountsOptions, 'time'> & Partial<RedisCountsOptions>) {
  const events = {
    requestCounted: ignore,
    redisFailed: assert.fail,
    redisLate: ignore,
    limiterDegraded: assert.fail,
    limiterRecovered: ignore,
  };
  return new RedisCounts({
    url,
    keyPrefix,
    answerMs: 20_000,
    events,
    onCluster: ignore,
    onClockStep: ignore,
    ...options,
  });
}

test('requests of one turn are counted by one call for each 64 of them, in their order', { skip }, async (t) => {
  await using keys = keyPrefix(url);
  await using counts = countsOn(keys.prefix, { time: manualClock() });
  await counts.connect();
  const calls = t.mock.method(counts, 'run');
  const charge = (index: number) => counts.count(`${index % 3}`, LIMITS, { cost: 1, remembered: NOTHING });
  const counted = await Promise.all(Array.from({ length: 100 }, (_, index) => charge(index)));
  assert.deepEqual(
    calls.mock.calls.map(({ arguments: [{ length }] }) => length),
    [64, 36],
  );
  assert.deepEqual(
    counted.map((each) => typeof each === 'object' && each.state.minuteUsed),
    Array.from({ length: 100 }, (_, index) => Math.floor(index / 3)),
  );
  assert.equal(await counts.count('unknown', LIMITS, { cost: 1 }), 'missing');
});

test('of each window the later one is kept, and no later than the clock allows', { skip }, async () => {
  await using keys = keyPrefix(url);
  const time = manualClock();
  const { unix } = time.now();
  const today = Math.floor(unix / 86_400);
  await using counts = countsOn(keys.prefix, { time, serverTime: time });
  await counts.connect();
  type Windows = readonly [ends: number, minuteUsed: number, day: number, dayUsed: number];
  const counted = ([ends, minuteUsed, day, dayUsed]: Windows): Counts => {
    return { minuteEnds: unix + ends, minuteUsed, day: today + day, dayUsed };
  };
  const key = 'key_1';
  const cases: readonly (readonly [kept: Windows | undefined, remembered: Windows | undefined, found: Windows])[] = [
    [[30, 3, 0, 7], undefined, [30, 3, 0, 7]],
    [
      [30, 3, 0, 7],
      [30, 2, 0, 9],
      [30, 3, 0, 9],
    ],
    [
      [30, 3, 0, 7],
      [30, 4, 0, 6],
      [30, 4, 0, 7],
    ],
    [
      [30, 3, 0, 7],
      [29, 9, -1, 99],
      [30, 3, 0, 7],
    ],
    [
      [30, 3, -1, 7],
      [31, 1, 0, 2],
      [31, 1, 0, 2],
    ],
    [[61, 3, 0, 7], undefined, [60, 3, 0, 7]],
    [
      [30, 3, 0, 7],
      [3_600, 1, 1, 9],
      [60, 1, 0, 9],
    ],
    [
      [60, 3, 0, 7],
      [3_600, 2, 1, 6],
      [60, 3, 0, 7],
    ],
    [undefined, [3_600, 1, 1, 2], [60, 1, 0, 2]],
  ];
  for (const [kept, remembered, found] of cases) {
    const name = `${keys.prefix}:{${key}}`;
    await redis(url, kept ? ['SET', name, Object.values(counted(kept)).join(' ')] : ['DEL', name]);
    const given = remembered && { remembered: { counts: counted(remembered), isComplete: true } };
    const answer = await counts.count(key, LIMITS, { cost: 0, ...given });
    const state = { ...UNUSED, ...counted(found) };
    assert.deepEqual(answer, { now: time.now(), state }, `${kept} and ${remembered}`);
    assert.equal(await redis(url, ['GET', name]), Object.values(counted(found)).join(' '), 'and is written');
  }
});
