import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { manualClock } from '../../test/kit/clock.ts';
import { type LimiterBench, limiterContract } from '../../test/kit/limiter-contract.ts';
import { anyLimits, anySteps } from '../../test/kit/limiter-model.ts';
import { OPERATOR } from '../../test/kit/operator.ts';
import { recordedEvents, temporaryFolder } from '../../test/kit/service.ts';
import type { Race, Raced } from '../../test/kit/threads/racer.ts';
import { type ApiKey, newApiKey, secretRecord } from '../catalog/api-key.ts';
import { LocalLimiter } from '../limits/local-limiter.ts';
import { openStorage } from '../storage/open.ts';
import { type Desk, SharedLimiter } from './shared-limiter.ts';
import { SlotDesk } from './slot-desk.ts';
import { type SlotMemory, slotMemory } from './slots.ts';

const BAN_AFTER = 60;
const RACER = new URL('../../test/kit/threads/racer.ts', import.meta.url);
const RACERS = 4;
const RACED_KEYS = 1_000;
const RACES = 20;

limiterContract('SharedLimiter', () => sharedBench());

interface SharedBench extends LimiterBench {
  readonly memory: SlotMemory;
  readonly desk: SlotDesk;
  /** Another limiter over the same slots, as a second thread has it. */
  another(): SharedLimiter;
}

async function sharedBench(slots = 64): Promise<SharedBench> {
  const folder = temporaryFolder();
  const clock = manualClock();
  const storage = await openStorage(
    { engine: 'sqlite', file: join(folder.path, 'test.db') },
    { clock: clock.now, categoriesMax: 10, categoriesBytesMax: 10_000 },
  );
  const start = () => {
    const memory = slotMemory(slots);
    const desk = new SlotDesk(memory, { storage, clock: clock.now, events: recordedEvents() });
    const another = () => new SharedLimiter({ memory, desk: distant(desk), clock: clock.now, banAfter: BAN_AFTER });
    return { memory, desk, another, limiter: another() };
  };
  let running = start();
  return {
    get limiter() {
      return running.limiter;
    },
    get memory() {
      return running.memory;
    },
    get desk() {
      return running.desk;
    },
    another: () => running.another(),
    storage,
    clock,
    async restart() {
      await running.desk[Symbol.asyncDispose]();
      running = start();
    },
    async [Symbol.asyncDispose]() {
      await running.desk[Symbol.asyncDispose]();
      await storage[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

/** A desk whose answers are copies that come in a later turn, as those of another thread do. */
function distant(desk: SlotDesk): Desk {
  const later = async <T>(work: () => Promise<T>): Promise<T> => {
    await new Promise(setImmediate);
    const value = structuredClone(await work());
    await new Promise(setImmediate);
    return value;
  };
  return {
    handOut: (keyId) => later(() => desk.handOut(keyId)),
    keepBan: (key, ban) => later(() => desk.keepBan(key, ban)),
    refreshBans: () => later(() => desk.refreshBans()),
    async [Symbol.asyncDispose]() {},
  };
}

async function issue({ storage, clock }: LimiterBench): Promise<ApiKey> {
  const { key, secret } = newApiKey({ name: 'test', environment: 'production', plan: 'free' }, clock.now().unix);
  await storage.keys.insert(key, secretRecord(secret), OPERATOR);
  return key;
}

test('SharedLimiter: evicted keys keep their counts, in every thread', async () => {
  await using bench = await sharedBench(3);
  const other = bench.another();
  const keys = await Promise.all(Array.from({ length: 20 }, () => issue(bench)));
  for (let round = 1; round <= 5; round += 1) {
    for (const key of keys) {
      assert.equal((await bench.limiter.charge(key)).remaining, 62 - 2 * round - 1);
      assert.equal((await other.charge(key)).remaining, 62 - 2 * round - 2);
    }
  }
});

test('SharedLimiter: a thread that knows the slot of an evicted key does not count for the key that has it now', async () => {
  await using bench = await sharedBench(3);
  const other = bench.another();
  const [first, ...rest] = await Promise.all(Array.from({ length: 10 }, () => issue(bench)));
  assert.ok(first);
  assert.equal((await bench.limiter.charge(first)).remaining, 59);
  for (const key of rest) assert.equal((await other.charge(key)).remaining, 59);
  assert.equal((await bench.limiter.charge(first)).remaining, 58);
  for (const key of rest) assert.equal((await other.charge(key)).remaining, 58);
});

test('SharedLimiter: of all threads that race for the last token of a key, one gets it', async () => {
  await using bench = await sharedBench(RACED_KEYS);
  const keys = Array.from(
    { length: RACED_KEYS },
    () => newApiKey({ name: 'raced', environment: 'production', plan: 'free' }, 0).key,
  );
  const handed = await Promise.all(keys.map(({ id }) => bench.desk.handOut(id)));
  const gate = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  const race: Race = { memory: bench.memory, keys, handed, gate };
  const threads = Array.from({ length: RACERS }, () => new Worker(RACER, { workerData: race }));
  try {
    for (let round = 1; round <= RACES; round += 1) {
      Atomics.store(new Int32Array(gate), 0, RACERS);
      const raced = threads.map(async (thread) => {
        thread.postMessage(round);
        return ((await once(thread, 'message')) as [Raced])[0].admitted;
      });
      const winners = (await Promise.all(raced)).flat().sort((one, other) => one - other);
      assert.deepEqual(
        winners,
        keys.map((_, index) => index),
        `round ${round}`,
      );
    }
  } finally {
    await Promise.all(threads.map((thread) => thread.terminate()));
  }
  const counts = await Promise.all(keys.map((key) => bench.limiter.peek(key)));
  assert.ok(counts.every(({ day }) => day.remaining === 1_000 - RACES));
});

test('SharedLimiter: two threads in turn decide every request as LocalLimiter does', async () => {
  await using bench = await sharedBench();
  const options = { storage: bench.storage, clock: bench.clock.now, events: recordedEvents(), banAfter: BAN_AFTER };
  const run = fc.asyncProperty(anyLimits, anySteps, async (limits, steps) => {
    await using local = new LocalLimiter(options);
    const threads = [bench.limiter, bench.another()];
    let key: ApiKey = { ...(await issue(bench)), limits };
    let localKey: ApiKey = { ...(await issue(bench)), limits };
    let calls = 0;
    for (const step of steps) {
      if (step.kind === 'wait') bench.clock.advance(step.seconds);
      if (step.kind === 'clock') bench.clock.step(step.seconds);
      if (step.kind === 'plan') key = { ...key, limits: step.limits };
      if (step.kind === 'plan') localKey = { ...localKey, limits: step.limits };
      for (let i = 0; step.kind === 'call' && i < step.count; i += 1) {
        calls += 1;
        assert.deepEqual(await threads[calls % 2]?.charge(key), await local.charge(localKey));
      }
      assert.deepEqual(await threads[0]?.peek(key), await local.peek(localKey));
    }
  });
  await fc.assert(run, { numRuns: 30 });
});
