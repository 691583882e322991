import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newApiKey, secretRecord } from '../../src/catalog/api-key.ts';
import { Bans } from '../../src/limits/bans.ts';
import { LocalLimiter } from '../../src/limits/local-limiter.ts';
import { openStorage } from '../../src/storage/open.ts';
import { UsageRecorder } from '../../src/telemetry/usage-recorder.ts';
import { manualClock, untilTrue } from '../kit/clock.ts';
import { openCommitProxy } from '../kit/faults/commit-proxy.ts';
import { OPERATOR } from '../kit/operator.ts';
import { noPostgres, temporaryDatabase } from '../kit/postgres.ts';
import { recordedEvents } from '../kit/service.ts';

/** Background writes whose COMMIT answer is lost: a retry must not repeat them. */

const options = { skip: noPostgres };

test('usage is added once, though the outcome was lost, and so is what was counted meanwhile', options, async () => {
  await using bench = await attemptsBench();
  const { storage, clock, proxy, key } = bench;
  await using recorder = new UsageRecorder({ storage, time: clock, onFailure: bench.events.usageNotStored });
  recorder.record(key.id, { method: 'GET', route: '/v1/pets', status: 200 }, clock.now().unix);
  proxy.breakNext('after', 'insert into usage');
  await recorder.flush();
  bench.assertUnknown();
  recorder.record(key.id, { method: 'GET', route: '/v1/pets', status: 429 }, clock.now().unix);
  await recorder.flush();
  const { unix } = clock.now();
  const [used] = await storage.usage.sums({ period: 'minute', since: unix - 60, group: 'key' });
  assert.deepEqual([used?.served, used?.refused], [1, 1]);
});

test('a ban is imposed once, though the outcome was lost', options, async () => {
  await using bench = await attemptsBench();
  const { storage, clock, key, events, proxy } = bench;
  const limiter = new LocalLimiter({ storage, time: clock, events });
  await using bans = new Bans(limiter, { storage, time: clock, events, banAfter: 60 });
  for (let i = 0; i < 2; i += 1) await bans.charge(key);
  clock.advance(2);
  for (let i = 0; i < 59; i += 1) await bans.charge(key);
  proxy.breakNext('after', 'insert into bans');
  assert.equal((await bans.charge(key)).refusal, 'key_banned', 'it is enforced, though it may not be stored');
  await untilTrue(() => proxy.hasBroken, 'the statement never came');
  await untilTrue(async () => (await storage.keys.banHistory(key.id, 10)).length > 0);
  await bans[Symbol.asyncDispose]();
  assert.equal((await storage.keys.banHistory(key.id, 10)).length, 1);
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
    await openStorage(postgres, { time: clock, categoriesMax: 10, categoriesBytesMax: 1_000_000 }),
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
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
