import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BAN_AFTER, bench, charge, hammer, LIMITS, provoke } from '../../../test/kit/limits/played-redis.ts';

/** How instances share bans and their lifting, on a storage and a Redis that the test plays. */

test('a ban that Redis missed is put there once it is back', async () => {
  const at = await bench(2).start();
  const { key, limiter } = at;
  await charge(at, LIMITS.minute + 1);
  await at.time.pass(2_000);
  await charge(at, BAN_AFTER - 1);
  at.played.isLost = true;
  assert.equal((await limiter.charge(key)).refusal, 'key_banned');
  assert.equal(at.bans.length, 1);
  await at.lose(false);
  await limiter.save();
  assert.match(at.redis.value(key.id) ?? '', /"isStored":true/);
});

test('a Redis that comes back with data from before a ban gets it with the next save', async () => {
  const at = await bench().start();
  const { key, limiter, played } = at;
  await hammer(at);
  at.lift(key);
  await limiter.refreshBans();
  await at.time.pass(60_000);
  await charge(at, LIMITS.minute + 1);
  at.redis.takeSnapshot();
  await at.time.pass(2_000);
  played.failure = new Error('no storage');
  await charge(at, BAN_AFTER);
  at.redis.failOver();
  played.failure = undefined;
  await limiter.save();
  await limiter.save();
  assert.match(at.redis.value(key.id) ?? '', new RegExp(`"startedAt":${at.bans[0]?.startedAt},`));
});

test('a lifted ban is dropped from Redis by the instance that meets it there', async () => {
  const at = await bench(2).start();
  const { key, all, redis } = at;
  await hammer(at);
  const [, two] = all;
  assert.ok(two);
  at.lift(key);
  assert.equal((await two.limiter.charge(key)).refusal, 'rate_limit_exceeded');
  assert.doesNotMatch(redis.value(key.id) ?? '', /startedAt/);
});

test('a ban is believed while storage fails, and checked as soon as it does not', async () => {
  const at = await bench(2).start();
  const { key, all, played } = at;
  const [, two] = all;
  assert.ok(two);
  await two.limiter.peek(key);
  await hammer(at);
  at.lift(key);
  played.failure = new Error('no storage');
  assert.equal((await two.limiter.charge(key)).refusal, 'key_banned');
  await two.limiter.save();
  assert.equal((await two.limiter.charge(key)).refusal, 'key_banned');
  played.failure = undefined;
  await two.limiter.save();
  assert.equal((await two.limiter.charge(key)).refusal, 'rate_limit_exceeded');
});

test('lifting bans drops those alone that storage does not list', async () => {
  const at = await bench().start();
  const other = { ...at.key, id: 'other' };
  const third = { ...at.key, id: 'third' };
  await hammer(at);
  at.lift(at.key);
  await hammer({ ...at, key: other });
  await charge({ ...at, key: third }, LIMITS.minute + 1);
  at.played.commands.length = 0;
  await at.limiter.refreshBans();
  assert.equal((await at.limiter.charge(other)).refusal, 'key_banned');
  assert.equal((await at.limiter.charge(third)).refusal, 'rate_limit_exceeded');
  assert.deepEqual(at.played.commands, [], 'what is still true stays in memory');
  assert.equal((await at.limiter.charge(at.key)).refusal, 'rate_limit_exceeded');
});

test('a ban that is over and was lifted does not lengthen the next one, another one does', async () => {
  for (const [isLifted, seconds] of [
    [true, 60],
    [false, 300],
  ] as const) {
    const at = await bench(2).start();
    const [, two] = at.all;
    assert.ok(two);
    await hammer(at);
    if (isLifted) at.lift(at.key);
    await at.time.pass(60_000);
    await two.limiter.peek(at.key);
    assert.equal(/startedAt/.test(at.redis.value(at.key.id) ?? ''), !isLifted);
    const { ban, now } = await hammer({ ...at, limiter: two.limiter });
    assert.equal(ban?.until, now + seconds);
  }
});

test('nor does one whose lift no instance met in Redis while it lasted', async () => {
  const at = await bench().start();
  await hammer(at);
  at.lift(at.key);
  await at.time.pass(60_000);
  const { ban, now } = await hammer(at);
  assert.equal(ban?.until, now + 60);
});

test('two instances that ban a key which Redis has lost impose one ban', async () => {
  for (const isAtOnce of [true, false]) {
    const at = await bench(2).start();
    const [one, two] = at.all;
    assert.ok(one && two);
    await provoke(at, [one.limiter, two.limiter]);
    at.redis.flush();
    const first = one.limiter.charge(at.key);
    if (!isAtOnce) {
      await first;
      await at.time.pass(3_000);
      at.redis.flush();
    }
    const { refusal, ban } = await two.limiter.charge(at.key);
    assert.deepEqual([refusal, ban], ['key_banned', (await first).ban]);
    assert.equal(at.bans.length, 1);
  }
});

test('two instances that ban at once impose one ban, and tell it alike', async () => {
  const at = await bench(2).start();
  const [one, two] = at.all;
  assert.ok(one && two);
  await provoke(at, [one.limiter, two.limiter]);
  const [first, second] = await Promise.all(at.all.map(({ limiter }) => limiter.charge(at.key)));
  assert.equal(first?.refusal, 'key_banned');
  assert.deepEqual(second, first);
  assert.deepEqual([at.bans.length, one.events.bans.length + two.events.bans.length], [1, 1]);
  for (const { limiter } of at.all) assert.deepEqual((await limiter.charge(at.key)).ban, first.ban);
});

test('a lifted ban that Redis still has does not stop another instance from its own', async () => {
  const at = await bench(2).start();
  const [, two] = at.all;
  assert.ok(two);
  await charge({ ...at, limiter: two.limiter }, LIMITS.minute + 1);
  await hammer(at);
  await charge({ ...at, limiter: two.limiter }, BAN_AFTER - 1);
  at.lift(at.key);
  await at.time.pass(1_000);
  const { ban, now } = await two.limiter.charge(at.key);
  assert.equal(ban?.until, now + 60);
  assert.deepEqual(
    at.bans.map(({ startedAt }) => startedAt),
    [now],
  );
});

test('a Redis whose lifted ban cannot be removed is not asked for ever: the share decides', async () => {
  const at = await bench(2).start();
  const [, two] = at.all;
  assert.ok(two);
  await two.limiter.peek(at.key);
  await hammer(at);
  at.lift(at.key);
  at.redis.takeSnapshot();
  at.played.commands.length = 0;
  at.played.onCommand = () => at.redis.failOver();
  const { refusal, remaining } = await two.limiter.charge(at.key);
  assert.deepEqual([refusal, remaining], [undefined, 1]);
  assert.equal(at.played.commands.length, 10, 'five times it was read, and replaced');
});

test('of several bans of a key that storage lists the last one counts', async () => {
  for (const order of ['toReversed', 'slice'] as const) {
    const at = await bench().start();
    const { ban } = await hammer(at);
    const [last] = at.bans;
    assert.ok(last && ban);
    at.bans.splice(0, 1, ...[{ ...last, startedAt: last.startedAt - 1 }, last][order]());
    at.played.commands.length = 0;
    await at.limiter.refreshBans();
    assert.deepEqual((await at.limiter.charge(at.key)).ban, ban);
    assert.deepEqual(at.played.commands, []);
  }
});

test('a lift forgets the refusals before it once, and not those after it', async () => {
  const at = await bench().start();
  await hammer(at);
  at.lift(at.key);
  await at.limiter.refreshBans();
  await charge(at, 1);
  await at.time.pass(2_000);
  await charge(at, BAN_AFTER - 1);
  await at.limiter.refreshBans();
  assert.equal((await at.limiter.charge(at.key)).refusal, 'key_banned');
});

test('a ban that followed a lifted one stays in memory when the lift is noticed', async () => {
  const at = await bench(2).start();
  const [, two] = at.all;
  assert.ok(two);
  await hammer({ ...at, limiter: two.limiter });
  at.lift(at.key);
  await two.limiter.refreshBans();
  await charge({ ...at, limiter: two.limiter }, 1);
  await at.time.pass(2_000);
  await charge({ ...at, limiter: two.limiter }, BAN_AFTER);
  assert.equal((await at.limiter.charge(at.key)).refusal, 'key_banned');
  await at.limiter.refreshBans();
  at.played.commands.length = 0;
  assert.equal((await at.limiter.charge(at.key)).refusal, 'key_banned');
  assert.deepEqual(at.played.commands, []);
});

test('a ban that is over but was never stored was not lifted', async () => {
  const at = await bench(2).start();
  const [, two] = at.all;
  assert.ok(two);
  at.played.banFailure = new Error('no room');
  await hammer(at);
  await at.time.pass(60_000);
  await two.limiter.peek(at.key);
  assert.match(at.redis.value(at.key.id) ?? '', /startedAt/);
});

test('a lifted ban that is met over the limit does not lengthen the next one', async () => {
  const at = await bench(2).start();
  const [, two] = at.all;
  assert.ok(two);
  await hammer(at);
  at.lift(at.key);
  await at.time.pass(60_000);
  await charge(at, LIMITS.minute);
  await charge({ ...at, limiter: two.limiter }, 1);
  await at.time.pass(2_000);
  await charge({ ...at, limiter: two.limiter }, BAN_AFTER - 1);
  const { ban, now } = await two.limiter.charge(at.key);
  assert.equal(ban?.until, now + 60);
});

test('a ban that was believed is checked, though another one was found to be true meanwhile', async () => {
  const at = await bench(2).start();
  const other = { ...at.key, id: 'other' };
  const [, two] = at.all;
  assert.ok(two);
  await hammer({ ...at, key: other });
  await hammer(at);
  await at.limiter.save();
  const { lists } = at.played;
  assert.equal((await two.limiter.charge(other)).refusal, 'key_banned');
  await two.limiter.save();
  assert.equal(at.played.lists, lists, 'a ban that storage has needs no list');

  const third = { ...at.key, id: 'third' };
  for (const key of [at.key, third]) await two.limiter.peek({ ...key, id: `${key.id} unbanned` });
  await hammer({ ...at, key: third });
  at.played.failure = new Error('no storage');
  assert.equal((await two.limiter.charge(at.key)).refusal, 'key_banned');
  at.played.failure = undefined;
  await at.time.pass(400);
  assert.equal((await two.limiter.charge(third)).refusal, 'key_banned');
  const before = at.played.lists;
  await two.limiter.save();
  assert.equal(at.played.lists, before + 1);
});

test('a ban that could be stored only after a later one does not take its place', async () => {
  const at = await bench(2).start();
  const [, two] = at.all;
  assert.ok(two);
  await provoke(
    at,
    at.all.map((each) => each.limiter),
  );
  at.redis.takeSnapshot();
  at.played.banFailure = new Error('no room');
  assert.equal((await at.limiter.charge(at.key)).refusal, 'key_banned');
  await at.time.pass(1_000);
  at.redis.failOver();
  at.played.banFailure = undefined;
  const { ban, now } = await two.limiter.charge(at.key);
  assert.equal(ban?.until, now + 60);
  for (let saves = 0; saves < 2; saves += 1) await at.limiter.save();
  assert.match(at.redis.value(at.key.id) ?? '', new RegExp(`"startedAt":${now},.*"isStored":true`));
});

test('refusals since the end of a ban that was still being decided then lead to the next one', async () => {
  const at = await bench().start();
  const { limiter, key, played, redis, time } = at;
  await provoke(at, [limiter]);
  redis.takeSnapshot();
  redis.failOver();
  await time.pass(1_000);
  const read = Promise.withResolvers<void>();
  let deciding: ReturnType<typeof limiter.charge> | undefined;
  // The ban waits for storage, and a look by another plan merges the key, so that its requests do not.
  played.onRead = () => {
    played.onRead = () => read.promise;
    deciding = limiter.charge(key);
  };
  await limiter.peek({ ...key, limits: { ...LIMITS, minute: LIMITS.minute + 1 } });
  time.leap(61_000);
  assert.equal((await charge(at, LIMITS.minute + 1)).at(-1), 'rate_limit_exceeded');
  read.resolve();
  assert.equal((await deciding)?.refusal, 'key_banned');
  await time.pass(2_000);
  assert.deepEqual((await charge(at, BAN_AFTER)).slice(-2), ['rate_limit_exceeded', 'key_banned']);
});
