import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiKey } from '../../src/catalog/api-key.ts';
import type { Limits } from '../../src/catalog/plan.ts';
import type { LimitStorage } from '../../src/catalog/window-counts.ts';
import type { DatabaseAddress } from '../../src/config.ts';
import { untilEqual, untilTrue } from '../kit/clock.ts';
import { redisBench } from '../kit/limits/redis-bench.ts';
import { noPostgresPrograms, startPostgres } from '../kit/postgres-server.ts';
import { openProxy } from '../kit/proxy.ts';
import { redisServerMissing, startRedis } from '../kit/redis-server.ts';
import { openSwitchProxy } from './switch-proxy.ts';

/** A Redis that returns with older data: no token is spent twice. */

const SPENT: Limits = { minute: 40, day: 1_000 };
const SPENT_DAY: Limits = { minute: 1_000, day: 40 };

const options = { skip: redisServerMissing() };

test('a snapshot from before re-opens no window', options, async () => {
  await using bench = await oldDataBench();
  const keys = await bench.spendSome();
  await bench.redis.command('SAVE');
  await bench.spendTheRest(keys);
  await bench.saveAll();
  await bench.redis.kill();
  await bench.until('degraded');
  await bench.redis.start();
  await bench.until('ok');
  await bench.assertNothingIsGivenAgain(keys);
});

test('a replica that lagged and was promoted re-opens no window', options, async () => {
  await using bench = await oldDataBench();
  await using lagging = await openProxy({ host: '127.0.0.1', port: bench.redis.port });
  await using replica = await startRedis('--replicaof', `127.0.0.1 ${lagging.port}`);
  const keys = await bench.spendSome();
  await untilEqual(() => bench.redis.command('WAIT', '1', '1000'), 1);
  lagging.swallow();
  await bench.spendTheRest(keys);
  await bench.saveAll();
  await bench.redis.kill();
  await bench.until('degraded');
  await replica.command('REPLICAOF', 'NO', 'ONE');
  lagging.cut();
  await bench.proxy.turnTo(replica.port);
  await bench.until('ok');
  await bench.assertNothingIsGivenAgain(keys);
});

test('while storage hangs, Redis and local memory decide; afterwards all three are merged', {
  ...options,
  skip: options.skip ?? noPostgresPrograms,
}, async () => {
  await using postgres = await startPostgres();
  await using bench = await oldDataBench({ engine: 'postgres', url: postgres.url });
  const one = bench.at(0);
  const keys = await bench.spendSome();
  const own = await bench.issue(SPENT);
  await bench.spend(own, 10);
  await bench.redis.command('SAVE');
  await bench.spendTheRest(keys);
  await bench.saveAll();
  postgres.freeze();
  for (let requests = 0; requests < 30; requests += 1) await one.charge(own);
  await bench.redis.kill();
  await bench.until('degraded');
  await bench.redis.start();
  await bench.until('ok');

  const timed = async (key: ApiKey) => {
    const startedMs = performance.now();
    assert.equal((await one.charge(key)).refusal, undefined, 'Redis is believed');
    return performance.now() - startedMs;
  };
  const waitedMs = await timed(keys.spent);
  assert.ok((await timed(keys.spentDay)) < waitedMs, 'one hanging read is waited for, not each');
  assert.equal((await one.charge(own)).refusal, 'rate_limit_exceeded', 'what is not saved yet is known');

  postgres.thaw();
  await untilTrue(() => bench.refuses(keys));
  await bench.assertNothingIsGivenAgain(keys);
});

test('what was read for the last server does not count as merged on the next', options, async () => {
  await using bench = await oldDataBench();
  const key = await bench.issue(SPENT);
  await bench.spend(key, 3);
  await bench.saveAll();
  await using fresh = await bench.start();
  const limits: LimitStorage = bench.storage.limits;
  const { counts } = limits;
  const isRead = Promise.withResolvers<void>();
  const mayGoOn = Promise.withResolvers<void>();
  limits.counts = async (keyId) => {
    limits.counts = counts;
    const read = await counts(keyId);
    isRead.resolve();
    await mayGoOn.promise;
    return read;
  };
  const late = fresh.charge(key);
  await isRead.promise;
  await bench.spend(key, 37);
  await bench.saveAll();
  await bench.redis.kill();
  await untilEqual(() => fresh.state, 'degraded');
  await bench.redis.start();
  await untilEqual(() => fresh.state, 'ok');
  mayGoOn.resolve();
  await late;
  await untilTrue(async () => (await fresh.peek(key)).refusal !== undefined);
});

interface Keys {
  readonly spent: ApiKey;
  readonly spentDay: ApiKey;
}

/** Two instances on a Redis of their own, which can be exchanged. */
async function oldDataBench(database?: DatabaseAddress) {
  await using stack = new AsyncDisposableStack();
  const redis = stack.use(await startRedis());
  const proxy = stack.use(await openSwitchProxy(redis.port));
  const url = () => `redis://127.0.0.1:${proxy.port}`;
  const bench = stack.use(await redisBench({ url, ...(database && { database }) }));
  // Connecting has a deadline of its own.
  await bench.until('ok');
  bench.lost.length = 0;
  const { limiters, issue, spend } = bench;
  const running = stack.move();
  return {
    ...{ ...bench, redis, proxy },
    async refuses({ spent, spentDay }: Keys) {
      const peeks = limiters.flatMap((limiter) => [spent, spentDay].map((key) => limiter.peek(key)));
      const decisions = await Promise.all(peeks);
      return decisions.every(({ refusal }) => refusal !== undefined);
    },
    async spendSome(): Promise<Keys> {
      const keys = { spent: await issue(SPENT), spentDay: await issue(SPENT_DAY) };
      for (const key of Object.values(keys)) assert.equal(await spend(key, 3), 3);
      return keys;
    },
    async spendTheRest(keys: Keys) {
      // And no more: an instance remembers a refusal of its own.
      for (const key of Object.values(keys)) assert.equal(await spend(key, 37), 37);
    },
    async assertNothingIsGivenAgain({ spent, spentDay }: Keys) {
      await using fresh = await bench.start();
      for (const limiter of [...limiters, fresh]) {
        assert.equal((await limiter.charge(spent)).refusal, 'rate_limit_exceeded');
        assert.equal((await limiter.charge(spentDay)).refusal, 'daily_quota_exceeded');
      }
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
