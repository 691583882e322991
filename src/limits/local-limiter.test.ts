import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { manualClock } from '../../test/kit/clock.ts';
import { type LimiterBench, limiterContract } from '../../test/kit/limiter-contract.ts';
import { OPERATOR } from '../../test/kit/operator.ts';
import { recordedEvents, temporaryFolder } from '../../test/kit/service.ts';
import { newApiKey, secretRecord } from '../catalog/api-key.ts';
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
  const keys = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const { key, secret } = newApiKey({ name: 'one', environment: 'production', plan: 'free' }, 0);
      await bench.storage.keys.insert(key, secretRecord(secret), OPERATOR);
      return key;
    }),
  );
  for (let round = 1; round <= 5; round += 1) {
    for (const key of keys) assert.equal((await bench.limiter.charge(key)).remaining, 60 - round);
    await bench.limiter.refreshBans(); // saves, so that keys may be evicted
  }
});
