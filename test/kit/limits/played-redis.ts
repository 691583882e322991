import { type ApiKey, newApiKey } from '../../../src/catalog/api-key.ts';
import type { Ban, BanOrigin, LiftedBan, SharedMemory, WindowCounts } from '../../../src/catalog/limit.ts';
import type { Storage } from '../../../src/catalog/storage.ts';
import { RedisLimiter } from '../../../src/limits/redis/limiter.ts';
import type { RedisClient } from '../../../src/limits/redis/link.ts';
import { Dice } from '../../simulator/dice.ts';
import { SimulatedRedis } from '../../simulator/redis.ts';
import { VirtualTime } from '../../simulator/virtual-time.ts';
import { recordedEvents } from '../service.ts';

export const NOON = Date.UTC(2026, 0, 1, 12) / 1_000;
export const DAY = NOON / 86_400 - 0.5;
export const LIMITS = { minute: 4, day: 1_000 };
export const BAN_AFTER = 6;

/** Limiters on one storage and one Redis, in time that passes only when the test lets it pass. */
export function bench(instances = 1, { isServerTime = false } = {}) {
  const time = new VirtualTime(NOON * 1_000);
  const clock = () => {
    const unix = Math.floor(time.nowMs / 1_000);
    return { unix, steady: unix };
  };
  const redis = new SimulatedRedis({ time, dice: new Dice(1), skewMs: 0, onSet: () => {} });
  const [memories, saved] = [new Map<string, SharedMemory>(), [] as WindowCounts[][]];
  const [bans, lifted] = [[] as Ban[], [] as LiftedBan[]];
  const attempts: (string | undefined)[] = [];
  const played = {
    isLost: false,
    /** What everything in storage fails with, and what new bans alone fail with. */
    failure: undefined as Error | undefined,
    banFailure: undefined as Error | undefined,
    commands: [] as string[],
    reads: 0,
    lists: 0,
    onSave: (): unknown => undefined,
    onBan: (): unknown => undefined,
    onRead: (): unknown => undefined,
    /** Delays the answer to what was read by then. */
    onList: (): unknown => undefined,
    onCommand: (_command: readonly string[]) => {},
  };
  const storing = async <T>(work: () => T): Promise<T> => {
    if (played.failure) throw played.failure;
    return work();
  };
  const limits = {
    memories: async (keyIds: string[]) => {
      await played.onRead();
      return storing(() => {
        played.reads += 1;
        return keyIds.map((id) => memories.get(id) ?? { counts: undefined, ban: undefined, lifted: undefined });
      });
    },
    raiseCounts: async (counts: WindowCounts[]) => {
      await played.onSave();
      return storing(() => saved.push(counts));
    },
    insertBan: async (ban: Ban, { attempt }: BanOrigin = {}) => {
      attempts.push(attempt);
      await played.onBan();
      if (played.banFailure) throw played.banFailure;
      return storing(() => {
        bans.push(ban);
        memories.set(ban.keyId, { counts: undefined, lifted: undefined, ...memories.get(ban.keyId), ban });
      });
    },
    listBans: async (now: number) => {
      played.lists += 1;
      const found = await storing(() => bans.filter(({ endsAt }) => endsAt > now));
      await played.onList();
      return found;
    },
    listLiftedBans: (now: number) => storing(() => lifted.filter(({ endsAt }) => endsAt > now)),
  };
  const errors: ((error: unknown) => void)[] = [];
  const newClient = (): RedisClient => {
    const lost = () => Promise.reject(new Error('lost'));
    return {
      on: (_event, listener) => errors.push(listener),
      connect: async () => played.isLost && lost(),
      sendCommand: async (command) => {
        if (played.isLost) return lost();
        if (command[0] === 'EVALSHA') played.commands.push(command[3] ?? '');
        const reply = redis.run(command);
        played.onCommand(command);
        return reply;
      },
      destroy: () => {},
    };
  };
  const all = Array.from({ length: instances }, () => {
    const events = { ...recordedEvents(), turns: [] as string[] };
    events.limiterDegraded = () => events.turns.push('degraded');
    events.limiterRecovered = () => events.turns.push('recovered');
    const timers = time.process();
    const limiter = new RedisLimiter({
      storage: { limits } as unknown as Storage,
      clock,
      ...(!isServerTime && { time: clock }),
      events,
      banAfter: BAN_AFTER,
      url: 'redis://played',
      instances: 2,
      newClient,
      timers,
    });
    return { limiter, events, timers };
  });
  const [one] = all as [(typeof all)[number]];
  return {
    time,
    redis,
    memories,
    saved,
    bans,
    attempts,
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
      if (isLost) for (const listener of errors.splice(0)) listener(new Error('lost'));
      await time.pass(1_000);
    },
    /** As an operator lifts it, in storage. */
    lift({ id }: ApiKey) {
      const ban = bans.pop();
      if (ban) lifted.push({ ...ban, liftedAt: clock().unix });
      memories.set(id, { counts: undefined, ban: undefined, lifted: ban?.startedAt });
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

/** Spends the minute, and goes on until the next refusal by each limiter leads to a ban. */
export async function provoke(at: Pick<Bench, 'key' | 'time'>, limiters: readonly Bench['limiter'][]) {
  for (const limiter of limiters) await charge({ ...at, limiter }, LIMITS.minute + 1);
  await at.time.pass(2_000);
  for (const limiter of limiters) await charge({ ...at, limiter }, BAN_AFTER - 1);
}

/** Spends the minute, and goes on until the key is banned. */
export async function hammer(at: Pick<Bench, 'limiter' | 'key' | 'time'>) {
  await provoke(at, [at.limiter]);
  return at.limiter.charge(at.key);
}

/** The counts of a key that began its minute at noon. */
export const countsOf = (key: ApiKey, used: number): WindowCounts => ({
  keyId: key.id,
  minuteEnds: NOON + 60,
  minuteUsed: used,
  day: DAY,
  dayUsed: used,
});
