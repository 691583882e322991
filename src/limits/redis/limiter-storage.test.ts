import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench, charge, countsOf, DAY, LIMITS, NOON } from '../../../test/kit/limits/played-redis.ts';
import { capped, merged, type WindowCounts } from '../../catalog/window-counts.ts';

/** What RedisLimiter keeps, and what it reads and writes when, on a storage and a Redis that the test plays. */

test('counts are saved every half second if there are new ones, and when the limiter stops', async () => {
  const at = await bench().start();
  const { limiter, key, saved, time } = at;
  await charge(at, 2);
  await time.pass(499);
  assert.deepEqual(saved, []);
  await time.pass(1);
  assert.deepEqual(saved, [[countsOf(key, 2)]]);
  await limiter.peek(key);
  await time.pass(500);
  assert.equal(saved.length, 1, 'a look is nothing to save');
  await charge(at, 1);
  await limiter[Symbol.asyncDispose]();
  assert.deepEqual(saved[1], [countsOf(key, 3)]);
  assert.equal(limiter.state, 'degraded');
  await charge(at, 1);
  await time.pass(2_000);
  assert.equal(saved.length, 2, 'a stopped limiter writes nothing');
});

test('counts that could not be saved, or that changed meanwhile, are saved with the next ones', async () => {
  const at = await bench().start();
  const { limiter, key, saved, played, events } = at;
  await charge(at, 1);
  played.failure = new Error('no storage');
  await limiter.save();
  assert.deepEqual([saved, events.failures], [[], [played.failure]]);
  played.failure = undefined;
  await limiter.save();
  assert.deepEqual(saved, [[countsOf(key, 1)]]);
});

test('counts of many keys are saved 500 at a time, and requests are served in between', async () => {
  const at = await bench().start();
  const ids = Array.from({ length: 1_100 }, (_, index) => `key_${index}`);
  for (const id of ids) await at.limiter.charge({ ...at.key, id });
  let turns = 0;
  at.played.onSave = () => {
    const before = turns;
    setImmediate(() => {
      turns += 1;
    });
    assert.equal(before, at.saved.length, 'the event loop turned since the last');
  };
  await at.limiter.save();
  assert.deepEqual(
    at.saved.map(({ length }) => length),
    [500, 500, 100],
  );
  assert.deepEqual(new Set(at.saved.flat().map(({ keyId }) => keyId)), new Set(ids));
});

test('while Redis is lost the share decides, with a look that costs nothing, and then Redis goes on', async () => {
  const at = await bench().start();
  const { limiter, key, events } = at;
  assert.equal(limiter.state, 'ok');
  await charge(at, 1);
  await at.lose(true);
  assert.deepEqual([limiter.state, events.turns], ['degraded', ['degraded']]);
  assert.deepEqual([(await limiter.peek(key)).remaining, (await limiter.peek(key)).remaining], [2, 2]);
  assert.deepEqual(await charge(at, 3), [undefined, undefined, 'rate_limit_exceeded']);
  const told = await limiter.peek(key);
  await at.time.pass(10_000);
  assert.deepEqual(limiter.current(key, told), await limiter.peek(key));
  await at.lose(false);
  assert.deepEqual([limiter.state, events.turns], ['ok', ['degraded', 'recovered']]);
  assert.equal((await limiter.peek(key)).remaining, 3);
});

test('a refused key is refused from memory, by a look as well, until its window is over or its plan another', async () => {
  const at = await bench().start();
  const { limiter, key, played, events, time } = at;
  await charge(at, LIMITS.minute + 1);
  played.commands.length = 0;
  await charge(at, 2);
  assert.equal((await limiter.peek(key)).refusal, 'rate_limit_exceeded');
  assert.deepEqual([played.commands, events.fromMemory()], [[], 2]);
  for (const limits of [
    { minute: 5, day: 1_000 },
    { minute: 4, day: 1_001 },
  ]) {
    played.commands.length = 0;
    await limiter.peek({ ...key, limits });
    assert.equal(played.commands.length, 1, 'another plan is looked up');
  }
  await time.pass(60_000);
  played.commands.length = 0;
  assert.deepEqual(await charge(at, 1), [undefined]);
  assert.deepEqual(played.commands, [`pet-catalog:{${key.id}}`]);
});

test('a Redis that lost its data gets the greater of what storage and this process remember', async () => {
  const at = await bench().start();
  const { key, limiter, stored, redis } = at;
  const remember = (counts: Partial<WindowCounts>) => stored.set(key.id, { ...countsOf(key, 1), ...counts });
  const left = async () => {
    redis.flush();
    const { minute, day } = await limiter.peek({ ...key, limits: { minute: 100, day: 100 } });
    return [minute.remaining, minute.reset - NOON, day.remaining];
  };
  remember({ minuteUsed: 30, dayUsed: 40 });
  assert.deepEqual(await left(), [70, 60, 60], 'of storage');
  remember({ minuteUsed: 1, dayUsed: 1 });
  redis.flush();
  await limiter.charge({ ...key, limits: { minute: 100, day: 100 } });
  for (const [counts, expected] of [
    [{ minuteUsed: 1, dayUsed: 1 }, [98, 60, 98]],
    [{ minuteUsed: 5, dayUsed: 1 }, [95, 60, 98]],
    [{ minuteUsed: 1, dayUsed: 5 }, [98, 60, 95]],
    [{ minuteEnds: NOON + 59, minuteUsed: 5 }, [98, 60, 98]],
    [{ day: DAY - 1, dayUsed: 5 }, [98, 60, 98]],
  ] as const) {
    remember(counts);
    assert.deepEqual(await left(), expected, JSON.stringify(counts));
  }
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
