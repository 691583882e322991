import { hash } from 'node:crypto';
import type { Limits } from '../../catalog/plan.ts';
import type { Counts } from '../../catalog/window-counts.ts';
import { DAY_SECONDS } from '../../stdx/duration.ts';
import type { Moment, Time } from '../../stdx/time.ts';
import type { Events } from '../../telemetry/events.ts';
import { charge, UNUSED, type WindowState } from '../window.ts';
import { type LinkScript, RedisLink, type RedisLinkOptions } from './link.ts';
import { type Redirection, readRedirection } from './slots.ts';

/** Minimum skew between two readings of the server's clock that counts as a clock step. */
const STEP_MS = 1_000;
/** Far above the deadline of an answer: one that took longer was read by a process that had been suspended. */
const SUSPENDED_MS = 5_000;

/** Requests that are counted at once: some 0.3 ms of Redis, in which it does nothing else. */
const BATCH_MAX = 64;

/** The value of a key in one string: `minuteEnds minuteUsed day dayUsed`. Release 0.1.0 wrote more behind them. */
const VALUE = "'^(%d+) (%d+) (%d+) (%d+)'";
const FORMAT = "'%d %d %d %d'";
/** Expiry of a value: longer than the UTC day. Storage keeps it longer. */
const EXPIRY_SECONDS = 2 * DAY_SECONDS;

/**
 * Counts requests, some for each key, in their order; a key may come several times. Returns the server's time as
 * `unix micros steady`, and for each key the value from before, from which `window.ts` makes the decisions. Decides
 * by the rule of `window.ts` how many to count.
 *
 * The first two arguments replace the server's time by `unix` and `steady` seconds, for tests. Each key has five more:
 * its limits for a minute and a day; how many requests to count, `0` to read; and what is remembered elsewhere, or an
 * empty string, to be merged into the value first, by the rule of `merged`. The last, `1`, says that this is complete
 * and may begin a value; otherwise nil is returned for a key that has none. An unreadable value counts as missing: an
 * error would look like an outage to other keys.
 *
 * If the server's clock was set back, a minute too far in the future is capped before it is merged, so that no client
 * is locked out for longer than a window lasts; so is a remembered day.
 */
const SOURCE = `
local server = redis.call('TIME')
local unix = tonumber(ARGV[1]) or tonumber(server[1])
local steady = tonumber(ARGV[2]) or unix
local today = math.floor(unix / 86400)

local function read(value)
  local minuteEnds, minuteUsed, day, dayUsed = string.match(value or '', ${VALUE})
  if not minuteEnds then return end
  return math.min(tonumber(minuteEnds), steady + 60), tonumber(minuteUsed), tonumber(day), tonumber(dayUsed)
end

local function count(key, minuteLimit, dayLimit, requests, remembered, isComplete)
  local kept = redis.call('GET', key)
  local minuteEnds, minuteUsed, day, dayUsed = read(kept)
  if not minuteEnds then
    if isComplete ~= '1' then return false end
    minuteEnds, minuteUsed, day, dayUsed = 0, 0, 0, 0
  end
  local ends, used, lastDay, usedInDay = read(remembered)
  if ends then
    lastDay = math.min(lastDay, today)
    if ends > minuteEnds or ends == minuteEnds and used > minuteUsed then minuteEnds, minuteUsed = ends, used end
    if lastDay > day or lastDay == day and usedInDay > dayUsed then day, dayUsed = lastDay, usedInDay end
  end
  local before = kept
  -- Nothing else changes what was kept: a merge, or a cap.
  if ends or minuteEnds == steady + 60 then
    before = string.format(${FORMAT}, minuteEnds, minuteUsed, day, dayUsed)
  end

  local after = before
  if today > day then day, dayUsed = today, 0 end
  if steady >= minuteEnds then minuteEnds, minuteUsed = steady + 60, 0 end
  local admitted = math.min(tonumber(requests), tonumber(minuteLimit) - minuteUsed, tonumber(dayLimit) - dayUsed)
  if admitted > 0 then
    after = string.format(${FORMAT}, minuteEnds, minuteUsed + admitted, day, dayUsed + admitted)
  end
  if after ~= kept then redis.call('SET', key, after, 'EX', '${EXPIRY_SECONDS}') end
  return before
end

local replies = { unix .. ' ' .. server[2] .. ' ' .. steady }
for i = 1, #KEYS do
  local at = i * 5 - 2
  replies[i + 1] = count(KEYS[i], ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4])
end
return replies
`;

/**
 * Keys of no client. Every heartbeat counts on them, so that a Redis is noticed that cannot write, or that keeps keys
 * in several places, where no script runs on two of them. On a node of a cluster it counts on a key that the node has.
 */
const BEAT_KEYS = ['beat', 'beat-2'];

/** A key's state from just before a request was counted. */
export interface Counted {
  readonly now: Moment;
  readonly state: WindowState;
}

/** The counts of a key that are remembered outside of Redis, to be merged with what Redis has. */
export interface Remembered {
  readonly counts: Counts | undefined;
  /** True if that is everything, so that it may become the value of a key that Redis does not have. */
  readonly isComplete: boolean;
}

/** Requests of one key to be counted, or one to be read: what the script does in one step. */
interface Count {
  readonly keyId: string;
  readonly limits: Limits;
  readonly isRead: boolean;
  readonly remembered: Remembered | undefined;
  readonly requests: {
    readonly resolve: (counted: Counted | 'missing' | undefined) => void;
  }[];
}

export interface RedisCountsOptions extends RedisLinkOptions {
  readonly events: RedisLinkOptions['events'] & Pick<Events, 'requestCounted'>;
  /** Replaces the Redis server's clock; for tests. */
  readonly serverTime?: Pick<Time, 'now'>;
  /** The server's clock was stepped, so moments read from it earlier are invalid. */
  readonly onClockStep: () => void;
  /** For a node of a cluster: the node that a redirection leads to, once it can be used or that takes too long. */
  readonly onRedirection?: (redirection: Redirection) => Promise<RedisCounts>;
}

/**
 * Counts in Redis, on the Redis server's clock. It has one clock, so its steady seconds are Unix seconds.
 * Requests of the same turn of the event loop are counted by one call of the script, and those of one key in one step
 * of it: each by itself costs Redis far more, and this process five times as much. Methods return undefined without an
 * answer in time.
 */
export class RedisCounts extends RedisLink {
  static readonly SCRIPT: LinkScript = {
    source: SOURCE,
    sha: hash('sha1', SOURCE),
    beatKeys: BEAT_KEYS,
    beatArgs: (keys) => ['', '', ...keys.flatMap(() => ['1000000000', '1000000000', '1', '', '1'])],
  };
  readonly #options: RedisCountsOptions;
  /** The requests of this turn; the latest of each key by its id. */
  #batch: Count[] = [];
  readonly #latest = new Map<string, Count>();
  #requests = 0;
  /** Bounds of the skew between the server's clock and this process's, in milliseconds. */
  #skew: { readonly least: number; readonly most: number } | undefined;

  constructor(options: RedisCountsOptions) {
    super(options, RedisCounts.SCRIPT);
    this.#options = options;
  }

  /**
   * Bounds of the server's current time. A wait computed from `earliest` is never too short; what has not ended by
   * `latest` has certainly not ended.
   */
  now(): { readonly earliest: Moment; readonly latest: Moment } {
    const { serverTime, time } = this.#options;
    if (serverTime || !this.#skew) {
      const now = (serverTime ?? time).now();
      return { earliest: now, latest: now };
    }
    const nowMs = time.steadyMs();
    return { earliest: toMoment(nowMs + this.#skew.least), latest: toMoment(nowMs + this.#skew.most) };
  }

  /**
   * Merges what is remembered into the key's windows, then counts a request against them; `cost` 0 only reads.
   * `missing` if there is no value in Redis and nothing complete to begin with.
   */
  count(
    keyId: string,
    limits: Limits,
    { cost, remembered }: { cost: 0 | 1; remembered?: Remembered | undefined },
  ): Promise<Counted | 'missing' | undefined> | undefined {
    if (!this.isUp) return undefined;
    return new Promise((resolve) => {
      if (this.#requests === 0) setImmediate(this.#send);
      this.#requests += 1;
      const latest = this.#latest.get(keyId);
      if (latest?.limits === limits && cost === 1 && !latest.isRead && !remembered) {
        latest.requests.push({ resolve });
      } else {
        const own = { keyId, limits, isRead: cost === 0, remembered, requests: [{ resolve }] };
        this.#latest.set(keyId, own);
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
    if (this.#options.isNode) for (const count of batch) this.#call([count]);
    else this.#call(batch);
  };

  #call(batch: readonly Count[], isAsking = false): void {
    const { unix = '', steady = '' } = this.#options.serverTime?.now() ?? {};
    const keyIds: string[] = [];
    const args = [`${unix}`, `${steady}`];
    for (const { keyId, limits, isRead, remembered, requests } of batch) {
      keyIds.push(keyId);
      args.push(`${limits.minute}`, `${limits.day}`, isRead ? '0' : `${requests.length}`);
      if (remembered) args.push(toValue(remembered), remembered.isComplete ? '1' : '');
      else args.push('', '');
    }
    const sentMs = this.#options.time.steadyMs();
    void this.run(keyIds, args, isAsking).then((reply) => this.#settle(batch, reply, sentMs));
  }

  #settle(batch: readonly Count[], reply: unknown, sentMs: number): void {
    if (!Array.isArray(reply)) {
      void this.#settleElsewhere(batch, reply);
      return;
    }
    const receivedMs = this.#options.time.steadyMs();
    const [serverTime, ...values] = reply as [string, ...(string | null)[]];
    const [unix = 0, micros = 0, steady = 0] = serverTime.split(' ').map(Number);
    if (!this.#options.serverTime) this.#readClock(unix * 1000 + micros / 1000, sentMs, receivedMs);
    const now = { unix, steady };
    for (const [index, count] of batch.entries()) {
      for (const _ of count.requests) this.#options.events.requestCounted(receivedMs - sentMs);
      settleOne(count, values[index], now);
    }
  }

  /**
   * Settles requests that this server did not count. A key that is ahead of its slot is counted where it is; after a
   * move of the slot each request begins anew, because the other node may have older data, which must be merged first.
   */
  async #settleElsewhere(batch: readonly Count[], reply: unknown): Promise<void> {
    const redirection = reply instanceof Error ? readRedirection(reply) : undefined;
    const node = redirection && (await this.#options.onRedirection?.(redirection));
    if (node && redirection.kind === 'ASK') {
      node.#call(batch, true);
      return;
    }
    if (reply !== undefined && !node) this.lose(reply);
    for (const { requests } of batch) for (const { resolve } of requests) resolve(node && 'missing');
  }

  /** Reads the clock of a master before its first count: windows that another one opened may be known already. */
  protected override onBeat(reply: unknown, sentMs: number): void {
    if (!this.#options.isNode || this.#skew || this.#options.serverTime) return;
    const [unix = 0, micros = 0] = String((reply as unknown[])[0])
      .split(' ')
      .map(Number);
    this.#readClock(unix * 1000 + micros / 1000, sentMs, this.#options.time.steadyMs());
  }

  /** Updates the skew: the server read its clock at some moment between sending and receiving. */
  #readClock(serverMs: number, sentMs: number, receivedMs: number): void {
    const before = this.#skew;
    // Such a reading says little; the last one still holds.
    if (before && receivedMs - sentMs > SUSPENDED_MS) return;
    const skew = { least: serverMs - receivedMs, most: serverMs - sentMs };
    this.#skew = skew;
    if (before && (skew.least > before.most + STEP_MS || skew.most < before.least - STEP_MS)) {
      this.#options.onClockStep();
    }
  }
}

/** Gives the first request of a key the state from before it, and each further one that which the one before left. */
function settleOne({ requests, limits }: Count, value: string | null | undefined, now: Moment): void {
  if (typeof value !== 'string') {
    for (const { resolve } of requests) resolve('missing');
    return;
  }
  let state = fromValue(value);
  for (const [index, { resolve }] of requests.entries()) {
    // By the rule by which the script counted them.
    if (index > 0) state = charge(state, limits, now).state;
    resolve({ now, state });
  }
}

function toMoment(ms: number): Moment {
  const seconds = Math.floor(ms / 1000);
  return { unix: seconds, steady: seconds };
}

function toValue({ counts }: Remembered): string {
  const { minuteEnds, minuteUsed, day, dayUsed } = counts ?? UNUSED;
  return `${minuteEnds} ${minuteUsed} ${day} ${dayUsed}`;
}

function fromValue(value: string): WindowState {
  const [minuteEnds = 0, minuteUsed = 0, day = 0, dayUsed = 0] = value.split(' ', 4).map(Number);
  return { ...UNUSED, minuteEnds, minuteUsed, day, dayUsed };
}
