import type { ApiKey } from '../../catalog/api-key.ts';
import type { Counts } from '../../catalog/window-counts.ts';
import type { Moment, Time } from '../../stdx/time.ts';
import type { Events } from '../../telemetry/events.ts';
import { charge, type WindowState, withResets } from '../window.ts';
import { RedisLink, type RedisLinkOptions } from './link.ts';
import { fromValue, timeOf, toValue } from './script.ts';
import { ServerClock } from './server-clock.ts';
import { type Redirection, readRedirection } from './slots.ts';

/** Requests that are counted at once: some 0.3 ms of Redis, in which it does nothing else. */
const BATCH_MAX = 64;

/** A key's state from just before a request was counted. */
export interface Counted {
  readonly now: Moment;
  readonly state: WindowState;
}

/** The counts of a key that are remembered outside of Redis, to be merged with what Redis has. */
export interface Remembered {
  readonly counts: Counts;
  /** True if that is everything, so that it may become the value of a key that Redis does not have. */
  readonly isComplete: boolean;
}

/** Requests of one key to be counted, or one to be read: what the script does in one step. */
interface Count {
  readonly key: ApiKey;
  readonly isRead: boolean;
  readonly remembered: Remembered | undefined;
  /** Settle them, in their order. */
  readonly requests: ((counted: Counted | 'missing' | undefined) => void)[];
}

export interface RedisCountsOptions extends Omit<RedisLinkOptions, 'onBeat'> {
  readonly events: RedisLinkOptions['events'] & Pick<Events, 'requestCounted'>;
  /** Replaces the Redis server's clock; for tests. */
  readonly serverTime?: Pick<Time, 'now'>;
  /** The server's clock was stepped, so moments read from it earlier are invalid. */
  readonly onClockStep: () => void;
  /** For a node of a cluster: the node that a redirection leads to, once it can be used or that takes too long. */
  readonly onRedirection?: (redirection: Redirection) => Promise<RedisCounts>;
}

/**
 * Counts on one server of Redis. Requests of the same turn of the event loop are counted by one call of the script, and
 * those of one key in one step of it: each by itself costs Redis far more, and this process five times as much.
 */
export class RedisCounts {
  readonly link: RedisLink;
  readonly #clock: ServerClock;
  readonly #options: RedisCountsOptions;
  /** The requests of this turn; the latest of each key by its id. */
  #batch: Count[] = [];
  readonly #latest = new Map<string, Count>();
  #requests = 0;

  constructor(options: RedisCountsOptions) {
    this.#options = options;
    this.#clock = new ServerClock(options.time, options.onClockStep);
    // Before the first count, since windows that another instance opened may be known already.
    this.link = new RedisLink({ ...options, onBeat: (reply, sentMs) => this.#timeOf(reply, sentMs) });
  }

  /** Bounds of the server's current time, as `ServerClock.now`. */
  now(): { readonly earliest: Moment; readonly latest: Moment } {
    const now = this.#options.serverTime?.now();
    return now ? { earliest: now, latest: now } : this.#clock.now();
  }

  /**
   * Merges what is remembered into the key's windows, then counts a request against them; `cost` 0 only reads.
   * `missing` if there is no value in Redis and nothing complete to begin with; undefined without an answer in time.
   */
  count(
    key: ApiKey,
    { cost, remembered }: { cost: 0 | 1; remembered?: Remembered | undefined },
  ): Promise<Counted | 'missing' | undefined> | undefined {
    if (!this.link.isUp) return undefined;
    return new Promise((resolve) => {
      if (this.#requests === 0) setImmediate(this.#send);
      this.#requests += 1;
      const latest = this.#latest.get(key.id);
      if (latest?.key === key && cost === 1 && !latest.isRead && !remembered) {
        latest.requests.push(resolve);
      } else {
        const own = { key, isRead: cost === 0, remembered, requests: [resolve] };
        this.#latest.set(key.id, own);
        this.#batch.push(own);
      }
      if (this.#requests >= BATCH_MAX) this.#send();
    });
  }

  readonly #send = (): void => {
    const batch = this.#batch;
    if (batch.length === 0) return;
    this.#batch = [];
    this.#latest.clear();
    this.#requests = 0;
    // A server counts a turn in one call. The keys of a cluster are in many slots: a call for each, side by side.
    if (this.#options.isNode) for (const count of batch) void this.#call([count], this.link);
    else void this.#call(batch, this.link);
  };

  /** Counts on this server; with `isAsking` on the link to one that has the keys ahead of their slot. */
  async #call(batch: readonly Count[], link: RedisLink, isAsking = false): Promise<void> {
    const { unix = '', steady = '' } = this.#options.serverTime?.now() ?? {};
    const keyIds: string[] = [];
    const args = [`${unix}`, `${steady}`];
    for (const { key, isRead, remembered, requests } of batch) {
      const { id, limits, resets } = key;
      keyIds.push(id);
      args.push(`${limits.minute}`, `${limits.day}`, `${resets.minute}`, `${resets.day}`);
      args.push(isRead ? '0' : `${requests.length}`);
      // With the resets, or a later end would be given up for an earlier one of a reset window.
      args.push(remembered ? toValue(withResets(remembered.counts, resets)) : '');
      args.push(remembered?.isComplete ? '1' : '');
    }
    const sentMs = this.#options.time.steadyMs();
    const reply = await link.run(keyIds, args, isAsking);
    if (!Array.isArray(reply)) return this.#settleElsewhere(batch, reply, link);
    const now = isAsking ? timeOf(reply).now : this.#timeOf(reply, sentMs);
    const tookMs = this.#options.time.steadyMs() - sentMs;
    for (const [index, count] of batch.entries()) {
      for (const _ of count.requests) this.#options.events.requestCounted(tookMs);
      settleOne(count, reply[index + 1], now);
    }
  }

  /**
   * Settles requests that this server did not count. A key that is ahead of its slot is counted where it is; after a
   * move of the slot each request begins anew, because the other node may have older data, which must be merged first.
   */
  async #settleElsewhere(batch: readonly Count[], reply: unknown, link: RedisLink): Promise<void> {
    const redirection = reply instanceof Error ? readRedirection(reply) : undefined;
    const node = redirection && (await this.#options.onRedirection?.(redirection));
    if (node && redirection.kind === 'ASK') return this.#call(batch, node.link, true);
    if (reply !== undefined && !node) link.lose(reply);
    for (const { requests } of batch) for (const resolve of requests) resolve(node && 'missing');
  }

  /** The moment by which a reply was counted. Reads the server's clock from it. */
  #timeOf(reply: unknown, sentMs: number): Moment {
    const { ms, now } = timeOf(reply);
    if (!this.#options.serverTime) this.#clock.read(ms, sentMs, this.#options.time.steadyMs());
    return now;
  }
}

/** Gives the first request of a key the state from before it, and each further one that which the one before left. */
function settleOne({ requests, key }: Count, value: unknown, now: Moment): void {
  if (typeof value !== 'string') {
    for (const resolve of requests) resolve('missing');
    return;
  }
  let state = fromValue(value);
  for (const [index, resolve] of requests.entries()) {
    // By the rule by which the script counted them.
    if (index > 0) state = charge(state, key.limits, now).state;
    resolve({ now, state });
  }
}
