import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { manualClock } from '../../test/kit/clock.ts';
import { type LimiterBench, limiterContract } from '../../test/kit/limiter-contract.ts';
import { OPERATOR } from '../../test/kit/operator.ts';
import { recordedEvents, temporaryFolder } from '../../test/kit/service.ts';
import { type ApiKey, newApiKey, secretRecord } from '../catalog/api-key.ts';
import { openStorage } from '../storage/open.ts';
import { LocalLimiter } from './local-limiter.ts';

limiterContract('LocalLimiter', () => localBench());

async function localBench(keysMax?: number): Promise<LimiterBench> {
  const folder = temporaryFolder();
  const clock = manualClock();
  const storage = await openStorage(
    { engine: 'sqlite', file: join(folder.path, 'test.db') },
    { clock: clock.now, categoriesMax: 10, categoriesBytesMax: 10_000 },
  );
  const start = () =>
    new LocalLimiter({
      storage,
      clock: clock.now,
      events: recordedEvents(),
      banAfter: 60,
      ...(keysMax !== undefined && { keysMax }),
    });
  let limiter = start();
  return {
    get limiter() {
      return limiter;
    },
    storage,
    clock,
    async restart() {
      await limiter[Symbol.asyncDispose]();
      limiter = start();
    },
    async [Symbol.asyncDispose]() {
      await limiter[Symbol.asyncDispose]();
      await storage[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

test('LocalLimiter: evicted keys keep their counts', async () => {
  await using bench = await localBench(3);
  const keys = await Promise.all(Array.from({ length: 20 }, () => issue(bench)));
  for (let round = 1; round <= 5; round += 1) {
    for (const key of keys) assert.equal((await bench.limiter.charge(key)).remaining, 60 - round);
    await bench.limiter.refreshBans(); // saves, so that keys may be evicted
  }
});

test('LocalLimiter: a request that is counted during a save is saved by the next one', async () => {
  await using bench = await localBench();
  const key = await issue(bench);
  const { limits } = bench.storage;
  const saveCounts = limits.saveCounts.bind(limits);
  await bench.limiter.charge(key);
  limits.saveCounts = async (counts) => {
    limits.saveCounts = saveCounts;
    await bench.limiter.charge(key);
    await saveCounts(counts);
  };
  await bench.limiter.refreshBans(); // saves
  assert.equal((await limits.memory(key.id)).counts?.dayUsed, 1);
  await bench.limiter.refreshBans();
  assert.equal((await limits.memory(key.id)).counts?.dayUsed, 2);
});

test('LocalLimiter: a ban that begins while the bans are read again stays', async () => {
  await using bench = await localBench();
  const key = await issue(bench);
  await hammer(bench, key);
  const { limits } = bench.storage;
  const memory = limits.memory.bind(limits);
  limits.memory = async (keyId) => {
    limits.memory = memory;
    const read = await memory(keyId);
    bench.clock.advance(60);
    await hammer(bench, key);
    return read;
  };
  await bench.limiter.refreshBans();
  assert.equal((await bench.limiter.peek(key)).refusal, 'key_banned');
});

test('LocalLimiter: a clock set back while the service is down lengthens no window and no ban', async () => {
  await using bench = await localBench();
  const [spent, banned] = [await issue(bench), await issue(bench)];
  await hammer(bench, banned);
  for (let i = 0; i < 60; i += 1) await bench.limiter.charge(spent);
  await bench.limiter[Symbol.asyncDispose]();
  const clock = manualClock(bench.clock.now().unix - 3_600);
  await using limiter = new LocalLimiter({
    storage: bench.storage,
    clock: clock.now,
    events: recordedEvents(),
    banAfter: 60,
  });
  for (const [key, refusal] of [
    [spent, 'rate_limit_exceeded'],
    [banned, 'key_banned'],
  ] as const) {
    const refused = await limiter.charge(key);
    assert.deepEqual([refused.refusal, refused.reset - refused.now], [refusal, 60]);
  }
});

test('LocalLimiter: a ban that could not be stored is not taken for a lifted one', async () => {
  await using bench = await localBench();
  const key = await issue(bench);
  const { limits } = bench.storage;
  const insertBan = limits.insertBan.bind(limits);
  limits.insertBan = () => Promise.reject(new Error('the disk is full'));
  await hammer(bench, key);
  await bench.limiter.refreshBans();
  assert.equal((await bench.limiter.peek(key)).refusal, 'key_banned');
  limits.insertBan = insertBan;
  await bench.restart();
  assert.equal((await bench.limiter.peek(key)).refusal, 'key_banned');
});

test('LocalLimiter: a clock stepped on while the answer to a move is lost moves the windows once, all the way', async () => {
  await using bench = await localBench();
  const key = await issue(bench);
  const { limits } = bench.storage;
  const move = limits.move.bind(limits);
  await bench.limiter.charge(key);
  await bench.limiter.refreshBans(); // saves
  const before = (await limits.memory(key.id)).counts?.minuteEnds ?? 0;
  bench.clock.step(3_000);
  limits.move = async (seconds, attempt) => {
    limits.move = move;
    await move(seconds, attempt);
    bench.clock.step(40);
    throw new Error('the answer was lost');
  };
  await bench.limiter.refreshBans();
  assert.equal((await limits.memory(key.id)).counts?.minuteEnds, before + 3_000);
  await bench.limiter.refreshBans();
  assert.equal((await limits.memory(key.id)).counts?.minuteEnds, before + 3_040);
});

test('LocalLimiter: a key stays in memory until its ban is stored, though its counts are', async () => {
  await using bench = await localBench(3);
  const { limiter, clock, storage } = bench;
  const banned = await issue(bench);
  const { saveCounts } = storage.limits;
  for (let i = 0; i < 61; i += 1) await limiter.charge(banned);
  clock.advance(2);
  for (let i = 0; i < 60; i += 1) await limiter.charge(banned);
  // So many keys that the banned one, whose id is greater, comes in the second part of a save.
  const others = Array.from({ length: 500 }, (_, index) => ({ ...banned, id: `a${index}` }));
  for (const other of others) await limiter.charge(other);
  storage.limits.insertBan = () => Promise.reject(new Error('the disk is full'));
  const banning = Promise.withResolvers<unknown>();
  storage.limits.saveCounts = async () => {
    Object.assign(storage.limits, { saveCounts });
    banning.resolve(limiter.charge(banned));
  };
  await limiter.refreshBans(); // saves
  await banning.promise;
  // Each call may evict what is saved.
  for (const other of others) await limiter.charge(other);
  assert.equal((await limiter.peek(banned)).refusal, 'key_banned');
});

test('LocalLimiter: a decision reported later counts what came after it', async () => {
  await using bench = await localBench();
  const key = await issue(bench);
  const decision = await bench.limiter.charge(key);
  for (let i = 0; i < 9; i += 1) await bench.limiter.charge(key);
  bench.clock.advance(1);
  assert.deepEqual(bench.limiter.current(key, decision), await bench.limiter.peek(key));
  assert.equal(bench.limiter.current(key, decision).remaining, 50);
});

/** Runs a free key into its minute limit and on, until it is banned. */
async function hammer({ limiter, clock }: LimiterBench, key: ApiKey) {
  for (let i = 0; i < 61; i += 1) await limiter.charge(key);
  clock.advance(2);
  for (let i = 0; i < 60; i += 1) await limiter.charge(key);
  assert.equal((await limiter.charge(key)).refusal, 'key_banned');
}

async function issue({ storage }: LimiterBench): Promise<ApiKey> {
  const { key, secret } = newApiKey({ name: 'one', environment: 'production', plan: 'free' }, 0);
  await storage.keys.insert(key, secretRecord(secret), OPERATOR);
  return key;
}

test('LocalLimiter: counts that are read while stored moments move are those of after the move', async () => {
  await using bench = await localBench();
  const key = await issue(bench);
  for (let i = 0; i < 10; i += 1) await bench.limiter.charge(key);
  bench.clock.advance(30);
  await bench.restart();
  const { limits } = bench.storage;
  const { memory } = limits;
  const read = Promise.withResolvers<void>();
  const moved = Promise.withResolvers<void>();
  limits.memory = async (keyId) => {
    const found = await memory.call(limits, keyId);
    read.resolve();
    await moved.promise;
    return found;
  };
  const charging = bench.limiter.charge(key);
  await read.promise;
  bench.clock.step(-5_000);
  await bench.limiter.refreshBans(); // saves
  moved.resolve();
  const { minute, now } = await charging;
  assert.deepEqual([minute.remaining, minute.reset - now], [49, 30]);
});
