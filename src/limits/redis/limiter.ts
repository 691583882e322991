import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ApiKey } from '../../catalog/api-key.ts';
import type { Ban, LimiterMemory, WindowCounts } from '../../catalog/limit.ts';
import type { Limits } from '../../catalog/plan.ts';
import type { Storage } from '../../catalog/storage.ts';
import { BoundedMap } from '../../stdx/bounded-map.ts';
import type { Clock, Moment } from '../../stdx/clock.ts';
import { oneAtATime } from '../../stdx/one-at-a-time.ts';
import type { Events } from '../../telemetry/events.ts';
import type { Limiter, LimiterState } from '../limiter.ts';
import { LocalShare } from '../local-share.ts';
import { charge, type Decision, look, type WindowState } from '../window.ts';
import { type Counted, RedisCounts, type SharedBan } from './counts.ts';

/** Well under the second of counts that a crash may lose. */
const SAVE_INTERVAL_MS = 500;
/** What one transaction of counts takes. */
const KEYS_PER_SAVE = 500;
/** Refused keys remembered at once; further ones push out the oldest, which then asks Redis again. */
const REFUSED_MAX = 200_000;
/** Keys whose counts wait for storage at once; Redis has them all. */
const UNSAVED_MAX = 200_000;
const KEY_PREFIX = 'pet-catalog';
/** How often a ban is taken from or written to Redis again because another instance was faster. */
const TRIES_MAX = 5;

export interface RedisLimiterOptions {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly events: Events;
  /** The least number of refusals that bring a ban; 0 for no bans. */
  readonly banAfter: number;
  /** `redis://` or `rediss://`, with the user and password if there are any. */
  readonly url: string;
  /** How many instances share the limits, for what each may admit when Redis is lost. */
  readonly instances: number;
  /** Begins the names of all keys in Redis. */
  readonly keyPrefix?: string;
  /** Rules instead of the time of the Redis server; for tests. */
  readonly time?: Clock;
  /** How long a call of Redis may take, in milliseconds; for tests. */
  readonly answerMs?: number;
}

/** What is known of a key that was refused: how long it will be, and how often it was since. */
interface Refused {
  readonly limits: Limits;
  readonly state: WindowState;
  readonly ban: SharedBan | undefined;
}

/** A ban decided here, on its way into storage and then, marked so, into Redis. */
interface NewBan {
  readonly keyId: string;
  readonly ban: SharedBan;
  /** The ban that is in Redis until then. */
  readonly inRedis: SharedBan | undefined;
  isStored: boolean;
  isUnderWay: boolean;
}

/**
 * Counts in Redis, for any number of instances: exact while Redis answers. A key known to be exhausted or banned is
 * refused out of memory. While Redis does not answer, each instance admits its share of every limit and nobody waits;
 * a request whose answer came too late is then counted twice. Storage learns the counts within a second and every ban,
 * so that Redis may forget.
 */
export class RedisLimiter implements Limiter {
  readonly #options: RedisLimiterOptions;
  readonly #redis: RedisCounts;
  readonly #share: LocalShare;
  readonly #refused = new BoundedMap<Refused>(REFUSED_MAX);
  readonly #unsaved = new BoundedMap<WindowCounts>(UNSAVED_MAX);
  readonly #newBans = new Set<NewBan>();
  readonly #reading = new Map<string, Promise<LimiterMemory>>();
  readonly #timer: NodeJS.Timeout;
  /** Saves what was counted before it began; what cannot be saved is kept for the next time. Never rejects. */
  readonly save = oneAtATime(() => this.#save());

  /** Begins without Redis; it is tried every second, and first by `connect`. */
  constructor(options: RedisLimiterOptions) {
    const { events, keyPrefix = KEY_PREFIX } = options;
    this.#options = options;
    this.#share = new LocalShare(options.instances);
    this.#redis = new RedisCounts({
      ...options,
      keyPrefix,
      onFailure: events.redisFailed,
      onLost: (error) => {
        events.limiterDegraded(error);
        this.refreshBans().catch(events.changeNotRead);
      },
      onBack: events.limiterRecovered,
      onCounted: events.requestCounted,
      onClockStep: () => this.#refused.clear(),
    });
    this.#timer = setInterval(() => this.save(), SAVE_INTERVAL_MS).unref();
  }

  get state(): LimiterState {
    return this.#redis.isUp ? 'ok' : 'degraded';
  }

  /** Waits until Redis is connected, or the first try failed. */
  connect(): Promise<void> {
    return this.#redis.connect();
  }

  async charge(key: ApiKey): Promise<Decision> {
    const refused = this.#refusing(key);
    if (refused) {
      this.#options.events.refusedFromMemory();
      return this.#decide(key, refused, this.#redis.now().earliest);
    }
    const counted = await this.#ask(key, 1);
    if (!counted) return this.#share.charge(key, this.#options.clock());
    // Redis counts what is admitted; refusals are this instance's own.
    const { refusals, refusalsEnd } = this.#refused.get(key.id)?.state ?? counted.state;
    const state = { ...counted.state, refusals, refusalsEnd };
    return this.#decide(key, { limits: key.limits, state, ban: counted.ban }, counted.now);
  }

  async peek(key: ApiKey): Promise<Decision> {
    const refused = this.#refusing(key);
    if (refused) return look(refused.state, key.limits, this.#redis.now().earliest);
    const counted = await this.#ask(key, 0);
    if (!counted) return this.#share.peek(key, this.#options.clock());
    return look(counted.state, key.limits, counted.now);
  }

  /** Forgets bans that are on here but not in storage. Redis forgets them when the key calls and is looked up. */
  async refreshBans(): Promise<void> {
    const { storage, clock } = this.#options;
    const bans = await storage.limits.listBans(this.#redis.now().earliest.unix);
    this.#share.setBans(bans, clock());
    const lastStart = new Map<string, number>();
    for (const { keyId, startedAt } of bans)
      lastStart.set(keyId, Math.max(startedAt, lastStart.get(keyId) ?? startedAt));
    for (const { keyId, ban } of this.#newBans) lastStart.set(keyId, ban.startedAt);
    const { latest } = this.#redis.now();
    for (const [keyId, { ban }] of this.#refused) {
      if (!ban || latest.steady >= ban.ends) continue;
      if ((lastStart.get(keyId) ?? 0) < ban.startedAt) this.#refused.delete(keyId);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.save();
    await this.#redis[Symbol.asyncDispose]();
  }

  async #save(): Promise<void> {
    try {
      for (const newBan of this.#newBans) await this.#keepBan(newBan);
      await this.#saveCounts();
    } catch (error) {
      this.#options.events.countsNotSaved(error);
    }
  }

  /** What is known of the key if it is enough to refuse a request. A plan that was changed since may have room. */
  #refusing(key: ApiKey): Refused | undefined {
    const refused = this.#refused.get(key.id);
    if (!refused) return undefined;
    const { refusal } = look(refused.state, key.limits, this.#redis.now().latest);
    const { minute, day } = refused.limits;
    const isSamePlan = minute === key.limits.minute && day === key.limits.day;
    return refusal === 'key_banned' || (refusal && isSamePlan) ? refused : undefined;
  }

  /** The key as Redis has it, after the request was counted if there is room. Undefined if there is no answer. */
  async #ask({ id, limits }: ApiKey, cost: 0 | 1): Promise<Counted | undefined> {
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      let counted = await this.#redis.count(id, limits, { cost });
      if (counted === 'missing') {
        // What is saved while storage is being read may not be in what was read.
        const unsaved = this.#unsaved.get(id);
        const { counts, ban } = await this.#read(id);
        const memory = { counts: laterCounts(laterCounts(counts, unsaved), this.#unsaved.get(id)), ban };
        counted = await this.#redis.count(id, limits, { cost, memory });
      }
      if (!counted || counted === 'missing') return undefined;
      if (!counted.ban || !(await this.#wasLifted(id, counted))) return counted;
    }
    return undefined;
  }

  /** A ban of Redis that is new here may have been lifted when nobody heard of it. If so, it is taken out of Redis. */
  async #wasLifted(keyId: string, { ban, now }: Counted): Promise<boolean> {
    if (!ban?.isStored || now.steady >= ban.ends) return false;
    const known = this.#refused.get(keyId)?.ban;
    if (known?.isStored && known.startedAt === ban.startedAt) return false;
    // While storage cannot tell, Redis is believed.
    const memory = await this.#read(keyId).catch(() => undefined);
    if (!memory || (memory.ban && memory.ban.startedAt >= ban.startedAt)) return false;
    await this.#redis.replaceBan(keyId, ban, memory.ban && this.#redis.stored(memory.ban));
    return true;
  }

  #read(keyId: string): Promise<LimiterMemory> {
    const underWay = this.#reading.get(keyId);
    if (underWay) return underWay;
    const reading = this.#options.storage.limits.memory(keyId).finally(() => this.#reading.delete(keyId));
    this.#reading.set(keyId, reading);
    return reading;
  }

  #decide(key: ApiKey, before: Refused, now: Moment): Decision | Promise<Decision> {
    const { state, decision, newBan } = charge(before.state, key.limits, now, this.#options.banAfter);
    if (newBan) return this.#ban(key, before, now);
    if (!decision.refusal) {
      const { minuteEnds, minuteUsed, day, dayUsed } = state;
      const ahead = this.#redis.steadyAhead();
      const counts = { keyId: key.id, minuteEnds: minuteEnds + ahead, minuteUsed, day, dayUsed };
      this.#unsaved.set(key.id, counts);
    }
    if (decision.refusal || now.steady < state.refusalsEnd) this.#remember(key, state, before.ban);
    else this.#refused.delete(key.id);
    return decision;
  }

  /**
   * Bans a key, unless another instance was faster. The ban is in Redis at once, so that there is only one; and in
   * storage before anybody is told, unless storage cannot take it now.
   */
  async #ban(key: ApiKey, before: Refused, now: Moment): Promise<Decision> {
    let { state, ban: last } = before;
    for (let tries = 0; ; tries += 1) {
      const result = charge(state, key.limits, now, this.#options.banAfter);
      if (!result.newBan) {
        this.#remember(key, result.state, last);
        return result.decision;
      }
      const startedAt = result.newBan.starts + this.#redis.steadyAhead();
      const ban = { ...result.newBan, startedAt, isStored: false };
      // Whoever calls from now on meets it.
      this.#remember(key, result.state, ban);
      const replaced = await this.#redis.replaceBan(key.id, last, ban);
      if (typeof replaced === 'object' && tries < TRIES_MAX) {
        last = replaced.another;
        state = { ...state, ban: last };
        continue;
      }
      this.#options.events.keyBanned(toRow(key.id, ban), key.plan);
      const inRedis = replaced === 'replaced' ? ban : last;
      const newBan: NewBan = { keyId: key.id, ban, inRedis, isStored: false, isUnderWay: false };
      this.#newBans.add(newBan);
      await this.#keepBan(newBan).catch(this.#options.events.countsNotSaved);
      return result.decision;
    }
  }

  async #keepBan(newBan: NewBan): Promise<void> {
    const { keyId, ban, inRedis, isUnderWay } = newBan;
    if (isUnderWay) return;
    newBan.isUnderWay = true;
    try {
      if (!newBan.isStored) await this.#options.storage.limits.insertBan(toRow(keyId, ban));
      newBan.isStored = true;
      const stored = { ...ban, isStored: true };
      if ((await this.#redis.replaceBan(keyId, inRedis, stored)) === undefined) return;
      this.#newBans.delete(newBan);
      const known = this.#refused.get(keyId);
      if (known?.ban === ban) this.#refused.set(keyId, { ...known, ban: stored });
    } finally {
      newBan.isUnderWay = false;
    }
  }

  #remember(key: ApiKey, state: WindowState, ban: SharedBan | undefined): void {
    this.#refused.set(key.id, { limits: key.limits, state, ban });
  }

  async #saveCounts(): Promise<void> {
    const unsaved = [...this.#unsaved.values()];
    for (let first = 0; first < unsaved.length; first += KEYS_PER_SAVE) {
      // However many there are, requests are served in between.
      if (first > 0) await nextTurn();
      const counts = unsaved.slice(first, first + KEYS_PER_SAVE);
      await this.#options.storage.limits.raiseCounts(counts);
      // Only what did not change meanwhile is saved.
      for (const each of counts) if (this.#unsaved.get(each.keyId) === each) this.#unsaved.delete(each.keyId);
    }
  }
}

function toRow(keyId: string, { startedAt, starts, ends, level, reason }: SharedBan): Ban {
  return { keyId, startedAt, endsAt: startedAt + ends - starts, level, reason };
}

/** Of each window what is later, as `LimitStorage.raiseCounts` would have it. */
function laterCounts(stored: WindowCounts | undefined, unsaved: WindowCounts | undefined): WindowCounts | undefined {
  if (!stored || !unsaved) return stored ?? unsaved;
  const isLaterMinute =
    stored.minuteEnds > unsaved.minuteEnds ||
    (stored.minuteEnds === unsaved.minuteEnds && stored.minuteUsed > unsaved.minuteUsed);
  const isLaterDay = stored.day > unsaved.day || (stored.day === unsaved.day && stored.dayUsed > unsaved.dayUsed);
  const { minuteEnds, minuteUsed } = isLaterMinute ? stored : unsaved;
  const { day, dayUsed } = isLaterDay ? stored : unsaved;
  return { keyId: stored.keyId, minuteEnds, minuteUsed, day, dayUsed };
}
