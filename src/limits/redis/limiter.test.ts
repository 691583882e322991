import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redisBench } from '../../../test/kit/limits/redis-bench.ts';
import { keyPrefix, redis, sharedRedis } from '../../../test/kit/redis-server.ts';
import { limiterContract, storedKeys } from '../../../test/limits/limiter-contract.ts';
import { PLANS } from '../../catalog/plan.ts';
import { Bans } from '../bans.ts';
import type { RedisLimiter } from './limiter.ts';

const [FREE, PRO] = [PLANS.free, PLANS.pro];

const { url, skip } = await sharedRedis();

if (skip) test('RedisLimiter', { skip }, () => {});
else limiterContract('RedisLimiter', async () => bench(1));

test('of simultaneous requests to four instances, exactly as many are admitted as the plan has left', {
  skip,
}, async () => {
  await using shared = await bench(4);
  const key = await shared.issue(PRO);
  for (let used = 0; used < 100; used += 1) await shared.at(used).charge(key);
  const decisions = await Promise.all(Array.from({ length: 1_000 }, (_, i) => shared.at(i).charge(key)));
  const admitted = decisions.filter(({ refusal }) => !refusal);
  assert.equal(admitted.length, 200);
  assert.equal(new Set(admitted.map(({ remaining }) => remaining)).size, 200, 'each was told another remainder');
  for (const limiter of shared.limiters) assert.equal((await limiter.peek(key)).day.remaining, 10_000 - 300);
});

test('a value outlives the UTC day that it counts, and no key that is no longer used stays', { skip }, async () => {
  await using shared = await bench(1);
  const key = await shared.issue(FREE);
  await shared.limiter.charge(key);
  const name = `${shared.keyPrefix}:{${key.id}}`;
  const left = Number(await redis(url, ['TTL', name]));
  assert.ok(left > 2 * 86_400 - 600 && left <= 2 * 86_400, `${left} s`);
  await redis(url, ['EXPIRE', name, '600']);
  await shared.limiter.peek(key);
  assert.ok(Number(await redis(url, ['TTL', name])) <= 600, 'a look writes nothing');
});

/** Instances on a prefix of their own in the shared Redis; `limiter` is the first, with its bans. */
async function bench(instances: number) {
  await using stack = new AsyncDisposableStack();
  const keys = stack.use(keyPrefix(url));
  const own = stack.use(await redisBench({ url: () => url, instances, keyPrefix: keys.prefix }));
  await own.until('ok');
  const { storage, clock, events, limiters } = own;
  const newBans = (limiter: RedisLimiter) => new Bans(limiter, { storage, time: clock, events, banAfter: 60 });
  let bans = newBans(own.at(0));
  const running = stack.move();
  return {
    ...own,
    limiter: (await storedKeys(storage))(() => bans),
    keyPrefix: keys.prefix,
    async restart() {
      await bans[Symbol.asyncDispose]();
      limiters[0] = await own.start();
      await own.until('ok');
      bans = newBans(limiters[0]);
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
