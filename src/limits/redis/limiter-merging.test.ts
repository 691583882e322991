import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  BAN_AFTER,
  bench,
  charge,
  countsOf,
  DAY,
  hammer,
  LIMITS,
  NOON,
} from '../../../test/kit/limits/played-redis.ts';

/** What RedisLimiter believes when Redis, storage and its own memory differ, and what it asks of them. */

const wide = { minute: 100, day: 100 };

test('another server with older data is given what storage remembers, within a second', async () => {
  const at = await bench().start();
  const { key, limiter, memories, redis, time } = at;
  await charge(at, 1);
  redis.takeSnapshot();
  await charge(at, 2);
  await limiter.save();
  memories.set(key.id, { counts: countsOf(key, 3), ban: undefined, lifted: undefined });
  redis.failOver();
  await time.pass(1_000);
  assert.equal((await limiter.peek(key)).remaining, 1);
  const { reads } = at.played;
  await limiter.peek(key);
  assert.equal(at.played.reads, reads, 'which is read once');
});

test('while storage fails an older Redis is given what this process remembers, and the rest later', async () => {
  const at = await bench().start();
  const { key, limiter, memories, redis, time, played } = at;
  await charge(at, 1);
  redis.takeSnapshot();
  await charge(at, 2);
  played.failure = new Error('no storage');
  redis.failOver();
  await time.pass(1_000);
  assert.equal((await limiter.peek(key)).remaining, 1);
  memories.set(key.id, { counts: countsOf(key, 4), ban: undefined, lifted: undefined });
  played.failure = undefined;
  await time.pass(3_000);
  assert.equal((await limiter.peek(key)).remaining, 0);
});

for (const [what, last] of [
  ['a ban', undefined],
  ['a ban that followed another', { startedAt: NOON - 600, endsAt: NOON - 540, level: 1, reason: 'r' }],
] as const)
  test(`${what} is enforced by the process that imposed it, though neither Redis nor storage has it`, async () => {
    const at = await bench(1, { isServerTime: true }).start();
    const { key, limiter, redis, played, time } = at;
    const other = { ...key, id: 'other' };
    if (last) at.memories.set(key.id, { counts: undefined, ban: { keyId: key.id, ...last }, lifted: undefined });
    await charge(at, LIMITS.minute + 1);
    redis.takeSnapshot();
    await time.pass(2_000);
    played.banFailure = new Error('no room');
    await charge(at, BAN_AFTER);
    // Steps of the clock empty the memory of refusals.
    redis.failOver();
    redis.step(-2_000);
    await time.pass(1_000);
    await limiter.peek(other);
    const { refusal } = await limiter.charge(key);
    assert.equal(refusal, 'key_banned');
    assert.equal((await limiter.peek(other)).refusal, undefined, 'but not on another key');
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

test('bans are listed only when one was decided or believed, and no more once they were', async () => {
  const at = await bench(2).start();
  const { key, all, played, time } = at;
  const [, two] = all;
  assert.ok(two);
  await two.limiter.peek(key);
  await hammer(at);
  await time.pass(1_000);
  assert.equal(played.lists, 1);
  played.failure = new Error('no storage');
  assert.equal((await two.limiter.charge(key)).refusal, 'key_banned');
  played.failure = undefined;
  await two.limiter.save();
  await time.pass(3_000);
  assert.equal(played.lists, 2);
});

test('a decision that goes out within its second is not changed', async () => {
  const at = await bench().start();
  const decision = await at.limiter.charge(at.key);
  await charge(at, 1);
  assert.equal(at.limiter.current(at.key, decision), decision);
});

for (const [title, seconds, isLifted, isBack] of [
  ['is put there once it is back', 10, false, true],
  ['and was lifted does not come back with it', 10, true, false],
  ['is put there once it is back, though it is over by then', 60, false, true],
] as const) {
  test(`a ban that was stored while Redis was lost ${title}`, async () => {
    const at = await bench().start();
    const { key, limiter, played, redis, time } = at;
    await charge(at, LIMITS.minute + 1);
    await time.pass(2_000);
    await charge(at, BAN_AFTER - 1);
    played.isLost = true;
    assert.equal((await limiter.charge(key)).refusal, 'key_banned');
    await time.pass(seconds * 1_000);
    if (isLifted) at.lift(key);
    await limiter.refreshBans();
    await at.lose(false);
    await time.pass(1_000);
    assert.equal(/"isStored":true/.test(redis.value(key.id) ?? ''), isBack);
    assert.equal(at.attempts.length, 1, 'it is stored once');
    played.commands.length = 0;
    await limiter.save();
    assert.deepEqual(played.commands, [], 'and then it is done');
  });
}

test('a ban that is still to be stored survives that the bans are read', async () => {
  const at = await bench(2).start();
  const { key, limiter, played } = at;
  const [, two] = at.all;
  assert.ok(two);
  await charge(at, LIMITS.minute + 1);
  await at.time.pass(2_000);
  played.banFailure = new Error('no room');
  await charge(at, BAN_AFTER);
  await limiter.refreshBans();
  played.commands.length = 0;
  assert.equal((await limiter.charge(key)).refusal, 'key_banned');
  assert.deepEqual(played.commands, []);
  assert.equal((await two.limiter.charge(key)).refusal, 'key_banned', 'elsewhere as well: it may be on its way');
  played.banFailure = undefined;
  await limiter.save();
  assert.equal(at.bans.length, 1);
});

test('a ban that is being stored is not stored by a save as well', async () => {
  const at = await bench().start();
  await charge(at, LIMITS.minute + 1);
  await at.time.pass(2_000);
  await charge(at, BAN_AFTER - 1);
  const stored = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  at.played.onBan = () => {
    begun.resolve();
    return stored.promise;
  };
  const banned = at.limiter.charge(at.key);
  await begun.promise;
  await at.limiter.save();
  assert.equal(at.attempts.length, 1);
  stored.resolve();
  assert.equal((await banned).refusal, 'key_banned');
});

test('a refusal whose ban is over stays in memory when the bans are read', async () => {
  const at = await bench().start();
  await hammer(at);
  await at.time.pass(60_000);
  await charge(at, LIMITS.minute + 1);
  await at.limiter.refreshBans();
  at.played.commands.length = 0;
  await charge(at, 1);
  assert.deepEqual(at.played.commands, []);
});

test('a limiter that stopped while storage failed writes nothing later', async () => {
  const at = await bench().start();
  await charge(at, 1);
  at.played.failure = new Error('no storage');
  await at.limiter[Symbol.asyncDispose]();
  at.played.failure = undefined;
  await at.time.pass(2_000);
  assert.deepEqual(at.saved, []);
});

test('what a lower plan refuses is asked of Redis, a banned key is not, whatever its plan', async () => {
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
  await at.time.pass(2_000);
  await charge(at, BAN_AFTER);
  played.commands.length = 0;
  assert.equal((await limiter.charge({ ...key, limits: wide })).refusal, 'key_banned');
  assert.deepEqual(played.commands, []);
});

test('a ban that is over is neither looked up nor written again', async () => {
  const at = await bench(2).start();
  const { key, played, time } = at;
  const [, two] = at.all;
  assert.ok(two);
  await hammer(at);
  await time.pass(60_000);
  const before = played.reads;
  played.commands.length = 0;
  assert.equal((await two.limiter.peek(key)).remaining, 4);
  assert.deepEqual([played.commands.length, played.reads - before], [1, 1], 'it is read once, with the counts');
  await two.limiter.charge(key);
  assert.deepEqual([played.commands.length, played.reads - before], [2, 1]);
  const lifted = await bench(2).start();
  await hammer(lifted);
  lifted.lift(lifted.key);
  await lifted.time.pass(60_000);
  assert.equal((await lifted.all[1]?.limiter.peek(lifted.key))?.remaining, 4);
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

test('requests that are under way when their key is banned do not hide the ban', async () => {
  const at = await bench().start();
  await charge(at, LIMITS.minute + 1);
  await at.time.pass(2_000);
  await charge(at, BAN_AFTER - 1);
  // Another plan asks Redis again, all of them at once: one leads to the ban, the others were refused before.
  const changed = { ...at.key, limits: { ...LIMITS, minute: 3 } };
  await Promise.all(Array.from({ length: 10 }, () => at.limiter.charge(changed)));
  assert.equal((await at.limiter.charge(changed)).refusal, 'key_banned');
  assert.equal(at.bans.length, 1);
});

test('refusals on both sides of an admitted request count together', async () => {
  const at = await bench().start();
  await charge(at, LIMITS.minute);
  await at.time.pass(50_000);
  await charge(at, 1);
  await at.time.pass(5_000);
  await charge(at, 3);
  await at.time.pass(5_000);
  assert.deepEqual(await charge(at, LIMITS.minute), Array(LIMITS.minute).fill(undefined));
  assert.deepEqual((await charge(at, 3)).at(-1), 'key_banned');
});

test('an instance that met the ban of another refuses from memory then', async () => {
  const at = await bench(2).start();
  for (const { limiter } of at.all) await charge({ ...at, limiter }, LIMITS.minute + 1);
  await at.time.pass(2_000);
  for (const { limiter } of at.all) await charge({ ...at, limiter }, BAN_AFTER - 1);
  await Promise.all(at.all.map(({ limiter }) => limiter.charge(at.key)));
  at.played.commands.length = 0;
  for (const { limiter } of at.all) await limiter.charge(at.key);
  assert.deepEqual(at.played.commands, []);
});

test('a Redis that lost its data gets the later of the windows', async () => {
  const at = await bench().start();
  const { key, limiter, memories, redis, played, time } = at;
  await limiter.charge({ ...key, limits: wide });
  played.failure = new Error('no storage');
  await time.pass(10_000);
  played.failure = undefined;
  for (const [counts, expected] of [
    [{ minuteEnds: NOON + 65 }, [99, 65, 99]],
    [{ day: DAY + 1, dayUsed: 0 }, [99, 60, 100]],
  ] as const) {
    memories.set(key.id, { counts: { ...countsOf(key, 1), ...counts }, ban: undefined, lifted: undefined });
    redis.flush();
    const { minute, day } = await limiter.peek({ ...key, limits: wide });
    assert.deepEqual([minute.remaining, minute.reset - NOON, day.remaining], expected);
  }
});

test('a key that Redis does not have is read as soon as storage answers, however lately it failed', async () => {
  const at = await bench().start();
  const { key, limiter, memories, played } = at;
  played.failure = new Error('no storage');
  await assert.rejects(limiter.charge(key), played.failure);
  played.failure = undefined;
  memories.set(key.id, { counts: countsOf(key, 2), ban: undefined, lifted: undefined });
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
