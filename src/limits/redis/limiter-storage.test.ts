import assert from 'node:assert/strict';
import { test } from 'node:test';
import { untilTrue } from '../../../test/kit/clock.ts';
import {
  BAN_AFTER,
  bench,
  charge,
  countsOf,
  DAY,
  hammer,
  LIMITS,
  NOON,
  provoke,
} from '../../../test/kit/limits/played-redis.ts';
import type { WindowCounts } from '../../catalog/limit.ts';

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

test('a key that was refused stays refused while Redis is lost, and its bans are enforced', async () => {
  const at = await bench().start();
  const { limiter, key } = at;
  const other = { ...key, id: 'other' };
  await charge(at, LIMITS.minute + 1);
  at.bans.push({ keyId: other.id, startedAt: NOON, endsAt: NOON + 60, level: 1, reason: 'r' });
  await at.lose(true);
  assert.equal((await limiter.peek(key)).refusal, 'rate_limit_exceeded');
  assert.equal((await limiter.charge(key)).refusal, 'rate_limit_exceeded');
  const { refusal, ban } = await limiter.charge(other);
  assert.deepEqual([refusal, ban?.until], ['key_banned', NOON + 60]);
});

test('bans that cannot be read when Redis is lost are reported', async () => {
  const at = await bench().start();
  at.played.failure = new Error('no storage');
  await at.lose(true);
  assert.ok(at.events.failures.includes(at.played.failure));
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

test('a ban is told, stored, and then marked as stored in Redis', async () => {
  const at = await bench().start();
  const banned = await hammer(at);
  assert.deepEqual([banned.refusal, banned.ban?.until], ['key_banned', NOON + 62]);
  const ban = { keyId: at.key.id, startedAt: NOON + 2, endsAt: NOON + 62, level: 1, reason: banned.ban?.reason };
  assert.deepEqual([at.bans, at.events.bans], [[ban], [ban]]);
  assert.match(at.redis.value(at.key.id) ?? '', /"isStored":true/);
  await at.time.pass(5_000);
  assert.equal(at.attempts.length, 1);
});

test('a ban that cannot be stored holds, and is stored by a later save in the same attempt', async () => {
  const at = await bench().start();
  const { key, limiter, attempts } = at;
  await charge(at, LIMITS.minute + 1);
  await at.time.pass(2_000);
  at.played.failure = new Error('no storage');
  await charge(at, BAN_AFTER);
  assert.equal((await limiter.charge(key)).refusal, 'key_banned');
  await at.time.pass(1);
  assert.ok(at.events.failures.includes(at.played.failure));
  assert.match(at.redis.value(key.id) ?? '', /"isStored":false/);
  await limiter.save();
  at.played.failure = undefined;
  await limiter.save();
  await limiter.save();
  assert.equal(at.bans.length, 1);
  assert.ok(attempts.length >= 3 && attempts[0] !== undefined && new Set(attempts).size === 1, `${attempts}`);
  assert.match(at.redis.value(key.id) ?? '', /"isStored":true/);
  at.lift(key);
  await limiter.refreshBans();
  assert.equal((await limiter.charge(key)).refusal, 'rate_limit_exceeded', 'then it can be lifted');
});

test('a Redis that lost its data gets the greater of what storage and this process remember', async () => {
  const at = await bench().start();
  const { key, limiter, memories, redis } = at;
  const remember = (counts: Partial<WindowCounts>) =>
    memories.set(key.id, { counts: { ...countsOf(key, 1), ...counts }, ban: undefined, lifted: undefined });
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

test('a ban that is stored while the bans are read stays enforced', async () => {
  for (const readingBegins of ['before the ban', 'while it is decided', 'before it is retried']) {
    const at = await bench().start();
    const { key, limiter, played } = at;
    await provoke(at, [limiter]);
    const [decided, listed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const begin = () => {
      played.onList = () => listed.promise;
      return limiter.refreshBans();
    };
    played.banFailure = readingBegins === 'before it is retried' ? new Error('no storage') : undefined;
    const early = readingBegins === 'before the ban' ? begin() : undefined;
    played.onRead = () => decided.promise;
    const banned = limiter.charge(key);
    const late = readingBegins === 'while it is decided' ? begin() : undefined;
    decided.resolve();
    assert.equal((await banned).refusal, 'key_banned');
    played.banFailure = undefined;
    const reading = early ?? late ?? begin();
    const saving = limiter.save();
    await untilTrue(() => at.bans.length === 1);
    listed.resolve();
    await reading;
    played.commands.length = 0;
    assert.equal((await limiter.charge(key)).refusal, 'key_banned');
    assert.deepEqual(played.commands, [], readingBegins);
    await saving;
  }
});

test('a reading of the bans that outlasts one of them leaves the next one enforced', async () => {
  const at = await bench().start();
  await hammer(at);
  at.lift(at.key);
  const listed = Promise.withResolvers<void>();
  at.played.onList = () => listed.promise;
  const reading = at.limiter.refreshBans();
  await at.time.pass(61_000);
  await hammer(at);
  listed.resolve();
  await reading;
  at.played.commands.length = 0;
  assert.equal((await at.limiter.charge(at.key)).refusal, 'key_banned');
  assert.deepEqual(at.played.commands, []);
});

test('a Redis that comes back without a ban gets it from what this process read before storage failed', async () => {
  const at = await bench(2).start();
  const [, two] = at.all;
  assert.ok(two);
  await charge(at, 1);
  at.redis.takeSnapshot();
  await hammer(at);
  await two.limiter.refreshBans();
  at.played.failure = new Error('no storage');
  at.redis.failOver();
  assert.equal((await two.limiter.charge(at.key)).refusal, 'key_banned');
});
