import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { createClient } from '@redis/client';
import fc from 'fast-check';
import { type ManualClock, manualClock, untilTrue } from '../../../test/kit/clock.ts';
import { type LimiterBench, limiterContract, storedKeys } from '../../../test/kit/limiter-contract.ts';
import { anyLimits, anySteps } from '../../../test/kit/limiter-model.ts';
import { OPERATOR } from '../../../test/kit/operator.ts';
import { keyPrefix, redis, sharedRedis } from '../../../test/kit/redis-server.ts';
import { recordedEvents, temporaryFolder } from '../../../test/kit/service.ts';
import { type ApiKey, newApiKey, secretRecord } from '../../catalog/api-key.ts';
import { PLANS } from '../../catalog/plan.ts';
import type { Storage } from '../../catalog/storage.ts';
import { openStorage } from '../../storage/open.ts';
import { Bans } from '../bans.ts';
import type { Limiter } from '../limiter.ts';
import { LocalLimiter } from '../local-limiter.ts';
import { RedisLimiter, type RedisLimiterOptions } from './limiter.ts';
import type { RedisClient } from './link.ts';

/** These tests are about counting: a machine that is slow for a moment must not turn them into an outage. */
const ANSWER_MS = 20_000;

const { url, skip } = await sharedRedis();

if (skip) test('RedisLimiter', { skip }, () => {});
else limiterContract('RedisLimiter', async () => bench(1));

test('in any sequence RedisLimiter decides as LocalLimiter does', { skip }, async () => {
  await using shared = await bench(1);
  using folder = temporaryFolder();
  await using storage = await openDatabase(folder.path, shared.clock);
  const startLocal = () => new LocalLimiter({ storage, time: shared.clock, events: recordedEvents() });
  let local = startLocal();
  const run = fc.asyncProperty(anyLimits, anySteps, async (firstLimits, steps) => {
    let limits = firstLimits;
    const [one, other] = [await shared.issue(), await issue(storage, 'free')];
    const compare = async (method: 'charge' | 'peek') => {
      const decision = await at(shared.limiters, 0)[method]({ ...one, limits });
      assert.deepEqual(decision, await local[method]({ ...other, limits }));
      return decision;
    };
    for (const step of steps) {
      if (step.kind === 'call') for (let i = 0; i < step.count; i += 1) await compare('charge');
      if (step.kind === 'wait') shared.clock.advance(step.seconds);
      // Not back over midnight: a new day that only refused requests have seen is remembered by LocalLimiter alone.
      const { unix } = shared.clock.now();
      if (step.kind === 'clock' && toDay(unix + step.seconds) >= toDay(unix)) shared.clock.step(step.seconds);
      if (step.kind === 'plan') limits = step.limits;
      if (step.kind === 'rotate') await Promise.all([at(shared.limiters, 0).save(), local.save()]);
      if (step.kind === 'restart') {
        await shared.restart();
        await local[Symbol.asyncDispose]();
        local = startLocal();
      }
      if (step.kind === 'obey') {
        const { reset, now } = await compare('peek');
        shared.clock.advance(reset - now);
      }
      await compare('peek');
    }
  });
  await fc.assert(run, { numRuns: 60 });
  await local[Symbol.asyncDispose]();
});

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

test('an exhausted key is refused from memory by each instance that has seen it', { skip }, async () => {
  await using shared = await bench(2);
  const key = await shared.issue();
  for (let i = 0; i < 61; i += 1) await at(shared.limiters, 0).charge(key);
  assert.equal(shared.events.fromMemory(), 0);
  await at(shared.limiters, 0).charge(key);
  assert.equal(shared.events.fromMemory(), 1);
  await at(shared.limiters, 1).charge(key);
  assert.equal(shared.events.fromMemory(), 1);
  await at(shared.limiters, 1).charge(key);
  assert.equal(shared.events.fromMemory(), 2);

  const upgraded = { ...key, plan: 'pro', limits: PLANS.pro } as const;
  for (const limiter of shared.limiters) assert.equal((await limiter.charge(upgraded)).refusal, undefined);
  shared.clock.advance(60);
  assert.equal((await at(shared.limiters, 0).charge(key)).refusal, undefined);
});

test('a ban holds on every instance while Redis is lost, without a question to Redis', { skip }, async () => {
  let isLost = false;
  let asked = 0;
  const newClient = (address: string): RedisClient => {
    const client = createClient({ url: address, RESP: 2, maintNotifications: 'disabled' });
    return {
      on: (event, listener) => client.on(event, listener),
      get isReady() {
        return client.isReady;
      },
      connect: () => (isLost ? Promise.reject(new Error('lost')) : client.connect()),
      sendCommand: (command) => {
        if (!command[3]?.includes('beat') && command[0] === 'EVALSHA') asked += 1;
        return isLost ? Promise.reject(new Error('lost')) : client.sendCommand(command);
      },
      destroy: () => client.isOpen && client.destroy(),
    };
  };
  await using shared = await bench(4, { newClient });
  const key = await shared.issue();
  const { ban } = await hammer(shared, key);
  for (const gate of shared.gates) await gate.charge(key);
  asked = 0;
  for (const gate of shared.gates) assert.deepEqual((await gate.charge(key)).ban, ban);
  assert.equal(asked, 0);
  isLost = true;
  for (const limiter of shared.limiters) await limiter.peek({ ...key, id: 'another' });
  await untilTrue(() => shared.limiters.every(({ state }) => state === 'degraded'));
  const decisions = await Promise.all(Array.from({ length: 240 }, (_, i) => at(shared.gates, i % 4).charge(key)));
  assert.ok(decisions.every(({ refusal }) => refusal === 'key_banned'));
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

test('by the server’s time, a wait is never too short, and clock steps lock out no client', {
  skip,
}, async () => {
  await using shared = await bench(1);
  await using keys = keyPrefix(url);
  const { storage, clock, events } = shared;
  await using limiter = new RedisLimiter({
    storage,
    time: clock,
    events,
    url,
    instances: 1,
    keyPrefix: keys.prefix,
    answerMs: ANSWER_MS,
  });
  await limiter.connect();
  const key = await shared.issue();
  const nowBefore = Math.floor(Date.now() / 1000);
  for (let i = 0; i < 60; i += 1) assert.equal((await limiter.charge(key)).refusal, undefined);
  for (let i = 0; i < 2; i += 1) {
    const { refusal, reset, now } = await limiter.charge(key);
    assert.equal(refusal, 'rate_limit_exceeded');
    // The server of the tests may stand on another machine, whose clock is a little off.
    assert.ok(Math.abs(now - nowBefore) < 60 && reset - now >= 1 && reset - now <= 60);
  }
  // As if the clock had been ahead by an hour when the window was opened.
  const name = `${keys.prefix}:{${key.id}}`;
  const value = async () => String(await redis(url, ['GET', name])).split(' ');
  const [minuteEnds, ...rest] = await value();
  await redis(url, ['SET', name, [Number(minuteEnds) + 3_600, ...rest].join(' ')]);
  const refused = await limiter.charge({ ...key, limits: { minute: 59, day: 1_000 } });
  assert.equal(refused.reset - refused.now, 60);
  assert.equal(Number((await value())[0]), refused.reset, 'from then on the end comes nearer');
});

interface RedisBench extends LimiterBench {
  readonly clock: ManualClock;
  /** What counts in each instance, and the whole limiter of each, the first of them `limiter`. */
  readonly limiters: RedisLimiter[];
  readonly gates: readonly Limiter[];
  readonly keyPrefix: string;
  readonly events: ReturnType<typeof recordedEvents>;
  issue(plan?: 'free' | 'pro'): Promise<ApiKey>;
}

async function bench(
  instances: number,
  { newClient }: Pick<RedisLimiterOptions, 'newClient'> = {},
): Promise<RedisBench> {
  const folder = temporaryFolder();
  const keys = keyPrefix(url);
  const clock = manualClock();
  const storage = await openDatabase(folder.path, clock);
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
      ...(newClient && { newClient }),
    });
    await limiter.connect();
    assert.equal(limiter.state, 'ok');
    return limiter;
  };
  const withBans = (limiter: RedisLimiter) => new Bans(limiter, { storage, time: clock, events, banAfter: 60 });
  const limiters = await Promise.all(Array.from({ length: instances }, start));
  const bans = limiters.map(withBans);
  const stop = () => Promise.all(bans.map((each) => each[Symbol.asyncDispose]()));
  const withKeys = await storedKeys(storage);
  const gates = bans.map((_, index) => withKeys(() => at(bans, index)));
  return {
    limiter: at(gates, 0),
    gates,
    limiters,
    storage,
    clock,
    events,
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

function openDatabase(folder: string, clock: ManualClock) {
  return openStorage(
    { engine: 'sqlite', file: join(folder, 'test.db') },
    { time: clock, categoriesMax: 10, categoriesBytesMax: 10_000 },
  );
}

function toDay(unix: number): number {
  return Math.floor(unix / 86_400);
}

/** Runs a free key into its minute limit and on, until the first instance bans it. */
async function hammer({ limiter, clock }: RedisBench, key: ApiKey) {
  for (let i = 0; i < 61; i += 1) await limiter.charge(key);
  clock.advance(2);
  for (let i = 0; i < 60; i += 1) await limiter.charge(key);
  const banned = await limiter.charge(key);
  assert.equal(banned.refusal, 'key_banned');
  return banned;
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
