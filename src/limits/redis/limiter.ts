import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ApiKey } from '../../catalog/api-key.ts';
import { CatalogError } from '../../catalog/error.ts';
import type { Storage } from '../../catalog/storage.ts';
import { capped, merged, NO_COUNTS, type WindowCounts } from '../../catalog/window-counts.ts';
import { BoundedMap } from '../../stdx/bounded-map.ts';
import { partsInKeyOrder } from '../../stdx/key-order.ts';
import { oneAtATime } from '../../stdx/one-at-a-time.ts';
import { type Moment, type Timer, within } from '../../stdx/time.ts';
import type { Events } from '../../telemetry/events.ts';
import { chargeKey } from '../bans.ts';
import type { Limiter } from '../limiter.ts';
import { charge, type Decision, later, look, UNUSED, type WindowState, withResets } from '../window.ts';
import type { Counted, Remembered } from './counts.ts';
import { RedisServers, type RedisServersOptions } from './servers.ts';

/** Well under the second of counts that a crash may lose. */
const SAVE_INTERVAL_MS = 500;
/** Keys of each kind in memory; beyond it the oldest is evicted, and Redis or storage is asked for it again. */
const KEYS_MAX = 200_000;
/** The servers to which a request is sent one after the other, while nodes disagree on who has its slot. */
const TRIES_MAX = 5;
/** A read of storage that takes longer has failed for its caller; its query may go on. */
const READ_MS = 2_000;
/** The time that a failure counts: longer than a read, so that under load the next one has failed by then. */
const FAILING_MS = 3_000;

export interface RedisLimiterOptions extends Omit<RedisServersOptions, 'onClockStep'> {
  readonly storage: Pick<Storage, 'limits'>;
  readonly events: Events;
  /** The number of instances that share the limits; sets each one's share while Redis is lost. */
  readonly instances: number;
}

/**
 * Counts in Redis, for any number of instances: exact while it answers. Without it, each instance admits its share of
 * every limit without waiting; a request whose reply came too late is then counted twice. Counts are saved to storage
 * within a second, so that Redis may lose its data or come back with older data: on a new connection, and when another
 * server answers on it, the first request of each key merges what storage and this process remember into what Redis
 * has. While storage fails, Redis is believed, and the merge stays due.
 */
export class RedisLimiter implements Limiter {
  readonly #options: RedisLimiterOptions;
  readonly #redis: RedisServers;
  /** The share of each key that this instance admitted, kept from one outage to the next: so several grant it once. */
  readonly #shares = new BoundedMap<WindowState>(KEYS_MAX);
  /** The states of keys that were refused. */
  readonly #refused = new BoundedMap<WindowState>(KEYS_MAX);
  readonly #unsaved = new BoundedMap<WindowCounts>(KEYS_MAX);
  /** When storage failed to answer a read, since it last did. */
  #storageFailedMs = Number.NEGATIVE_INFINITY;
  /** The server on which the counts of a key were merged with what is remembered elsewhere. */
  readonly #merged = new BoundedMap<object>(KEYS_MAX);
  readonly #timer: Timer;
  /** Saves everything counted before the call; what fails is kept for the next save. Never rejects. */
  readonly save = oneAtATime(() => this.#save());

  /** Starts disconnected; `connect` makes the first attempt, and the link retries every second. */
  constructor(options: RedisLimiterOptions) {
    this.#options = options;
    this.#redis = new RedisServers({ ...options, onClockStep: () => this.#refused.clear() });
    this.#timer = options.time.setInterval(() => this.save(), SAVE_INTERVAL_MS).unref();
  }

  get lost(): readonly string[] {
    return this.#redis.lost;
  }

  /** Waits until Redis is connected or the first attempt failed. */
  connect(): Promise<void> {
    return this.#redis.connect();
  }

  charge(key: ApiKey): Decision | Promise<Decision> {
    const spent = this.#spent(key);
    if (!spent) return this.#chargeInRedis(key);
    this.#options.events.refusedFromMemory();
    return this.#decide(key, spent, this.#redis.of(key.id).now().earliest);
  }

  peek(key: ApiKey, isBanned = false): Decision | Promise<Decision> {
    const known = isBanned ? this.#refused.get(key.id) : this.#spent(key);
    if (!known) return this.#peekInRedis(key, isBanned);
    if (isBanned) this.#options.events.refusedFromMemory();
    return look(withResets(known, key.resets), key.limits, this.#redis.of(key.id).now().earliest);
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
    if (!counted) return this.#decideByShare(key, 1);
    // Redis counts admitted requests; each instance counts its own refusals.
    const { refusals, refusalsEnd, banGeneration } = this.#refused.get(key.id) ?? counted.state;
    return this.#decide(key, { ...counted.state, refusals, refusalsEnd, banGeneration }, counted.now);
  }

  async #peekInRedis(key: ApiKey, isKept: boolean): Promise<Decision> {
    const counted = await this.#count(key, 0);
    if (!counted) return this.#decideByShare(key, 0);
    if (isKept) this.#refused.set(key.id, counted.state);
    return look(counted.state, key.limits, counted.now);
  }

  /** Decides by this instance's share of each limit, rounded up. Refusals by a mere share are not counted. */
  #decideByShare(key: ApiKey, cost: 0 | 1): Decision {
    const { instances, time } = this.#options;
    const limits = { minute: Math.ceil(key.limits.minute / instances), day: Math.ceil(key.limits.day / instances) };
    const known = withResets(this.#shares.get(key.id) ?? UNUSED, key.resets);
    if (cost === 0) return look(known, limits, time.now());
    const { state, decision } = charge(known, limits, time.now());
    this.#shares.set(key.id, state);
    return decision;
  }

  /** Fast path: the state in memory, if it suffices to refuse by the present plan. */
  #spent({ id, limits, resets }: ApiKey): WindowState | undefined {
    const refused = this.#refused.get(id);
    if (!refused) return undefined;
    const state = withResets(refused, resets);
    return look(state, limits, this.#redis.of(id).now().latest).refusal && state;
  }

  #decide(key: ApiKey, before: WindowState, now: Moment): Decision {
    const { state, decision } = chargeKey(before, key, now);
    if (decision.refusal) {
      this.#refused.set(key.id, state);
      return decision;
    }
    const { minuteEnds, minuteUsed, day, dayUsed, minuteReset, dayReset } = state;
    const counts = { keyId: key.id, minuteEnds, minuteUsed, day, dayUsed, minuteReset, dayReset };
    const known = this.#unsaved.get(key.id);
    // What was counted first may be told last, since the first request of a key on a server takes longer.
    const isOvertaken = known?.day === day && (known.dayUsed > dayUsed || known.dayReset > dayReset);
    this.#unsaved.set(key.id, isOvertaken ? { ...counts, ...merged(known, counts) } : counts);
    if (now.steady < state.refusalsEnd) this.#refused.set(key.id, state);
    else this.#refused.delete(key.id);
    return decision;
  }

  /** Counts the request in Redis if there is room; returns the state from before. Undefined without an answer. */
  async #count(key: ApiKey, cost: 0 | 1): Promise<Counted | undefined> {
    const redis = this.#redis.of(key.id);
    if (!redis.link.isUp) return undefined;
    // Fast path: a key that was merged, and has a value, needs one promise.
    const isMerged = this.#merged.get(key.id) === redis.link.server;
    const counted = isMerged ? await redis.count(key, { cost }) : 'missing';
    return counted === 'missing' ? this.#countMerged(key, cost) : counted;
  }

  /** Counts a request of a key that is not known to be merged, or that Redis does not have. */
  async #countMerged(key: ApiKey, cost: 0 | 1): Promise<Counted | undefined> {
    // What is in flight while the server changes must not mark the key as merged on the next one.
    const { id } = key;
    const { server } = this.#redis.of(id).link;
    if (!server) return undefined;
    const reading = this.#readRemembered(id);
    let remembered = this.#merged.get(id) === server ? await reading : await this.#remembered(id, reading);
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const counted = await this.#redis.of(id).count(key, { cost, remembered });
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
    const isFailing = this.#options.time.steadyMs() - this.#storageFailedMs < FAILING_MS;
    const remembered = isFailing ? undefined : await complete;
    return remembered ?? { counts: this.#unsaved.get(keyId) ?? NO_COUNTS, isComplete: false };
  }

  /** Everything that is remembered of a key outside of Redis. Rejects with `unavailable`, after 2 s at the latest. */
  async #readRemembered(keyId: string): Promise<Remembered> {
    // A save that overlaps this read may be missing from its result.
    const before = this.#unsaved.get(keyId);
    const read = await this.#readStored(keyId);
    const stored = read && capped(read, this.#redis.of(keyId).now().latest.unix);
    // Capped once: left as it was read, it would lock the key out again after each new connection.
    if (stored && stored !== read && !this.#unsaved.has(keyId)) this.#unsaved.set(keyId, stored);
    const all = [stored, before, this.#unsaved.get(keyId)].filter((each) => each !== undefined);
    return { counts: all.reduce(merged, NO_COUNTS), isComplete: true };
  }

  async #readStored(keyId: string): Promise<WindowCounts | undefined> {
    const { storage, time } = this.#options;
    try {
      const counts = await within(storage.limits.counts(keyId), { ms: READ_MS, lateness, time });
      this.#storageFailedMs = Number.NEGATIVE_INFINITY;
      return counts;
    } catch (error) {
      this.#storageFailedMs = time.steadyMs();
      throw error;
    }
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

function lateness(): CatalogError {
  return new CatalogError('unavailable', 'The storage does not answer in time; retry after a second');
}
