import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bench, charge, countsOf, DAY, LIMITS, NOON } from '../../../test/kit/limits/played-redis.ts';

/** What RedisLimiter believes when Redis, storage and its own memory differ, and what it asks of them. */

const wide = { minute: 100, day: 100 };

for (const change of ['failOver', 'changeRole'] as const) {
  test(`older data after ${change} is given what storage remembers, within a second`, async () => {
    const at = await bench().start();
    const { key, limiter, stored, redis, time } = at;
    await charge(at, 1);
    redis.takeSnapshot();
    await charge(at, 2);
    await limiter.save();
    stored.set(key.id, countsOf(key, 3));
    redis[change]();
    await time.pass(1_000);
    assert.equal((await limiter.peek(key)).remaining, 1);
    const { reads } = at.played;
    await limiter.peek(key);
    assert.equal(at.played.reads, reads, 'which is read once');
  });
}

test('a Redis that lost its scripts is sent them again, and is not given up', async () => {
  const at = await bench().start();
  await charge(at, 1);
  at.redis.flushScripts();
  assert.equal((await at.limiter.charge(at.key)).remaining, LIMITS.minute - 2);
  assert.deepEqual([at.limiter.state, at.events.turns], ['ok', []]);
});

test('while storage fails an older Redis is given what this process remembers, and the rest later', async () => {
  const at = await bench().start();
  const { key, limiter, stored, redis, time, played } = at;
  await charge(at, 1);
  redis.takeSnapshot();
  await charge(at, 2);
  played.failure = new Error('no storage');
  redis.failOver();
  await time.pass(1_000);
  assert.equal((await limiter.peek(key)).remaining, 1);
  stored.set(key.id, countsOf(key, 4));
  played.failure = undefined;
  await time.pass(3_000);
  assert.equal((await limiter.peek(key)).remaining, 0);
});

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
  const told = [...(await charged), await limiter.charge(key), await limiter.peek(key), await limiter.recall(key)];
  assert.deepEqual(
    told.map(({ now, refusal }) => [now - NOON, refusal]),
    [...Array(LIMITS.minute).fill([100, undefined]), ...Array(4).fill([100, 'rate_limit_exceeded'])],
  );
  for (const decision of told) assert.equal(limiter.current(key, decision), decision);
  await limiter.save();
  assert.deepEqual(played.savedAt, [NOON + 101]);
  assert.deepEqual(at.events.counted, Array(LIMITS.minute + 1).fill(40));
});

test('a key that was merged on the way to the last server is merged again on the next', async () => {
  const at = await bench(2).start();
  const { key, limiter, stored, redis, time, played } = at;
  await at.all[1]?.limiter.charge(key);
  redis.takeSnapshot();
  stored.set(key.id, countsOf(key, 3));
  played.wayMs = 20;
  await time.pass(985);
  const charged = limiter.charge(key);
  // It is counted at 1.005 s, and answered at 1.025.
  await time.pass(21);
  redis.failOver();
  // The heartbeat asks at 1.000 s which server it is, and is answered before that.
  played.wayMs = 1;
  await time.pass(100);
  assert.equal((await charged).remaining, 0);
  played.wayMs = 0;
  assert.equal((await limiter.peek(key)).remaining, 0);
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

test('a server clock that was set back locks no key out for longer than a minute', async () => {
  const at = await bench(1, { isServerTime: true }).start();
  const { key, limiter, redis } = at;
  await charge(at, LIMITS.minute + 2);
  redis.step(-3_600_000);
  await limiter.peek({ ...key, id: 'other' });
  const { refusal, reset, now } = await limiter.charge(key);
  assert.deepEqual([refusal, reset - now], ['rate_limit_exceeded', 60]);
});

test('what a lower plan refuses is asked of Redis', async () => {
  const at = await bench().start();
  const { key, limiter, played } = at;
  await charge(at, LIMITS.minute + 1);
  for (const limits of [
    { ...LIMITS, minute: 3 },
    { ...LIMITS, day: 3 },
  ]) {
    played.commands.length = 0;
    assert.ok((await limiter.peek({ ...key, limits })).refusal);
    assert.equal(played.commands.length, 1);
  }
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

test('a refusal is nothing to save, and what changes during a save is saved by the next', async () => {
  const at = await bench().start();
  const { key, limiter, saved, played } = at;
  await charge(at, 1);
  played.onSave = async () => {
    played.onSave = () => {};
    await charge(at, 3);
  };
  await limiter.save();
  await limiter.save();
  assert.deepEqual(saved, [[countsOf(key, 1)], [countsOf(key, 4)]]);
  await charge(at, 2);
  await limiter.save();
  assert.equal(saved.length, 2);
});

test('refusals on both sides of an admitted request count together', async () => {
  const at = await bench().start();
  await charge(at, LIMITS.minute);
  await at.time.pass(50_000);
  await charge(at, 1);
  await at.time.pass(5_000);
  await charge(at, 3);
  await at.time.pass(5_000);
  assert.equal((await at.limiter.peek(at.key)).refusal, undefined, 'which a look between them does not change');
  assert.deepEqual(await charge(at, LIMITS.minute), Array(LIMITS.minute).fill(undefined));
  await charge(at, 2);
  assert.equal((await at.limiter.charge(at.key)).refusals, 6);
});

test('a Redis that lost its data gets the later of the windows', async () => {
  const at = await bench().start();
  const { key, limiter, stored, redis, played, time } = at;
  await limiter.charge({ ...key, limits: wide });
  played.failure = new Error('no storage');
  await time.pass(10_000);
  played.failure = undefined;
  for (const [counts, expected] of [
    [{ minuteEnds: NOON + 65 }, [99, 65, 99]],
    // A day to come is today, before it is merged.
    [{ day: DAY + 1, dayUsed: 0 }, [99, 60, 99]],
  ] as const) {
    stored.set(key.id, { ...countsOf(key, 1), ...counts });
    redis.flush();
    const { minute, day } = await limiter.peek({ ...key, limits: wide });
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

test('a key that may not spend its windows is asked of Redis once, if at all', async () => {
  const at = await bench(2).start();
  const { key, limiter, played } = at;
  const [, two] = at.all;
  assert.ok(two);
  await charge(at, LIMITS.minute + 1);
  played.commands.length = 0;
  const before = at.events.fromMemory();
  assert.equal((await limiter.recall(key)).refusal, 'rate_limit_exceeded');
  assert.deepEqual([played.commands, at.events.fromMemory()], [[], before + 1]);
  for (let times = 0; times < 3; times += 1) {
    assert.equal((await two.limiter.recall(key)).refusal, 'rate_limit_exceeded');
    assert.equal(played.commands.length, 1);
  }
  await at.lose(true);
  assert.equal((await limiter.recall(key)).refusal, 'rate_limit_exceeded');
  await at.lose(false);
  await at.time.pass(60_000);
  assert.deepEqual(await charge(at, 1), [undefined]);
  assert.equal((await limiter.recall(key)).day.remaining, LIMITS.day - LIMITS.minute - 1, 'of which it is asked anew');
});
