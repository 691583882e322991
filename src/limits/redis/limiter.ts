import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ApiKey } from '../../catalog/api-key.ts';
import type { WindowCounts } from '../../catalog/limit.ts';
import type { Limits } from '../../catalog/plan.ts';
import type { Storage } from '../../catalog/storage.ts';
import { BoundedMap } from '../../stdx/bounded-map.ts';
import type { Clock, Moment } from '../../stdx/clock.ts';
import { oneAtATime } from '../../stdx/one-at-a-time.ts';
import { SYSTEM_TIMERS, type Timer, type Timers } from '../../stdx/timers.ts';
import type { Events } from '../../telemetry/events.ts';
import type { Limiter, LimiterState } from '../limiter.ts';
import { LocalShare } from '../local-share.ts';
import { type BanState, charge, type Decision, later, look, type WindowState } from '../window.ts';
import {
  type Counted,
  fromStorage,
  isOutdated,
  laterCounts,
  RedisCounts,
  type Remembered,
  type SharedBan,
  toStorage,
} from './counts.ts';
import type { RedisClient } from './link.ts';
import { MemoryReader } from './memory-reader.ts';
import { NewBans } from './new-bans.ts';

/** Well under the second of counts that a crash may lose. */
const SAVE_INTERVAL_MS = 500;
/** Keys per transaction of counts. */
const KEYS_PER_SAVE = 500;
/** Refused keys in memory; beyond it the oldest is evicted and asks Redis again. */
const REFUSED_MAX = 200_000;
/** Keys whose counts wait for storage; beyond it the oldest is evicted, since Redis has them all. */
const UNSAVED_MAX = 200_000;
/** Keys known to be merged at once; the oldest beyond are merged again when they call. */
const MERGED_MAX = 200_000;
/** Keys whose last lift is known; one that is forgotten is followed again. */
const LIFTS_MAX = 10_000;
const KEY_PREFIX = 'pet-catalog';
/** How often to retry a ban in Redis that another instance changed first. */
const TRIES_MAX = 5;

export interface RedisLimiterOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly events: Events;
  /** The fewest refusals that lead to a ban; 0 disables bans. */
  readonly banAfter: number;
  /** `redis://` or `rediss://`, with user and password if required. */
  readonly url: string;
  /** How many instances share the limits; sets each one's share while Redis is lost. */
  readonly instances: number;
  /** Prefix of all keys in Redis. */
  readonly keyPrefix?: string;
  /** Replaces the Redis server's clock; for tests. */
  readonly time?: Clock;
  /** Deadline of a Redis call, in milliseconds; for tests. */
  readonly answerMs?: number;
  /** Makes the client of Redis; for tests. */
  readonly newClient?: (url: string) => RedisClient;
  readonly timers?: Timers;
}

/** The cached state of a key that was refused: until when, and how often since. */
interface Refused {
  readonly limits: Limits;
  readonly state: WindowState;
  readonly ban: SharedBan | undefined;
}

/**
 * Counts in Redis, for any number of instances: exact while Redis answers. Fast path: a key known to be exhausted or
 * banned is refused from memory. While Redis does not answer, each instance admits its share of every limit without
 * waiting; a request whose reply came too late is then counted twice. Counts are saved to storage within a second, and
 * every ban at once, so that Redis may lose its data or come back with older data: on a new connection, and when
 * another server answers on it, the first request of each key merges what storage and this process remember into what
 * Redis has. While storage fails, Redis is believed, and the merge stays due.
 */
export class RedisLimiter implements Limiter {
  readonly #options: RedisLimiterOptions;
  readonly #redis: RedisCounts;
  readonly #share: LocalShare;
  readonly #refused = new BoundedMap<Refused>(REFUSED_MAX);
  readonly #unsaved = new BoundedMap<WindowCounts>(UNSAVED_MAX);
  readonly #newBans: NewBans;
  /** Keys on whose ban this instance is deciding. */
  readonly #banning = new Set<string>();
  readonly #memories: MemoryReader;
  /** The keys whose counts in Redis are merged with what is remembered elsewhere; another map for each new server. */
  #merged = new BoundedMap<true>(MERGED_MAX);
  /** Whether a ban is enforced that may have been lifted, unnoticed. */
  #hasUncheckedBans = false;
  /** When the last ban of a key was lifted, as far as that was followed: its refusals of before are forgotten. */
  readonly #lifts = new BoundedMap<number>(LIFTS_MAX);
  readonly #timer: Timer;
  /** Saves everything counted before the call; what fails is kept for the next save. Never rejects. */
  readonly save = oneAtATime(() => this.#save());
  // Never overlaps, so that an older list of bans does not replace a newer one.
  /** Drops bans that storage does not have, here; Redis drops them at the key's next call. A lift forgets refusals. */
  readonly refreshBans = oneAtATime(() => this.#refreshBans());

  /** Starts disconnected; `connect` makes the first attempt, and the link retries every second. */
  constructor(options: RedisLimiterOptions) {
    const { events, keyPrefix = KEY_PREFIX, timers = SYSTEM_TIMERS } = options;
    this.#options = options;
    this.#share = new LocalShare(options.instances, () => this.#redis.now().earliest);
    this.#memories = new MemoryReader(options.storage.limits, timers);
    this.#redis = new RedisCounts({
      ...options,
      keyPrefix,
      timers,
      onFailure: events.redisFailed,
      onLate: events.redisLate,
      onLost: (error) => {
        events.limiterDegraded(error);
        this.refreshBans().catch(events.changeNotRead);
      },
      onBack: events.limiterRecovered,
      onCounted: events.requestCounted,
      onClockStep: () => this.#refused.clear(),
      onNewServer: () => {
        this.#merged = new BoundedMap(MERGED_MAX);
      },
    });
    this.#newBans = new NewBans({
      limits: options.storage.limits,
      redis: this.#redis,
      onStored: () => {
        // If the key's ban was lifted meanwhile, this one was stored as lifted.
        this.#hasUncheckedBans = true;
      },
      onShared: (keyId, ban, stored) => {
        const known = this.#refused.get(keyId);
        if (known?.ban === ban) this.#refused.set(keyId, { ...known, ban: stored });
      },
    });
    this.#timer = timers.setInterval(() => this.save(), SAVE_INTERVAL_MS).unref();
  }

  get state(): LimiterState {
    return this.#redis.isUp ? 'ok' : 'degraded';
  }

  /** Waits until Redis is connected or the first attempt failed. Throws `LimiterNotOpened` for a cluster. */
  connect(): Promise<void> {
    return this.#redis.connect();
  }

  async charge(key: ApiKey): Promise<Decision> {
    const refused = this.#cachedRefusal(key);
    if (refused) {
      this.#options.events.refusedFromMemory();
      return this.#decide(key, refused, this.#redis.now().earliest);
    }
    const counted = await this.#count(key, 1);
    if (!counted) return this.#share.charge(key, this.#options.clock());
    // Redis counts admitted requests; each instance counts its own refusals.
    const { refusals, refusalsEnd } = this.#refused.get(key.id)?.state ?? counted.state;
    const state = { ...counted.state, refusals, refusalsEnd };
    return this.#decide(key, { limits: key.limits, state, ban: counted.ban }, counted.now);
  }

  async peek(key: ApiKey): Promise<Decision> {
    const refused = this.#cachedRefusal(key);
    if (refused) return look(refused.state, key.limits, this.#redis.now().earliest);
    const counted = await this.#count(key, 0);
    if (!counted) return this.#share.peek(key, this.#options.clock());
    return look(counted.state, key.limits, counted.now);
  }

  current(_key: ApiKey, decision: Decision): Decision {
    const now = this.#redis.isUp ? this.#redis.now().earliest : this.#options.clock();
    return now.unix <= decision.now ? decision : later(decision, now);
  }

  async #refreshBans(): Promise<void> {
    const { storage, clock } = this.#options;
    const { steady: now } = this.#redis.now().earliest;
    const stored = [...this.#newBans].filter(({ isStored }) => isStored);
    // Of a ban that is stored or met only after the reading began, what was read tells nothing.
    const before = new Map<string, number>();
    for (const [keyId, { ban }] of this.#refused) if (ban && now < ban.ends) before.set(keyId, ban.startedAt);
    for (const { keyId, isStored } of this.#newBans) if (!isStored) before.delete(keyId);
    for (const keyId of this.#banning) before.delete(keyId);
    const [bans, lifted] = await Promise.all([storage.limits.listBans(now), storage.limits.listLiftedBans(now)]);
    this.#share.setBans(bans, clock());
    const lastStart = new Map<string, number>();
    for (const { keyId, startedAt } of bans)
      lastStart.set(keyId, Math.max(startedAt, lastStart.get(keyId) ?? startedAt));
    // A ban that was stored before and is missing now was lifted: Redis must not get it once it is back.
    for (const each of stored) {
      const { keyId, ban } = each;
      if (now < ban.ends && (lastStart.get(keyId) ?? 0) < ban.startedAt) this.#newBans.drop(each);
    }
    for (const [keyId, startedAt] of before) {
      const isKnown = this.#refused.get(keyId)?.ban?.startedAt === startedAt;
      if (isKnown && lastStart.get(keyId) !== startedAt) this.#refused.delete(keyId);
    }
    for (const { keyId, liftedAt } of lifted) {
      if (liftedAt <= (this.#lifts.get(keyId) ?? 0)) continue;
      this.#lifts.set(keyId, liftedAt);
      if (now >= (this.#refused.get(keyId)?.ban?.ends ?? 0)) this.#refused.delete(keyId);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer[Symbol.dispose]();
    await this.save();
    await this.#redis[Symbol.asyncDispose]();
  }

  async #save(): Promise<void> {
    try {
      await this.#newBans.retry();
      if (this.#hasUncheckedBans) await this.#checkBans();
      await this.#saveCounts();
    } catch (error) {
      this.#options.events.countsNotSaved(error);
    }
  }

  async #checkBans(): Promise<void> {
    this.#hasUncheckedBans = false;
    try {
      await this.refreshBans();
    } catch (error) {
      this.#hasUncheckedBans = true;
      throw error;
    }
  }

  /** Fast path: the cached state, if it suffices to refuse. A plan changed since then may have room. */
  #cachedRefusal(key: ApiKey): Refused | undefined {
    const refused = this.#refused.get(key.id);
    if (!refused) return undefined;
    const { refusal } = look(refused.state, key.limits, this.#redis.now().latest);
    const { minute, day } = refused.limits;
    const isSamePlan = minute === key.limits.minute && day === key.limits.day;
    return refusal === 'key_banned' || (refusal && isSamePlan) ? refused : undefined;
  }

  /** Counts the request in Redis if there is room; returns the state from before. Undefined without an answer. */
  async #count(key: ApiKey, cost: 0 | 1): Promise<Counted | undefined> {
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      // Fast path: a key that was merged, has a value and no ban needs one promise.
      const known = this.#merged.has(key.id) ? await this.#redis.count(key.id, key.limits, { cost }) : 'missing';
      const counted = known === 'missing' ? await this.#countMerged(key, cost) : known;
      if (!counted?.ban || !(await this.#wasLifted(key.id, counted))) return counted;
    }
    return undefined;
  }

  /** Counts a request of a key that is not known to be merged, or that Redis does not have. */
  async #countMerged({ id, limits }: ApiKey, cost: 0 | 1): Promise<Counted | undefined> {
    // A new server gets a new map: what is still in flight must not mark the key as merged there.
    const merged = this.#merged;
    const reading = this.#readRemembered(id);
    let remembered = merged.has(id) ? await reading : await this.#remembered(id, reading);
    let counted = await this.#redis.count(id, limits, { cost, remembered });
    if (counted === 'missing') {
      remembered = await reading;
      counted = await this.#redis.count(id, limits, { cost, remembered });
    }
    if (!counted || counted === 'missing') return undefined;
    if (!remembered.isComplete) return counted;
    merged.set(id, true);
    return this.#withoutLifted(id, counted, remembered.ban);
  }

  /** Removes a ban that is over, and that storage does not have: it was lifted, and must not lengthen the next one. */
  async #withoutLifted(keyId: string, counted: Counted, remembered: SharedBan | undefined): Promise<Counted> {
    const { ban, now, state } = counted;
    const isOver = ban?.isStored && now.steady >= ban.ends;
    if (!isOver || ban.startedAt <= (remembered?.startedAt ?? 0)) return counted;
    await this.#redis.replaceBan(keyId, ban, remembered);
    return { now, state: { ...state, ban: remembered }, ban: remembered };
  }

  /** While storage fails, only what this process remembers; storage is retried in the background. */
  async #remembered(keyId: string, reading: Promise<Remembered>): Promise<Remembered> {
    const complete = reading.catch(() => undefined);
    const remembered = this.#memories.isFailing ? undefined : await complete;
    if (remembered) return remembered;
    const stored = this.#share.findBan(keyId);
    const ban = this.#newBans.find(keyId) ?? (stored && fromStorage(stored));
    return { counts: this.#unsaved.get(keyId), ban, isComplete: false };
  }

  /** Everything that is remembered of a key outside of Redis. Rejects with `unavailable`. */
  async #readRemembered(keyId: string): Promise<Remembered> {
    // A save that overlaps this read may be missing from its result.
    const unsaved = this.#unsaved.get(keyId);
    const { counts, ban } = await this.#memories.read(keyId);
    return {
      counts: laterCounts(laterCounts(counts, unsaved), this.#unsaved.get(keyId)),
      ban: this.#newBans.find(keyId) ?? (ban && fromStorage(ban)),
      isComplete: true,
    };
  }

  /**
   * Checks a ban that is new to this instance: it may have been lifted unnoticed. If so, replaces it in Redis by the
   * one that storage has, if any.
   */
  async #wasLifted(keyId: string, { ban, now }: Counted): Promise<boolean> {
    if (!ban || now.steady >= ban.ends) return false;
    const known = this.#refused.get(keyId)?.ban;
    if (known?.startedAt === ban.startedAt && (known.isStored || !ban.isStored)) return false;
    const memory = await this.#memories.read(keyId).catch(() => undefined);
    // Trust Redis while storage is unavailable, and check again.
    this.#hasUncheckedBans ||= !memory;
    if (!memory || !isOutdated(ban, memory)) return false;
    await this.#redis.replaceBan(keyId, ban, memory.ban && fromStorage(memory.ban));
    return true;
  }

  #decide(key: ApiKey, before: Refused, now: Moment): Decision | Promise<Decision> {
    const { state, decision, newBan } = charge(before.state, key.limits, now, this.#options.banAfter);
    if (newBan) {
      // Requests from now on meet the ban.
      this.#remember(key, state, unstored(newBan));
      this.#banning.add(key.id);
      return this.#ban(key, before, now).finally(() => this.#banning.delete(key.id));
    }
    if (!decision.refusal) {
      const { minuteEnds, minuteUsed, day, dayUsed } = state;
      this.#unsaved.set(key.id, { keyId: key.id, minuteEnds, minuteUsed, day, dayUsed });
    }
    // A reply from before a ban that was decided here meanwhile must not replace it.
    const known = this.#refused.get(key.id)?.ban;
    if (known && now.steady < known.ends && known.startedAt > (before.ban?.startedAt ?? 0)) return decision;
    if (decision.refusal || now.steady < state.refusalsEnd) this.#remember(key, state, before.ban);
    else this.#refused.delete(key.id);
    return decision;
  }

  /**
   * Bans a key, unless another instance already did. Writes the ban to Redis first, so that there is only one, and to
   * storage before the client is told, unless storage is unavailable.
   */
  async #ban(key: ApiKey, before: Refused, now: Moment): Promise<Decision> {
    const followedLift = this.#lifts.get(key.id);
    let { state, ban: last } = before;
    for (let tries = 0; ; tries += 1) {
      const current = await this.#readAnew(key);
      if (current) {
        last = current.ban;
        state = { ...state, ban: last };
      }
      const result = charge(state, key.limits, now, this.#options.banAfter);
      const ban = result.newBan && unstored(result.newBan);
      // If the process was suspended until its ban was over, the refusals since then are remembered already.
      if (!ban || this.#redis.now().latest.steady < ban.ends) this.#remember(key, result.state, ban ?? last);
      if (!ban) return result.decision;
      const replaced = await this.#redis.replaceBan(key.id, last, ban);
      const isOvertaken = replaced !== 'replaced' && replaced !== undefined;
      if (isOvertaken && current && tries < TRIES_MAX) continue;
      this.#options.events.keyBanned(toStorage(key.id, ban), key.plan);
      const inRedis = replaced === 'replaced' ? ban : last;
      const adding = this.#newBans.add({ keyId: key.id, ban, followedLift, inRedis });
      const added = adding.catch(this.#options.events.countsNotSaved);
      // The client has waited for storage already, if that does not answer.
      if (!this.#memories.isFailing) await added;
      return result.decision;
    }
  }

  /**
   * Reads a key's last ban as all instances have it, for the length of the next: another instance may have imposed it
   * before Redis lost its data, or an operator may have lifted it, which is noticed otherwise only while it lasts.
   */
  #readAnew(key: ApiKey): Promise<Counted | undefined> {
    this.#merged.delete(key.id);
    return this.#count(key, 0).catch(() => undefined);
  }

  #remember(key: ApiKey, state: WindowState, ban: SharedBan | undefined): void {
    this.#refused.set(key.id, { limits: key.limits, state, ban });
  }

  async #saveCounts(): Promise<void> {
    const unsaved = [...this.#unsaved.values()];
    for (let first = 0; first < unsaved.length; first += KEYS_PER_SAVE) {
      // Yields, so that requests are served in between.
      if (first > 0) await nextTurn();
      const counts = unsaved.slice(first, first + KEYS_PER_SAVE);
      await this.#options.storage.limits.raiseCounts(counts);
      // Counts that changed during the save stay unsaved.
      for (const each of counts) if (this.#unsaved.get(each.keyId) === each) this.#unsaved.delete(each.keyId);
    }
  }
}

/** A ban as it is before storage has it. */
function unstored(ban: BanState): SharedBan {
  return { ...ban, startedAt: ban.starts, isStored: false };
}
