import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ApiKey } from '../../catalog/api-key.ts';
import type { Limits } from '../../catalog/plan.ts';
import type { Storage } from '../../catalog/storage.ts';
import { capped, merged, type WindowCounts } from '../../catalog/window-counts.ts';
import { BoundedMap } from '../../stdx/bounded-map.ts';
import { partsInKeyOrder } from '../../stdx/key-order.ts';
import { oneAtATime } from '../../stdx/one-at-a-time.ts';
import type { Moment, Timer } from '../../stdx/time.ts';
import type { Events } from '../../telemetry/events.ts';
import { countRefusal } from '../bans.ts';
import type { LimiterState, WindowLimiter } from '../limiter.ts';
import { charge, type Decision, later, look, UNUSED, type WindowState } from '../window.ts';
import type { Counted, Remembered } from './counts.ts';
import { LocalShare, StoredCounts } from './outage.ts';
import { RedisServers, type RedisServersOptions } from './servers.ts';

/** Well under the second of counts that a crash may lose. */
const SAVE_INTERVAL_MS = 500;
/** Refused keys in memory; beyond it the oldest is evicted and asks Redis again. */
const REFUSED_MAX = 200_000;
/** Keys whose counts wait for storage; beyond it the oldest is evicted, since Redis has them all. */
const UNSAVED_MAX = 200_000;
/** The servers to which a request is sent one after the other, while nodes disagree on who has its slot. */
const TRIES_MAX = 5;
/** Keys known to be merged at once; the oldest beyond are merged again when they call. */
const MERGED_MAX = 200_000;

export interface RedisLimiterOptions extends Omit<RedisServersOptions, 'onClockStep'> {
  readonly storage: Pick<Storage, 'limits'>;
  readonly events: Events;
  /** The number of instances that share the limits; sets each one's share while Redis is lost. */
  readonly instances: number;
}

/** The state of a key that was refused: by which limits, and how often since. */
interface Refused {
  readonly limits: Limits;
  readonly state: WindowState;
}

/**
 * Counts in Redis, for any number of instances: exact while Redis answers. What is said of it holds for each master of
 * a cluster and the keys in its slots. Fast path: a key known to be exhausted is refused from memory. While Redis does
 * not answer, each instance admits its share of every limit without waiting; a request whose reply came too late is
 * then counted twice. Counts are saved to storage within a second, so that Redis may lose its data or come back with
 * older data: on a new connection, and when another server answers on it, the first request of each key merges what
 * storage and this process remember into what Redis has. While storage fails, Redis is believed, and the merge stays
 * due.
 */
export class RedisLimiter implements WindowLimiter {
  readonly #options: RedisLimiterOptions;
  readonly #redis: RedisServers;
  readonly #share: LocalShare;
  readonly #refused = new BoundedMap<Refused>(REFUSED_MAX);
  readonly #unsaved = new BoundedMap<WindowCounts>(UNSAVED_MAX);
  readonly #stored: StoredCounts;
  /** The server on which the counts of a key were merged with what is remembered elsewhere. */
  readonly #merged = new BoundedMap<object>(MERGED_MAX);
  readonly #timer: Timer;
  /** Saves everything counted before the call; what fails is kept for the next save. Never rejects. */
  readonly save = oneAtATime(() => this.#save());

  /** Starts disconnected; `connect` makes the first attempt, and the link retries every second. */
  constructor(options: RedisLimiterOptions) {
    const { instances, storage, time } = options;
    this.#options = options;
    this.#share = new LocalShare(instances);
    this.#stored = new StoredCounts(storage.limits, time);
    this.#redis = new RedisServers({ ...options, onClockStep: () => this.#refused.clear() });
    this.#timer = time.setInterval(() => this.save(), SAVE_INTERVAL_MS).unref();
  }

  get state(): LimiterState {
    return this.#redis.isUp ? 'ok' : 'degraded';
  }

  get lostMasters(): readonly string[] {
    return this.#redis.lostMasters;
  }

  /** Waits until Redis is connected or the first attempt failed. */
  connect(): Promise<void> {
    return this.#redis.connect();
  }

  charge(key: ApiKey): Decision | Promise<Decision> {
    const spent = this.#spent(key);
    if (!spent) return this.#chargeInRedis(key);
    this.#options.events.refusedFromMemory();
    return this.#decide(key, spent.state, this.#redis.of(key.id).now().earliest);
  }

  peek(key: ApiKey): Decision | Promise<Decision> {
    const spent = this.#spent(key);
    return spent ? look(spent.state, key.limits, this.#redis.of(key.id).now().earliest) : this.#peekInRedis(key);
  }

  recall(key: ApiKey): Decision | Promise<Decision> {
    const refused = this.#refused.get(key.id);
    if (!refused) return this.#peekInRedis(key, { isKept: true });
    this.#options.events.refusedFromMemory();
    return look(refused.state, key.limits, this.#redis.of(key.id).now().earliest);
  }

  current(key: ApiKey, decision: Decision): Decision {
    const redis = this.#redis.of(key.id);
    const now = redis.link.isUp ? redis.now().earliest : this.#options.time.now();
    return now.unix <= decision.now ? decision : later(decision, now);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer[Symbol.dispose]();
    await this.save();
    await this.#redis[Symbol.asyncDispose]();
  }

  async #chargeInRedis(key: ApiKey): Promise<Decision> {
    const counted = await this.#count(key, 1);
    if (!counted) return this.#share.charge(key, this.#options.time.now());
    // Redis counts admitted requests; each instance counts its own refusals.
    const { refusals, refusalsEnd, banGeneration } = this.#refused.get(key.id)?.state ?? counted.state;
    return this.#decide(key, { ...counted.state, refusals, refusalsEnd, banGeneration }, counted.now);
  }

  async #peekInRedis(key: ApiKey, { isKept = false } = {}): Promise<Decision> {
    const counted = await this.#count(key, 0);
    if (!counted) return this.#share.peek(key, this.#options.time.now());
    if (isKept) this.#refused.set(key.id, { limits: key.limits, state: counted.state });
    return look(counted.state, key.limits, counted.now);
  }

  /** Fast path: the state in memory, if it suffices to refuse. A plan changed since then may have room. */
  #spent({ id, limits }: ApiKey): Refused | undefined {
    const refused = this.#refused.get(id);
    if (!refused || refused.limits.minute !== limits.minute || refused.limits.day !== limits.day) return undefined;
    return look(refused.state, limits, this.#redis.of(id).now().latest).refusal && refused;
  }

  #decide(key: ApiKey, before: WindowState, now: Moment): Decision {
    const { state, decision } = charge(before, key.limits, now);
    if (decision.refusal) {
      const refused = countRefusal(state, key.banGeneration, now);
      this.#refused.set(key.id, { limits: key.limits, state: refused });
      return { ...decision, refusals: refused.refusals };
    }
    const { minuteEnds, minuteUsed, day, dayUsed } = state;
    const counts = { keyId: key.id, minuteEnds, minuteUsed, day, dayUsed };
    const known = this.#unsaved.get(key.id);
    // What was counted first may be told last, since the first request of a key on a server takes longer.
    const isOvertaken = known?.day === day && known.dayUsed > dayUsed;
    this.#unsaved.set(key.id, isOvertaken ? { ...counts, ...merged(known, counts) } : counts);
    if (now.steady < state.refusalsEnd) this.#refused.set(key.id, { limits: key.limits, state });
    else this.#refused.delete(key.id);
    return decision;
  }

  /** Counts the request in Redis if there is room; returns the state from before. Undefined without an answer. */
  async #count(key: ApiKey, cost: 0 | 1): Promise<Counted | undefined> {
    const redis = this.#redis.of(key.id);
    if (!redis.link.isUp) return undefined;
    // Fast path: a key that was merged, and has a value, needs one promise.
    const isMerged = this.#merged.get(key.id) === redis.link.server;
    const counted = isMerged ? await redis.count(key.id, key.limits, { cost }) : 'missing';
    return counted === 'missing' ? this.#countMerged(key, cost) : counted;
  }

  /** Counts a request of a key that is not known to be merged, or that Redis does not have. */
  async #countMerged({ id, limits }: ApiKey, cost: 0 | 1): Promise<Counted | undefined> {
    // What is in flight while the server changes must not mark the key as merged on the next one.
    const { server } = this.#redis.of(id).link;
    if (!server) return undefined;
    const reading = this.#readRemembered(id);
    let remembered = this.#merged.get(id) === server ? await reading : await this.#remembered(id, reading);
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const counted = await this.#redis.of(id).count(id, limits, { cost, remembered });
      if (counted !== 'missing') {
        if (counted && remembered.isComplete) this.#merged.set(id, server);
        return counted;
      }
      remembered = await reading;
    }
    return undefined;
  }

  /** While storage fails, only what this process remembers; storage is retried in the background. */
  async #remembered(keyId: string, reading: Promise<Remembered>): Promise<Remembered> {
    const complete = reading.catch(() => undefined);
    const remembered = this.#stored.isFailing ? undefined : await complete;
    return remembered ?? { counts: this.#unsaved.get(keyId), isComplete: false };
  }

  /** Everything that is remembered of a key outside of Redis. Rejects with `unavailable`. */
  async #readRemembered(keyId: string): Promise<Remembered> {
    // A save that overlaps this read may be missing from its result.
    const before = this.#unsaved.get(keyId);
    const read = await this.#stored.read(keyId);
    const stored = read && capped(read, this.#redis.of(keyId).now().latest.unix);
    // Capped once: left as it was read, it would lock the key out again after each new connection.
    if (stored && stored !== read && !this.#unsaved.has(keyId)) this.#unsaved.set(keyId, stored);
    const all = [stored, before, this.#unsaved.get(keyId)].filter((each) => each !== undefined);
    return { counts: all.reduce(merged, UNUSED), isComplete: true };
  }

  async #save(): Promise<void> {
    try {
      for (const keyIds of partsInKeyOrder(this.#unsaved.keys())) {
        const counts = keyIds.flatMap((keyId) => this.#unsaved.get(keyId) ?? []);
        await this.#options.storage.limits.raiseCounts(counts, () => this.#redis.latestUnix);
        // Counts that changed during the save stay unsaved.
        for (const each of counts) if (this.#unsaved.get(each.keyId) === each) this.#unsaved.delete(each.keyId);
        // Yields, so that requests are served in between.
        await nextTurn();
      }
    } catch (error) {
      this.#options.events.countsNotSaved(error);
    }
  }
}
