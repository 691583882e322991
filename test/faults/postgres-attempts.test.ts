import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ApiKey, newApiKey, secretRecord } from '../../src/catalog/api-key.ts';
import { LocalLimiter } from '../../src/limits/local-limiter.ts';
import { RedisLimiter } from '../../src/limits/redis/limiter.ts';
import { openStorage } from '../../src/storage/open.ts';
import { UsageRecorder } from '../../src/telemetry/usage.ts';
import { manualClock, untilTrue } from '../kit/clock.ts';
import { openCommitProxy } from '../kit/faults/commit-proxy.ts';
import { OPERATOR } from '../kit/operator.ts';
import { noPostgres, temporaryDatabase } from '../kit/postgres.ts';
import { redisServerMissing, startRedis } from '../kit/redis-server.ts';
import { recordedEvents } from '../kit/service.ts';

/** Background writes whose COMMIT answer is lost: a retry must not repeat them. */

const options = { skip: noPostgres };

test('windows move once with a stepped clock, though the outcome was lost', options, async () => {
  await using bench = await attemptsBench();
  const { storage, clock, proxy, key, events } = bench;
  await using limiter = new LocalLimiter({ storage, clock: clock.now, events, banAfter: 60 });
  await limiter.charge(key);
  await limiter.save();
  const before = (await storage.limits.memory(key.id)).counts?.minuteEnds ?? 0;
  clock.step(3_000);
  proxy.breakNext('after', 'update window_counts');
  await limiter.save();
  bench.assertUnknown();
  // The clock goes on being corrected meanwhile; what is retried is the move as it was, and then the rest.
  clock.step(40);
  await limiter.save();
  assert.equal((await storage.limits.memory(key.id)).counts?.minuteEnds, before + 3_040);
});

test('usage is added once, though the outcome was lost, and so is what was counted meanwhile', options, async () => {
  await using bench = await attemptsBench();
  const { storage, clock, proxy, key } = bench;
  await using recorder = new UsageRecorder({ storage, clock: clock.now, onFailure: bench.events.usageNotStored });
  recorder.record(key.id, 200, clock.now().unix);
  proxy.breakNext('after', 'insert into usage');
  await recorder.flush();
  bench.assertUnknown();
  recorder.record(key.id, 429, clock.now().unix);
  await recorder.flush();
  const { unix } = clock.now();
  const [used] = await storage.usage.byKey({ since: unix - 60, now: unix });
  assert.deepEqual([used?.served, used?.refused], [1, 1]);
});

test('a ban is inserted once, though the outcome was lost', options, async () => {
  await using bench = await attemptsBench();
  const { storage, clock, key, events } = bench;
  await using limiter = new LocalLimiter({ storage, clock: clock.now, events, banAfter: 60 });
  await bench.hammer((each) => limiter.charge(each));
  await limiter.save();
  assert.equal((await storage.limits.banHistory(key.id, 10)).length, 1);
});

test('a ban shared by instances is inserted once, though the outcome was lost', {
  ...options,
  skip: noPostgres || redisServerMissing(),
}, async () => {
  await using bench = await attemptsBench();
  await using redis = await startRedis();
  const { storage, clock, key, events } = bench;
  const time = { clock: clock.now, time: clock.now };
  // A busy machine must not turn a slow answer into an outage, in which this instance would count its share.
  const counting = { banAfter: 60, url: redis.url, instances: 1, answerMs: 20_000 };
  await using limiter = new RedisLimiter({ storage, ...time, events, ...counting });
  await limiter.connect();
  await untilTrue(() => limiter.state === 'ok');
  await bench.hammer((each) => limiter.charge(each));
  await limiter.save();
  assert.equal((await storage.limits.banHistory(key.id, 10)).length, 1);
});

test('attempts are forgotten after a day, and not before', options, async () => {
  await using bench = await attemptsBench();
  const { storage, clock, key } = bench;
  const { unix } = clock.now();
  const record = { keyId: key.id, served: 1, clientErrors: 0, refused: 0, serverErrors: 0, first: unix, last: unix };
  const served = async () => {
    await storage.purgeOutcomes();
    await storage.usage.add(unix, [record], 'attempt');
    return (await storage.usage.byKey({ since: unix - 60, now: unix }))[0]?.served;
  };
  assert.deepEqual([await served(), await served()], [1, 1]);
  clock.advance(86_399);
  assert.equal(await served(), 1);
  clock.advance(1);
  assert.equal(await served(), 2);
});

/** A key, and storage that loses the answer to a COMMIT when it is told so. */
async function attemptsBench() {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await temporaryDatabase());
  const server = new URL(database.url);
  const proxy = stack.use(await openCommitProxy(Number(server.port || 5432), server.hostname));
  server.host = `127.0.0.1:${proxy.port}`;
  const clock = manualClock();
  const postgres = { engine: 'postgres', url: server.href } as const;
  const storage = stack.use(
    await openStorage(postgres, { clock: clock.now, categoriesMax: 10, categoriesBytesMax: 1_000_000 }),
  );
  const limits = { minute: 1, day: 1_000 };
  const { key, secret } = newApiKey({ name: 'test', environment: 'production', plan: 'enterprise', limits }, 0);
  await storage.keys.insert(key, secretRecord(secret), OPERATOR);
  const events = recordedEvents();
  const assertUnknown = () => {
    assert.ok(proxy.hasBroken, 'the statement never came');
    assert.deepEqual(
      events.failures.map((error) => (error as { code?: string }).code),
      ['outcome_unknown'],
    );
  };
  const running = stack.move();
  return {
    ...{ storage, clock, proxy, key, events, assertUnknown },
    /** Brings a ban on, whose COMMIT is the one without an answer. */
    async hammer(charge: (key: ApiKey) => unknown) {
      for (let i = 0; i < 2; i += 1) await charge(key);
      clock.advance(2);
      for (let i = 0; i < 59; i += 1) await charge(key);
      proxy.breakNext('after', 'insert into bans');
      for (let i = 0; i < 2; i += 1) await charge(key);
      assertUnknown();
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
