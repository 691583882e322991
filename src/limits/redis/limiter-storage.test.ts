import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench, charge, countsOf, LIMITS } from '../../../test/limits/played-redis.ts';
import { capped, merged } from '../../catalog/window-counts.ts';

/** What RedisLimiter keeps, and what it reads and writes when, on a storage and a Redis that the test plays. */

test('counts are saved every half second if there are new ones, and a stop waits for the last save', async () => {
  const at = await bench().start();
  const { limiter, key, saved, time, played } = at;
  await charge(at, 2);
  await time.pass(499);
  assert.deepEqual(saved, []);
  await time.pass(1);
  assert.deepEqual(saved, [[countsOf(key, 2)]]);
  await limiter.peek(key);
  await time.pass(500);
  assert.equal(saved.length, 1, 'a look is nothing to save');
  await charge(at, 1);
  const held = Promise.withResolvers<void>();
  played.held = held.promise;
  const stopped = limiter[Symbol.asyncDispose]().then(() => 'stopped');
  await time.pass(100);
  assert.equal(await Promise.race([stopped, 'held']), 'held');
  held.resolve();
  await stopped;
  assert.deepEqual(saved[1], [countsOf(key, 3)]);
  assert.deepEqual(limiter.lost, ['REDIS_URL']);
  await charge(at, 1);
  await time.pass(2_000);
  assert.equal(saved.length, 2, 'a stopped limiter writes nothing');
});

test('a clock of Redis that was ahead for a while locks a spent key out for one window, however often it reconnects', async () => {
  const at = await bench(1, { isServerTime: true }).start();
  const { key, limiter, redis, saved, stored, time } = at;
  const store = () => {
    for (const counts of saved.splice(0).flat()) {
      const before = stored.get(counts.keyId) ?? counts;
      const now = Math.floor(redis.nowMs / 1_000);
      stored.set(counts.keyId, { keyId: counts.keyId, ...merged(capped(before, now), counts) });
    }
  };
  redis.step(3_600_000);
  await charge(at, LIMITS.minute);
  await time.pass(500);
  store();
  redis.step(-3_600_000);
  await limiter.peek({ ...key, id: 'any other, whose answer tells of the step' });
  for (let seconds = 0; seconds < 60; seconds += 10) {
    await at.lose(true);
    await at.lose(false);
    await limiter.charge(key);
    await time.pass(500);
    store();
    await time.pass(7_500);
  }
  await time.pass(3_000);
  await at.lose(true);
  await at.lose(false);
  assert.equal((await limiter.charge(key)).refusal, undefined);
});
