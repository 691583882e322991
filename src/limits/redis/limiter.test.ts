import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { manualClock } from '../../../test/kit/clock.ts';
import { type LimiterBench, limiterContract, storedKeys } from '../../../test/kit/limiter-contract.ts';
import { OPERATOR } from '../../../test/kit/operator.ts';
import { keyPrefix, redis, sharedRedis } from '../../../test/kit/redis-server.ts';
import { recordedEvents, temporaryFolder } from '../../../test/kit/service.ts';
import { type ApiKey, newApiKey, secretRecord } from '../../catalog/api-key.ts';
import type { Storage } from '../../catalog/storage.ts';
import { openStorage } from '../../storage/open.ts';
import { Bans } from '../bans.ts';
import { RedisLimiter } from './limiter.ts';

/** These tests are about counting: a machine that is slow for a moment must not turn them into an outage. */
const ANSWER_MS = 20_000;

const { url, skip } = await sharedRedis();

if (skip) test('RedisLimiter', { skip }, () => {});
else limiterContract('RedisLimiter', async () => bench(1));

test('of simultaneous requests to four instances, exactly as many are admitted as the plan has left', {
  skip,
}, async () => {
  await using shared = await bench(4);
  const key = await shared.issue('pro');
  for (let used = 0; used < 100; used += 1) await at(shared.limiters, used % 4).charge(key);
  const decisions = await Promise.all(Array.from({ length: 1_000 }, (_, i) => at(shared.limiters, i % 4).charge(key)));
  const admitted = decisions.filter(({ refusal }) => !refusal);
  assert.equal(admitted.length, 200);
  assert.equal(new Set(admitted.map(({ remaining }) => remaining)).size, 200, 'each was told another remainder');
  for (const limiter of shared.limiters) assert.equal((await limiter.peek(key)).day.remaining, 10_000 - 300);
});

test('a value outlives the UTC day that it counts, and no key that is no longer used stays', { skip }, async () => {
  await using shared = await bench(1);
  const key = await shared.issue();
  await shared.limiter.charge(key);
  const name = `${shared.keyPrefix}:{${key.id}}`;
  const left = Number(await redis(url, ['TTL', name]));
  assert.ok(left > 2 * 86_400 - 600 && left <= 2 * 86_400, `${left} s`);
  await redis(url, ['EXPIRE', name, '600']);
  await shared.limiter.peek(key);
  assert.ok(Number(await redis(url, ['TTL', name])) <= 600, 'a look writes nothing');
});

test('an unreadable value affects neither its key nor others', { skip }, async () => {
  await using shared = await bench(1);
  const key = await shared.issue();
  for (let i = 0; i < 50; i += 1) await shared.limiter.charge(key);
  await redis(url, ['SET', `${shared.keyPrefix}:{${key.id}}`, 'from a later version']);
  assert.equal((await shared.limiter.charge(key)).day.remaining, 949);
  assert.equal((await shared.limiter.charge(key)).day.remaining, 948);
  assert.equal(shared.limiter.state, 'ok');
});

interface RedisBench extends LimiterBench {
  /** What counts in each instance; `limiter` is the first, with its bans. */
  readonly limiters: RedisLimiter[];
  readonly keyPrefix: string;
  issue(plan?: 'free' | 'pro'): Promise<ApiKey>;
}

async function bench(instances: number): Promise<RedisBench> {
  const folder = temporaryFolder();
  const keys = keyPrefix(url);
  const clock = manualClock();
  const storage = await openStorage(
    { engine: 'sqlite', file: join(folder.path, 'test.db') },
    { time: clock, categoriesMax: 10, categoriesBytesMax: 10_000 },
  );
  const events = recordedEvents();
  const start = async () => {
    const limiter = new RedisLimiter({
      storage,
      time: clock,
      serverTime: clock,
      events,
      url,
      instances,
      keyPrefix: keys.prefix,
      answerMs: ANSWER_MS,
    });
    await limiter.connect();
    assert.equal(limiter.state, 'ok');
    return limiter;
  };
  const withBans = (limiter: RedisLimiter) => new Bans(limiter, { storage, time: clock, events, banAfter: 60 });
  const limiters = await Promise.all(Array.from({ length: instances }, start));
  const bans = limiters.map(withBans);
  const stop = () => Promise.all(bans.map((each) => each[Symbol.asyncDispose]()));
  return {
    limiter: (await storedKeys(storage))(() => at(bans, 0)),
    limiters,
    storage,
    clock,
    keyPrefix: keys.prefix,
    issue: (plan = 'free') => issue(storage, plan),
    async restart() {
      await stop();
      limiters.splice(0, instances, ...(await Promise.all(Array.from({ length: instances }, start))));
      bans.splice(0, instances, ...limiters.map(withBans));
    },
    async [Symbol.asyncDispose]() {
      await stop();
      await keys[Symbol.asyncDispose]();
      await storage[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

async function issue(storage: Storage, plan: 'free' | 'pro'): Promise<ApiKey> {
  const { key, secret } = newApiKey({ name: plan, environment: 'production', plan }, 0);
  await storage.keys.insert(key, secretRecord(secret), OPERATOR);
  return key;
}

function at<T>(items: readonly T[], index: number): T {
  const item = items[index];
  assert.ok(item !== undefined);
  return item;
}
