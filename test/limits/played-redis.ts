import { type ApiKey, newApiKey } from '../../src/catalog/api-key.ts';
import type { Storage } from '../../src/catalog/storage.ts';
import { NO_COUNTS, type WindowCounts } from '../../src/catalog/window-counts.ts';
import { RedisLimiter } from '../../src/limits/redis/limiter.ts';
import { ANSWER_MS, type RedisClient } from '../../src/limits/redis/link.ts';
import { recordedEvents } from '../kit/events.ts';
import { Dice } from '../simulator/dice.ts';
import { SimulatedRedis } from '../simulator/redis.ts';
import { VirtualTime } from '../simulator/virtual-time.ts';

export const NOON = Date.UTC(2026, 0, 1, 12) / 1_000;
export const DAY = NOON / 86_400 - 0.5;
export const LIMITS = { minute: 4, day: 1_000 };

/** Limiters on one storage and one Redis, in time that passes only when the test lets it pass. */
export function bench(instances = 1, { isServerTime = false, answerMs = ANSWER_MS } = {}) {
  const time = new VirtualTime(NOON * 1_000);
  const clock = () => {
    const unix = Math.floor(time.nowMs / 1_000);
    return { unix, steady: unix };
  };
  const redis = new SimulatedRedis({ time, dice: new Dice(1), skewMs: 0, onSet: () => {} });
  const [stored, saved] = [new Map<string, WindowCounts>(), [] as WindowCounts[][]];
  const played = {
    isLost: false,
    /** What everything in storage fails with. */
    failure: undefined as Error | undefined,
    /** Holds what storage does. */
    held: undefined as Promise<void> | undefined,
    /** How long a command takes to Redis, and its answer back. */
    wayMs: 0,
    /** The moments (Unix seconds) by which counts were saved. */
    savedAt: [] as number[],
    onRead: (): unknown => undefined,
  };
  const storing = async <T>(work: () => T): Promise<T> => {
    if (played.failure) throw played.failure;
    await played.held;
    return work();
  };
  const limits = {
    counts: async (keyId: string) => {
      await played.onRead();
      return storing(() => stored.get(keyId));
    },
    raiseCounts: (counts: WindowCounts[], now: () => number) =>
      storing(() => {
        saved.push(counts);
        played.savedAt.push(now());
      }),
  };
  const errors: ((error: unknown) => void)[] = [];
  const ready: (() => void)[] = [];
  const newClient = (): RedisClient => {
    const lost = () => Promise.reject(new Error('lost'));
    return {
      on: (event: string, listener: (error?: unknown) => void) => (event === 'ready' ? ready : errors).push(listener),
      get isReady() {
        return !played.isLost;
      },
      async connect() {
        if (!played.isLost) for (const listener of ready) listener();
      },
      sendCommand: async (command) => {
        if (played.isLost) return lost();
        if (played.wayMs > 0) await time.wait(played.wayMs);
        const reply = redis.run(command);
        if (played.wayMs > 0) await time.wait(played.wayMs);
        return reply;
      },
      destroy: () => {},
    };
  };
  const all = Array.from({ length: instances }, () => {
    const events = { ...recordedEvents(), counted: [] as number[] };
    events.requestCounted = (ms) => events.counted.push(ms);
    const own = { ...time.process(), now: clock };
    const limiter = new RedisLimiter({
      storage: { limits } as unknown as Storage,
      time: own,
      ...(!isServerTime && { serverTime: own }),
      events,
      url: 'redis://played',
      answerMs,
      instances: 2,
      newClient,
    });
    return { limiter, events };
  });
  const [one] = all as [(typeof all)[number]];
  return {
    time,
    redis,
    stored,
    saved,
    played,
    all,
    ...one,
    key: newApiKey({ name: 'one', environment: 'production', plan: 'enterprise', limits: LIMITS }, NOON).key,
    async start() {
      for (const { limiter } of all) await limiter.connect();
      return this;
    },
    /** Redis answers nothing from now on, or again. */
    async lose(isLost: boolean) {
      played.isLost = isLost;
      if (isLost) for (const listener of errors) listener(new Error('lost'));
      else for (const listener of ready) listener();
      await time.pass(1_000);
    },
  };
}

type Bench = Awaited<ReturnType<ReturnType<typeof bench>['start']>>;

/** Charges one request after the other; resolves with why each was refused, if it was. */
export async function charge({ limiter, key }: Pick<Bench, 'limiter' | 'key'>, times: number) {
  const refusals: (string | undefined)[] = [];
  for (let i = 0; i < times; i += 1) refusals.push((await limiter.charge(key)).refusal);
  return refusals;
}

/** The counts of a key that began its minute at noon. */
export const countsOf = (key: ApiKey, used: number): WindowCounts => ({
  ...NO_COUNTS,
  keyId: key.id,
  minuteEnds: NOON + 60,
  minuteUsed: used,
  day: DAY,
  dayUsed: used,
});
