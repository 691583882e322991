import type { AnyErrorCode } from '../catalog/error.ts';
import { type Outcome, outcomeOf } from '../catalog/usage.ts';
import { MINUTE_SECONDS } from '../stdx/duration.ts';
import type { AnsweredRequest } from './events.ts';

/** The number of refusals and errors that are kept, and that of other answers. */
const KEPT_MAX = 10_000;
/** The most of these that one key has, so that its flood pushes out no other's. */
const KEPT_OF_KEY_MAX = 200;
/** The refusals of one key and minute that are kept: this many of the first, and of the last. */
const REFUSALS_MAX = 10;
const REFUSED = 429;
const NONE = -1;

/** A request with a key as it was answered: no body, query, header or address of the caller. */
export interface RecentRequest {
  readonly requestId: string;
  /** Unix seconds. */
  readonly at: number;
  readonly keyId: string;
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly code: AnyErrorCode | undefined;
  readonly durationMs: number;
  /** The requests that the windows had left after the request; undefined if it was not counted. */
  readonly minuteRemaining: number | undefined;
  readonly dayRemaining: number | undefined;
  /** The limit of the window that has fewer requests left, or that refused; undefined if it was not counted. */
  readonly limit: number | undefined;
  /** Why it was refused, for a 429. */
  readonly reason: string | undefined;
}

export interface RecentQuery {
  readonly limit: number;
  readonly keyId?: string | undefined;
  /** A status such as 429, or a class such as 4xx. */
  readonly status?: string | undefined;
  readonly outcome?: Outcome | undefined;
  readonly route?: string | undefined;
}

/**
 * The latest requests with a key that this instance answered. It is bounded by number, in all and for each key; with
 * the longest request ids, each from another key, it takes 8 MB.
 */
export class RecentRequests {
  readonly #failed = new Requests();
  readonly #others = new Requests();
  #count = 0;

  /** Keeps a request; `at` in Unix seconds. */
  record(answered: AnsweredRequest, keyId: string, at: number): void {
    this.#count += 1;
    (answered.status >= 400 ? this.#failed : this.#others).add(answered, { keyId, at, order: this.#count });
  }

  find(requestId: string): RecentRequest | undefined {
    const isSought = (request: Kept) => request.requestId === requestId;
    return this.#newest([this.#failed.newestFirst(), this.#others.newestFirst()], isSought, 1)[0];
  }

  list({ limit, keyId, status, outcome, route }: RecentQuery): RecentRequest[] {
    const both = [this.#failed, this.#others];
    const found = both.map((each) => (keyId === undefined ? each.newestFirst() : each.ofKey(keyId)));
    const hasStatus = status === undefined ? undefined : new RegExp(`^${status.replaceAll('x', '\\d')}$`, 'i');
    return this.#newest(
      found,
      (request) =>
        (hasStatus?.test(`${request.status}`) ?? true) &&
        (outcome === undefined || outcomeOf(request.status) === outcome) &&
        (route === undefined || request.route === route),
      limit,
    );
  }

  #newest(found: readonly Iterable<Kept>[], isSought: (request: Kept) => boolean, limit: number): RecentRequest[] {
    return found
      .flatMap((requests) => [...take(requests, isSought, limit)])
      .sort((one, other) => other.order - one.order)
      .slice(0, limit)
      .map(({ order: _, ...request }) => request);
  }
}

interface Kept extends RecentRequest {
  /** Ascends with every request. */
  readonly order: number;
}

/**
 * A bounded number of requests, as columns: objects would take twice the memory. A request has a slot; slots are linked
 * by age, and those of one key among themselves. Of the refusals of a key within a minute the oldest that is not one of
 * the first ten makes room for the next one, of other requests the oldest of a full key, else the oldest of all.
 */
class Requests {
  // Slots and keys fit into 16 bits.
  /** The number of each key that has a request; those below belong to it. */
  readonly #keys = new Map<string, number>();
  readonly #keyIds = [] as (string | undefined)[];
  readonly #countOfKey = new Int16Array(KEPT_MAX);
  readonly #oldestOfKey = new Int16Array(KEPT_MAX);
  readonly #newestOfKey = new Int16Array(KEPT_MAX);
  /** The numbers that keys had whose requests are gone; the first `#freed` count. */
  readonly #freeKeys = new Int16Array(KEPT_MAX);
  #freed = 0;
  #usedKeys = 0;
  readonly #requestIds = [] as (string | undefined)[];
  readonly #methods = [] as (string | undefined)[];
  readonly #routes = [] as (string | undefined)[];
  readonly #codes = [] as (AnyErrorCode | undefined)[];
  readonly #bans = [] as (string | undefined)[];
  readonly #at = new Uint32Array(KEPT_MAX);
  readonly #order = new Float64Array(KEPT_MAX);
  readonly #status = new Uint16Array(KEPT_MAX);
  readonly #durationMs = new Float32Array(KEPT_MAX);
  readonly #minuteRemaining = new Int32Array(KEPT_MAX);
  readonly #dayRemaining = new Int32Array(KEPT_MAX);
  readonly #limit = new Int32Array(KEPT_MAX);
  readonly #older = new Int16Array(KEPT_MAX);
  readonly #newer = new Int16Array(KEPT_MAX);
  readonly #key = new Int16Array(KEPT_MAX);
  readonly #newerOfKey = new Int16Array(KEPT_MAX);
  readonly #olderOfKey = new Int16Array(KEPT_MAX);
  /** By key: the minute of its last refusal, the refusals in it, and the oldest one after the first ten. */
  readonly #minuteOfKey = new Uint32Array(KEPT_MAX);
  readonly #refusalsOfKey = new Int16Array(KEPT_MAX);
  readonly #lastsOfKey = new Int16Array(KEPT_MAX);
  #used = 0;
  #oldest = NONE;
  #newest = NONE;

  add(request: AnsweredRequest, { keyId, at, order }: { keyId: string; at: number; order: number }): void {
    const isRefusal = request.status === REFUSED;
    const slot = this.#freeSlot(this.#keys.get(keyId), isRefusal ? minuteOf(at) : undefined);
    const key = this.#keys.get(keyId) ?? this.#newKey(keyId);
    const { windows } = request;
    this.#requestIds[slot] = request.requestId;
    this.#methods[slot] = request.method;
    this.#routes[slot] = request.route;
    this.#codes[slot] = request.code;
    this.#bans[slot] = windows?.ban?.reason;
    this.#at[slot] = at;
    this.#order[slot] = order;
    this.#status[slot] = request.status;
    this.#durationMs[slot] = request.durationMs;
    this.#minuteRemaining[slot] = windows ? windows.minute.remaining : NONE;
    this.#dayRemaining[slot] = windows ? windows.day.remaining : NONE;
    this.#limit[slot] = windows ? windows.limit : NONE;
    this.#append(slot, key);
    if (isRefusal) this.#countRefusal(slot, key);
  }

  *newestFirst(): Generator<Kept> {
    for (let slot = this.#newest; slot !== NONE; slot = this.#older[slot] ?? NONE) yield this.#read(slot);
  }

  ofKey(keyId: string): Kept[] {
    const found: Kept[] = [];
    const key = this.#keys.get(keyId) ?? NONE;
    for (let slot = this.#oldestOfKey[key] ?? NONE; slot !== NONE; slot = this.#newerOfKey[slot] ?? NONE) {
      found.push(this.#read(slot));
    }
    return found.reverse();
  }

  /** A slot for the next request of a key; `minute` is that of a refusal. */
  #freeSlot(key = NONE, minute?: number): number {
    const lasts = this.#lastsOfKey[key] ?? NONE;
    const isFull = (this.#refusalsOfKey[key] ?? 0) >= 2 * REFUSALS_MAX;
    if (minute !== undefined && minute === this.#minuteOfKey[key] && isFull && lasts !== NONE)
      return this.#remove(lasts);
    if (this.#countOfKey[key] === KEPT_OF_KEY_MAX) return this.#remove(this.#oldestOfKey[key] ?? NONE);
    if (this.#used === KEPT_MAX) return this.#remove(this.#oldest);
    this.#used += 1;
    return this.#used - 1;
  }

  #countRefusal(slot: number, key: number): void {
    const minute = minuteOf(this.#at[slot] ?? 0);
    if (this.#minuteOfKey[key] !== minute) {
      this.#minuteOfKey[key] = minute;
      this.#refusalsOfKey[key] = 0;
      this.#lastsOfKey[key] = NONE;
    }
    const count = Math.min((this.#refusalsOfKey[key] ?? 0) + 1, 2 * REFUSALS_MAX);
    this.#refusalsOfKey[key] = count;
    if (count > REFUSALS_MAX && this.#lastsOfKey[key] === NONE) this.#lastsOfKey[key] = slot;
  }

  /** The next refusal of the key within the same minute; a key has few other requests between them. */
  #nextRefusal(slot: number): number {
    const minute = minuteOf(this.#at[slot] ?? 0);
    let next = this.#newerOfKey[slot] ?? NONE;
    while (next !== NONE && (this.#status[next] !== REFUSED || minuteOf(this.#at[next] ?? 0) !== minute))
      next = this.#newerOfKey[next] ?? NONE;
    return next;
  }

  /** Unlinks a request. */
  #remove(slot: number): number {
    const older = this.#older[slot] ?? NONE;
    const newer = this.#newer[slot] ?? NONE;
    if (older === NONE) this.#oldest = newer;
    else this.#newer[older] = newer;
    if (newer === NONE) this.#newest = older;
    else this.#older[newer] = older;
    const key = this.#key[slot] ?? NONE;
    if (this.#lastsOfKey[key] === slot) this.#lastsOfKey[key] = this.#nextRefusal(slot);
    const olderOfKey = this.#olderOfKey[slot] ?? NONE;
    const newerOfKey = this.#newerOfKey[slot] ?? NONE;
    if (olderOfKey === NONE) this.#oldestOfKey[key] = newerOfKey;
    else this.#newerOfKey[olderOfKey] = newerOfKey;
    if (newerOfKey === NONE) this.#newestOfKey[key] = olderOfKey;
    else this.#olderOfKey[newerOfKey] = olderOfKey;
    const count = (this.#countOfKey[key] ?? 0) - 1;
    this.#countOfKey[key] = count;
    if (count === 0) this.#freeKey(key);
    return slot;
  }

  #newKey(keyId: string): number {
    if (this.#freed > 0) this.#freed -= 1;
    else {
      this.#freeKeys[0] = this.#usedKeys;
      this.#usedKeys += 1;
    }
    const key = this.#freeKeys[this.#freed] ?? NONE;
    this.#keys.set(keyId, key);
    this.#minuteOfKey[key] = 0;
    this.#refusalsOfKey[key] = 0;
    this.#lastsOfKey[key] = NONE;
    this.#keyIds[key] = keyId;
    return key;
  }

  #freeKey(key: number): void {
    this.#keys.delete(this.#keyIds[key] ?? '');
    this.#freeKeys[this.#freed] = key;
    this.#freed += 1;
  }

  #append(slot: number, key: number): void {
    this.#key[slot] = key;
    this.#newerOfKey[slot] = NONE;
    this.#olderOfKey[slot] = NONE;
    const count = this.#countOfKey[key] ?? 0;
    if (count === 0) this.#oldestOfKey[key] = slot;
    else {
      this.#olderOfKey[slot] = this.#newestOfKey[key] ?? NONE;
      this.#newerOfKey[this.#newestOfKey[key] ?? NONE] = slot;
    }
    this.#newestOfKey[key] = slot;
    this.#countOfKey[key] = count + 1;
    this.#older[slot] = this.#newest;
    this.#newer[slot] = NONE;
    if (this.#newest === NONE) this.#oldest = slot;
    else this.#newer[this.#newest] = slot;
    this.#newest = slot;
  }

  #read(slot: number): Kept {
    const code = this.#codes[slot];
    const remaining = (column: Int32Array) => (column[slot] === NONE ? undefined : column[slot]);
    return {
      order: this.#order[slot] ?? 0,
      requestId: this.#requestIds[slot] ?? '',
      at: this.#at[slot] ?? 0,
      keyId: this.#keyIds[this.#key[slot] ?? NONE] ?? '',
      method: this.#methods[slot] ?? '',
      route: this.#routes[slot] ?? '',
      status: this.#status[slot] ?? 0,
      code,
      durationMs: Math.round((this.#durationMs[slot] ?? 0) * 1_000) / 1_000,
      minuteRemaining: remaining(this.#minuteRemaining),
      dayRemaining: remaining(this.#dayRemaining),
      limit: remaining(this.#limit),
      reason: refusalReason(code, { limit: this.#limit[slot] ?? 0, ban: this.#bans[slot] }),
    };
  }
}

function minuteOf(at: number): number {
  return Math.floor(at / MINUTE_SECONDS);
}

function refusalReason(
  code: AnyErrorCode | undefined,
  { limit, ban }: { limit: number; ban: string | undefined },
): string | undefined {
  if (code === 'key_banned') return ban;
  if (code === 'rate_limit_exceeded') return `the limit of ${limit} requests per minute was reached`;
  return code === 'daily_quota_exceeded' ? `the quota of ${limit} requests per day was reached` : undefined;
}

function* take(requests: Iterable<Kept>, isSought: (request: Kept) => boolean, limit: number): Generator<Kept> {
  let taken = 0;
  for (const request of requests) {
    if (!isSought(request)) continue;
    yield request;
    taken += 1;
    if (taken === limit) return;
  }
}
