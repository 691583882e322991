import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { type ApiKey, newApiKey, secretRecord } from '../../../src/catalog/api-key.ts';
import type { Limits } from '../../../src/catalog/plan.ts';
import type { LimitStorage } from '../../../src/catalog/window-counts.ts';
import { RedisLimiter } from '../../../src/limits/redis/limiter.ts';
import { slotOf } from '../../../src/limits/redis/slots.ts';
import { openStorage } from '../../../src/storage/open.ts';
import { manualClock, untilEqual, untilTrue } from '../clock.ts';
import { OPERATOR } from '../operator.ts';
import type { ClusterNode, RedisCluster } from '../redis-cluster.ts';
import { type RecordedEvents, recordedEvents, temporaryFolder } from '../service.ts';

const INSTANCES = 2;
export const LIMITS: Limits = { minute: 40, day: 1_000 };
/** A master is lost when a test takes it away, and not when a busy machine makes it miss a deadline. */
export const ANSWER_MS = 20_000;

interface BenchOptions {
  /** The address of all instances, in place of a node of the cluster for each. */
  readonly url?: string;
  readonly cluster: RedisCluster;
  readonly isServerTime?: boolean;
  readonly answerMs?: number;
}

export type ClusterBench = Awaited<ReturnType<typeof clusterBench>>;

/** Two instances on one database and a cluster, of which each is told another node, by a clock that stands still. */
export async function clusterBench({ url, cluster, isServerTime = false, answerMs = ANSWER_MS }: BenchOptions) {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(temporaryFolder());
  const clock = manualClock();
  const database = { engine: 'sqlite', file: join(folder.path, 'test.db') } as const;
  const storage = stack.use(
    await openStorage(database, { time: clock, categoriesMax: 10, categoriesBytesMax: 10_000 }),
  );
  const [lost, lostMasters] = [[] as unknown[], new Set<string>()];
  const events: RecordedEvents = {
    ...recordedEvents(),
    limiterDegraded(error, masters = []) {
      lost.push(error);
      for (const master of masters) lostMasters.add(master);
    },
  };
  /** When the last save of each instance began that has ended. */
  const savedMs: number[] = [];
  let started = 0;
  const start = async () => {
    const running = cluster.masters.filter((master) => master.isRunning());
    const node = running[started % running.length] as ClusterNode;
    const index = started;
    started += 1;
    const { limits } = storage;
    const raiseCounts: LimitStorage['raiseCounts'] = async (...args) => {
      const beganMs = performance.now();
      await limits.raiseCounts(...args);
      savedMs[index] = beganMs;
    };
    const observed = { counts: (keyId: string) => limits.counts(keyId), raiseCounts } as LimitStorage;
    const time = { time: clock, ...(!isServerTime && { serverTime: clock }) };
    const counting = { url: url ?? node.url, instances: INSTANCES, answerMs };
    const limiter = new RedisLimiter({ storage: { limits: observed }, ...time, events, ...counting });
    await limiter.connect();
    // Connecting has a deadline of its own.
    if (!url) await untilEqual(() => limiter.state, 'ok');
    return limiter;
  };
  const limiters = [stack.use(await start()), stack.use(await start())] as const;
  if (!url) lost.length = 0;
  const issue = async (limits: Limits) => {
    const { key, secret } = newApiKey({ name: 'test', environment: 'production', plan: 'enterprise', limits }, 0);
    await storage.keys.insert(key, secretRecord(secret), OPERATOR);
    return key;
  };
  const at = (index: number) => limiters[index % limiters.length] as RedisLimiter;
  const shares = new Map<string, number>();
  const charge = async (limiter: RedisLimiter, key: ApiKey) => {
    const { refusal, minute } = await limiter.charge(key);
    const isShare = minute.limit < key.limits.minute;
    if (!refusal && isShare) shares.set(key.id, (shares.get(key.id) ?? 0) + 1);
    return !refusal;
  };
  const states = () => limiters.map(({ state }) => state);
  const over = new AbortController();
  stack.defer(() => over.abort());
  const running = stack.move();
  return {
    ...{ cluster, limiters, lost, lostMasters, savedMs, start, issue, at, states },
    until: (state: string) => untilTrue(() => states().every((each) => each === state), `all ${state}`),
    saveAll: () => Promise.all(limiters.map((limiter) => limiter.save())),
    /** How many requests of a key were admitted by the share of an instance, in `spend` and under load. */
    ofShares: ({ id }: ApiKey) => shares.get(id) ?? 0,
    /** The keys of some that are on a master. */
    async on(master: ClusterNode, keys: readonly ApiKey[]) {
      const owners = await Promise.all(keys.map(({ id }) => cluster.masterOf(id)));
      return keys.filter((_, index) => owners[index]?.id === master.id);
    },
    /** A key of a slot, of which no request was counted yet. */
    async issueIn(slot: number, limits: Limits) {
      const { key, secret } = newApiKey({ name: 'test', environment: 'production', plan: 'enterprise', limits }, 0);
      const ids = (number: number) => `${key.id.slice(0, -5)}${number.toString(36).padStart(5, '0')}`;
      let number = 0;
      while (slotOf(ids(number)) !== slot) number += 1;
      const own = { ...key, id: ids(number) };
      await storage.keys.insert(own, secretRecord(secret), OPERATOR);
      return own;
    },
    /** Spends what a key has left, or some of it, on both instances; returns how many were admitted. */
    async spend(key: ApiKey, most = Number.POSITIVE_INFINITY) {
      for (let admitted = 0; ; ) {
        const burst = Array.from({ length: Math.min(50, most - admitted) }, (_, i) => charge(at(i), key));
        const left = (await Promise.all(burst)).filter(Boolean).length;
        admitted += left;
        if (admitted === most || left < burst.length) return admitted;
      }
    },
    /** Calls both instances with each of the keys, again and again. */
    load(keys: readonly ApiKey[], { paceMs = 10 } = {}) {
      const admitted = new Map<string, number[]>(keys.map(({ id }) => [id, []]));
      let decided = 0;
      let isEnding = false;
      const call = async (key: ApiKey, limiter: RedisLimiter) => {
        while (!isEnding && !over.signal.aborted) {
          if (await charge(limiter, key)) admitted.get(key.id)?.push(performance.now());
          decided += 1;
          await wait(paceMs);
        }
      };
      const callers = keys.flatMap((key) => limiters.map((limiter) => call(key, limiter)));
      return {
        /** The moments at which requests of a key were admitted. */
        admitted: (key: ApiKey): readonly number[] => admitted.get(key.id) ?? [],
        some() {
          const enough = decided + 50;
          return untilTrue(() => decided >= enough, 'more decisions');
        },
        async end() {
          isEnding = true;
          await Promise.all(callers);
        },
      };
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
