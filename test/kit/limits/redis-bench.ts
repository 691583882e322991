import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type ApiKey, newApiKey, secretRecord } from '../../../src/catalog/api-key.ts';
import type { Limits } from '../../../src/catalog/plan.ts';
import { RedisLimiter } from '../../../src/limits/redis/limiter.ts';
import { slotOf } from '../../../src/limits/redis/slots.ts';
import { openStorage } from '../../../src/storage/open.ts';
import { manualClock, untilEqual, untilTrue } from '../clock.ts';
import { type RecordedEvents, recordedEvents } from '../events.ts';
import { temporaryFolder } from '../folder.ts';
import { OPERATOR } from '../operator.ts';
import type { ClusterNode, RedisCluster } from '../redis-cluster.ts';

export const LIMITS: Limits = { minute: 40, day: 1_000 };
/** Redis is lost when a test takes it away, and not when a busy machine makes it miss a deadline. */
export const ANSWER_MS = 20_000;

interface BenchOptions {
  /** The address of Redis for the instance of a number. */
  readonly url: (index: number) => string;
  readonly instances?: number;
  readonly answerMs?: number;
  readonly keyPrefix?: string;
}

/** The limiters of instances on one database and one Redis, by a clock that stands still. */
export async function redisBench({ url, instances = 2, answerMs = ANSWER_MS, ...options }: BenchOptions) {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(temporaryFolder());
  const clock = manualClock();
  const { keyPrefix } = options;
  const file = join(folder.path, 'test.db');
  const bounds = { categoriesMax: 10, categoriesBytesMax: 1_000_000 };
  const storage = stack.use(await openStorage({ engine: 'sqlite', file }, { time: clock, ...bounds }));
  const lost: unknown[] = [];
  let failures = 0;
  const events: RecordedEvents = {
    ...recordedEvents(),
    limiterDegraded: (error) => lost.push(error),
    redisFailed: () => {
      failures += 1;
    },
  };
  let started = 0;
  const start = async () => {
    const index = started;
    started += 1;
    const limiter = new RedisLimiter({
      storage,
      time: clock,
      serverTime: clock,
      ...(keyPrefix !== undefined && { keyPrefix }),
      ...{ events, url: url(index), instances, answerMs },
    });
    await limiter.connect();
    return limiter;
  };
  const limiters: RedisLimiter[] = [];
  stack.defer(async () => {
    await Promise.all(limiters.map((limiter) => limiter[Symbol.asyncDispose]()));
  });
  while (limiters.length < instances) limiters.push(await start());
  const issue = async (limits: Limits, id?: string) => {
    const { key, secret } = newApiKey({ name: 'test', environment: 'production', plan: 'enterprise', limits }, 0);
    const own = { ...key, id: id ?? key.id };
    await storage.keys.insert(own, secretRecord(secret), OPERATOR);
    return own;
  };
  const at = (index: number) => limiters[index % limiters.length] as RedisLimiter;
  const shares = new Map<string, number>();
  const charge = async (limiter: RedisLimiter, key: ApiKey) => {
    const { refusal, minute } = await limiter.charge(key);
    const isShare = minute.limit < key.limits.minute;
    if (!refusal && isShare) shares.set(key.id, (shares.get(key.id) ?? 0) + 1);
    return !refusal;
  };
  const states = () => limiters.map(({ lost }) => (lost.length > 0 ? 'degraded' : 'ok'));
  const over = new AbortController();
  stack.defer(() => over.abort());
  const running = stack.move();
  return {
    ...{ clock, storage, events, limiters, lost, start, issue, at, states },
    /** How many calls and connection attempts failed. */
    failures: () => failures,
    until: (state: string) => untilTrue(() => states().every((each) => each === state), `all ${state}`),
    saveAll: () => Promise.all(limiters.map((limiter) => limiter.save())),
    /** How many requests of a key were admitted by the share of an instance, in `spend` and under load. */
    ofShares: ({ id }: ApiKey) => shares.get(id) ?? 0,
    /** A key of a slot, of which no request was counted yet. */
    issueIn(slot: number, limits: Limits) {
      let number = 0;
      while (slotOf(`key_in_slot_${number}`) !== slot) number += 1;
      return issue(limits, `key_in_slot_${number}`);
    },
    /** Spends what a key has left, or some of it, on all instances; returns how many were admitted. */
    async spend(key: ApiKey, most = Number.POSITIVE_INFINITY) {
      for (let admitted = 0; ; ) {
        const burst = Array.from({ length: Math.min(50, most - admitted) }, (_, i) => charge(at(i), key));
        const left = (await Promise.all(burst)).filter(Boolean).length;
        admitted += left;
        if (admitted === most || left < burst.length) return admitted;
      }
    },
    /** Calls all instances with each of the keys, again and again. */
    load(keys: readonly ApiKey[], { paceMs = 10, callers = 1 } = {}) {
      const admitted = new Map(keys.map(({ id }) => [id, 0]));
      let decided = 0;
      let isEnding = false;
      const call = async (key: ApiKey, limiter: RedisLimiter) => {
        while (!isEnding && !over.signal.aborted) {
          if (await charge(limiter, key)) admitted.set(key.id, (admitted.get(key.id) ?? 0) + 1);
          decided += 1;
          await wait(paceMs);
        }
      };
      const calls = keys.flatMap((key) =>
        limiters.flatMap((each) => Array.from({ length: callers }, () => call(key, each))),
      );
      return {
        /** How many requests of a key were admitted. */
        admitted: ({ id }: ApiKey) => admitted.get(id) ?? 0,
        /** Waits until some more requests were decided, which shows that none waits for as long as a fault lasts. */
        some() {
          const enough = decided + 50;
          return untilTrue(() => decided >= enough, 'more decisions');
        },
        async end() {
          isEnding = true;
          await Promise.all(calls);
        },
      };
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

interface ClusterBenchOptions extends Omit<BenchOptions, 'url'> {
  /** The address of all instances, in place of a node of the cluster for each. */
  readonly url?: string;
  readonly cluster: RedisCluster;
}

/** Two instances on a cluster, of which each is told another node. */
export async function clusterBench({ url, cluster, ...options }: ClusterBenchOptions) {
  const urlOf = (index: number) => {
    const running = cluster.masters.filter((master) => master.isRunning());
    return url ?? (running[index % running.length] as ClusterNode).url;
  };
  const bench = await redisBench({ url: urlOf, ...options });
  // Connecting has a deadline of its own.
  if (!url) await bench.until('ok');
  if (!url) bench.lost.length = 0;
  return {
    ...bench,
    cluster,
    /** The keys of some that are on a master. */
    async on(master: ClusterNode, keys: readonly ApiKey[]) {
      const owners = await Promise.all(keys.map(({ id }) => cluster.masterOf(id)));
      return keys.filter((_, index) => owners[index]?.id === master.id);
    },
    async start() {
      const limiter = await bench.start();
      await untilEqual(() => limiter.lost, []);
      return limiter;
    },
  };
}
