import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench, charge, countsOf, DAY, LIMITS, NOON } from '../../../test/limits/played-redis.ts';

/** What RedisLimiter believes when Redis, storage and its own memory differ, and what it asks of them. */

const wide = { minute: 100, day: 100 };

test('while Redis is lost a decision ages by the clock of this machine, by which it was made', async () => {
  const at = await bench(1, { isServerTime: true }).start();
  const { key, limiter, redis, time } = at;
  redis.step(100_000);
  const before = await limiter.charge(key);
  assert.equal(before.now, NOON + 100);
  await at.lose(true);
  assert.equal(limiter.current(key, before), before, 'not by an earlier moment');
  const decision = await limiter.charge(key);
  assert.deepEqual(decision.now, NOON + 1);
  assert.equal(limiter.current(key, decision), decision);
  await time.pass(1_000);
  assert.equal(limiter.current(key, decision).now, NOON + 2);
});

test('between two seconds of the server the earlier is told, and by the later is saved', async () => {
  const at = await bench(1, { isServerTime: true }).start();
  const { key, limiter, redis, time, played } = at;
  redis.step(100_000);
  played.wayMs = 20;
  // Asked at 0.96 s, and read by the server at 0.98: at 1.00 it may be up to 0.02 s earlier or later there.
  await time.pass(960);
  const charged = Promise.all(Array.from({ length: LIMITS.minute + 1 }, () => limiter.charge(key)));
  await time.pass(40);
  const told = [...(await charged), await limiter.charge(key), await limiter.peek(key), await limiter.peek(key, true)];
  assert.deepEqual(
    told.map(({ now, refusal }) => [now - NOON, refusal]),
    [...Array(LIMITS.minute).fill([100, undefined]), ...Array(4).fill([100, 'rate_limit_exceeded'])],
  );
  for (const decision of told) assert.equal(limiter.current(key, decision), decision);
  await limiter.save();
  assert.deepEqual(played.savedAt, [NOON + 101]);
  assert.deepEqual(at.events.counted, Array(LIMITS.minute + 1).fill(40));
});

test('nothing is refused from memory once its window may be over at the server, however slow its answers are', async () => {
  const at = await bench(1, { isServerTime: true, answerMs: 20_000 }).start();
  const { key, limiter, time, played, events } = at;
  await charge(at, LIMITS.minute + 1);
  played.wayMs = 1_100;
  const call = async (id: string) => {
    const called = limiter.charge({ ...key, id });
    await time.pass(2_200);
    return called;
  };
  await call('any other, whose answer tells how slow they are');
  await time.pass(50_000);
  assert.equal((await call(key.id)).refusal, 'rate_limit_exceeded');
  assert.equal(events.fromMemory(), 1);
  await time.pass(NOON * 1_000 + 59_500 - time.nowMs);
  assert.equal((await call(key.id)).refusal, undefined);
});

test('a clock of Redis that is set back locks out no client that is refused from memory', async () => {
  const at = await bench(1, { isServerTime: true }).start();
  const { key, limiter, redis } = at;
  await charge(at, LIMITS.minute + 1);
  redis.step(-3_600_000);
  await limiter.charge({ ...key, id: 'any other, whose answer tells of the step' });
  const { refusal, reset, now } = await limiter.charge(key);
  assert.deepEqual([refusal, reset - now], ['rate_limit_exceeded', 60]);
});

test('without Redis an instance starts and admits its share, once a window, however many outages are in it', async () => {
  const at = bench();
  at.played.isLost = true;
  const { limiter, key } = await at.start();
  assert.deepEqual(limiter.lost, ['REDIS_URL']);
  const admitted = async (id: string, limits = { minute: 7, day: 1_000 }) => {
    const refusals = await charge({ limiter, key: { ...key, id, limits } }, 20);
    return refusals.filter((refusal) => refusal === undefined).length;
  };
  assert.deepEqual([await admitted('one'), await admitted('patient')], [4, 4], 'half of 7, rounded up');
  assert.equal(await admitted('of the day', { minute: 1_000, day: 5 }), 3, 'half of the day as well');
  await at.lose(false);
  assert.equal(await admitted('one'), 7, 'what was admitted meanwhile was on top');
  await at.lose(true);
  assert.equal(await admitted('patient'), 0);
  assert.equal(await admitted('one'), 0, 'refused before the outage');
  assert.equal((await limiter.peek({ ...key, id: 'one' })).refusal, 'rate_limit_exceeded');
});

test('a storage that does not answer is waited for once, for two seconds', async () => {
  const at = await bench(2).start();
  const { key, limiter, time, played } = at;
  const other = { ...key, id: 'other' };
  for (const each of [key, other]) await at.all[1]?.limiter.charge(each);
  played.onRead = () => new Promise(() => {});
  let isDecided = false;
  const charged = Promise.resolve(limiter.charge(key)).finally(() => {
    isDecided = true;
  });
  await time.pass(1_999);
  assert.equal(isDecided, false);
  await time.pass(1);
  assert.equal((await charged).remaining, LIMITS.minute - 2);
  const told: number[] = [];
  Promise.resolve(limiter.charge(other)).then(({ remaining }) => told.push(remaining));
  await time.pass(1);
  assert.deepEqual(told, [LIMITS.minute - 2]);
});

test('the greatest count is saved, whichever answer is read last', async () => {
  const at = await bench().start();
  const { key, limiter, saved, time, played } = at;
  await limiter.charge(key);
  played.wayMs = 5;
  const first = limiter.charge(key);
  await time.pass(4);
  played.wayMs = 30;
  await time.pass(2);
  // The first was counted, and is told in 30 ms.
  played.wayMs = 1;
  const second = limiter.charge(key);
  await time.pass(40);
  assert.deepEqual([(await first).remaining, (await second).remaining], [LIMITS.minute - 2, LIMITS.minute - 3]);
  await limiter.save();
  assert.deepEqual(saved, [[countsOf(key, 3)]]);
});

test('a Redis that lost its data gets the later of the windows', async () => {
  const at = await bench().start();
  const { key, limiter, stored, redis, played, time } = at;
  await limiter.charge({ ...key, limits: wide });
  played.failure = new Error('no storage');
  await time.pass(10_000);
  played.failure = undefined;
  for (const [counts, resets, expected] of [
    [{ minuteEnds: NOON + 65 }, key.resets, [99, 65, 99]],
    // The end of a window that was reset stays.
    [{ minuteEnds: NOON + 65 }, { minute: 1, day: 0 }, [100, 65, 99]],
    // A day to come is today, before it is merged.
    [{ day: DAY + 1, dayUsed: 0 }, key.resets, [99, 60, 99]],
  ] as const) {
    stored.set(key.id, { ...countsOf(key, 1), ...counts });
    redis.flush();
    const { minute, day } = await limiter.peek({ ...key, limits: wide, resets });
    assert.deepEqual([minute.remaining, minute.reset - NOON, day.remaining], expected);
  }
});

test('a key that Redis does not have is read as soon as storage answers, however lately it failed', async () => {
  const at = await bench().start();
  const { key, limiter, stored, played } = at;
  played.failure = new Error('no storage');
  await assert.rejects(async () => limiter.charge(key), played.failure);
  played.failure = undefined;
  stored.set(key.id, countsOf(key, 2));
  assert.deepEqual([(await limiter.charge(key)).remaining, (await limiter.charge(key)).remaining], [1, 0]);
});

test('while storage fails Redis and what is not saved yet decide, and storage is merged afterwards', async () => {
  const at = await bench().start();
  const { key, limiter, redis, stored, played } = at;
  await charge(at, 1);
  redis.takeSnapshot();
  await charge(at, 1);
  played.failure = new Error('no storage');
  redis.failOver();
  await at.time.pass(1_000);
  assert.equal((await limiter.charge(key)).remaining, LIMITS.minute - 3);
  played.failure = undefined;
  stored.set(key.id, countsOf(key, LIMITS.minute));
  await at.time.pass(3_000);
  assert.equal((await limiter.charge(key)).refusal, 'rate_limit_exceeded');
});

test('what was read for the last server does not count as merged on the next', async () => {
  const at = await bench().start();
  const { key, limiter, redis, stored, played } = at;
  const read = Promise.withResolvers<void>();
  played.onRead = () => read.promise;
  const late = limiter.charge(key);
  redis.failOver();
  await at.time.pass(1_000);
  read.resolve();
  await late;
  stored.set(key.id, { ...countsOf(key, 3), minuteEnds: NOON + 61 });
  assert.equal((await limiter.charge(key)).remaining, LIMITS.minute - 4);
});

test('counts that are being saved while they are read count', async () => {
  const at = await bench().start();
  const { key, limiter, redis, played } = at;
  redis.takeSnapshot();
  await charge(at, 2);
  redis.failOver();
  played.failure = new Error('no storage');
  await at.time.pass(1_000);
  played.failure = undefined;
  const looked = limiter.peek(key);
  await limiter.save();
  assert.equal(at.saved.length, 1);
  assert.equal((await looked).remaining, 2);
});

test('requests of one turn are counted by one call for each 64 of them, in their order', async (t) => {
  const at = await bench().start();
  const keys = ['one', 'two', 'three'].map((id) => ({ ...at.key, id, limits: wide }));
  for (const key of keys) await at.limiter.charge(key);
  const { mock } = t.mock.method(at.redis, 'run');
  const charge = (_: unknown, index: number) => at.limiter.charge(keys[index % 3] ?? assert.fail());
  const told = await Promise.all(Array.from({ length: 100 }, charge));
  // Behind the keys two arguments, then seven for each key, of which the fifth is the number of its requests.
  const counted = mock.calls.map(({ arguments: [[, , , ...args]] }) => [7, 14, 21].map((at) => Number(args[at + 2])));
  assert.deepEqual(counted, [
    [22, 21, 21],
    [12, 12, 12],
  ]);
  assert.deepEqual(
    told.map(({ minute }) => wide.minute - minute.remaining),
    Array.from({ length: 100 }, (_, index) => 2 + Math.floor(index / 3)),
  );
});
