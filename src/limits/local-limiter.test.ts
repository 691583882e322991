import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { manualClock } from '../../test/kit/clock.ts';
import { recordedEvents } from '../../test/kit/events.ts';
import { temporaryFolder } from '../../test/kit/folder.ts';
import { OPERATOR } from '../../test/kit/operator.ts';
import { type LimiterBench, limiterContract, storedKeys } from '../../test/limits/limiter-contract.ts';
import { type ApiKey, newApiKey, secretRecord } from '../catalog/api-key.ts';
import { enforced } from '../catalog/ban.ts';

import { openStorage } from '../storage/open.ts';
import { Bans } from './bans.ts';
import { LocalLimiter } from './local-limiter.ts';

limiterContract('LocalLimiter', () => localBench());

async function localBench(keysMax?: number): Promise<LimiterBench & { readonly counter: LocalLimiter }> {
  const folder = temporaryFolder();
  const clock = manualClock();
  const storage = await openStorage(
    { engine: 'sqlite', file: join(folder.path, 'test.db') },
    { time: clock, categoriesMax: 10, categoriesBytesMax: 10_000 },
  );
  const start = () => {
    const events = recordedEvents();
    const options = { storage, time: clock, events };
    const counter = new LocalLimiter({ ...options, ...(keysMax !== undefined && { keysMax }) });
    return { counter, bans: new Bans(counter, { ...options, banAfter: 60 }) };
  };
  let running = start();
  return {
    limiter: (await storedKeys(storage))(() => running.bans),
    get counter() {
      return running.counter;
    },
    storage,
    clock,
    async restart() {
      await running.bans[Symbol.asyncDispose]();
      running = start();
    },
    async [Symbol.asyncDispose]() {
      await running.bans[Symbol.asyncDispose]();
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
    await bench.counter.save(); // so that keys may be evicted
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
  for (const used of [1, 2]) {
    await bench.counter.save();
    const counts = await limits.counts(key.id);
    assert.equal(counts?.dayUsed, used);
  }
});

test('LocalLimiter: a clock set back while the service is down lengthens no window and no ban', async () => {
  await using bench = await localBench();
  const [spent, banned] = [await issue(bench), await issue(bench)];
  await hammer(bench, banned);
  for (let i = 0; i < 60; i += 1) await bench.limiter.charge(spent);
  await bench.limiter[Symbol.asyncDispose]();
  // From another day.
  for (const hours of [1, 30]) {
    const clock = manualClock(bench.clock.now().unix - hours * 3_600);
    const options = { storage: bench.storage, time: clock, events: recordedEvents() };
    const limiter = new Bans(new LocalLimiter(options), { ...options, banAfter: 60 });
    const read = (await bench.storage.keys.find(banned.id)) ?? assert.fail();
    assert.ok(read.ban);
    const ban = enforced(read.ban, clock.now());
    for (const [key, refusal] of [
      [spent, 'rate_limit_exceeded'],
      [{ ...read, ban }, 'key_banned'],
    ] as const) {
      const refused = await limiter.charge(key);
      assert.deepEqual([refused.refusal, refused.reset - refused.now], [refusal, 60]);
      assert.deepEqual([refused.day.remaining, refused.day.reset - refused.now <= 86_400], [940, true]);
    }
  }
});

test('LocalLimiter: a clock set forward while a key is not in memory ends its window early, and no more', async () => {
  await using bench = await localBench();
  const key = await issue(bench);
  for (let i = 0; i < 61; i += 1) await bench.limiter.charge(key);
  await bench.limiter[Symbol.asyncDispose]();
  const clock = manualClock(bench.clock.now().unix + 40);
  await using limiter = new LocalLimiter({ storage: bench.storage, time: clock, events: recordedEvents() });
  const { refusal, reset, now, day } = await limiter.charge(key);
  assert.deepEqual([refusal, reset - now, day.remaining], ['rate_limit_exceeded', 20, 940]);
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
