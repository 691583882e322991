import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../../test/kit/clock.ts';
import { keyPrefix, sharedRedis } from '../../../test/kit/redis-server.ts';
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
