import { type Outcome, outcomeOf } from '../catalog/usage.ts';
import { MINUTE_SECONDS } from '../stdx/duration.ts';
import type { AnsweredRequest } from './events.ts';
import { clientOf } from './user-agent.ts';

/** The number of refusals and errors that are kept, and that of other answers. */
const KEPT_MAX = 10_000;
/** The most of these that one key has, so that its flood pushes out no other's. */
const KEPT_OF_KEY_MAX = 200;
/** The refusals of one key and minute that are kept: this many of the first, and of the last. */
const REFUSALS_MAX = 10;
const REFUSED = 429;
const LONG_CHARACTERS = 500;

/** A request with a key as it was answered: no body, query or address of the caller, and no header but this one. */
export interface RecentRequest
  extends Pick<AnsweredRequest, 'requestId' | 'method' | 'route' | 'status' | 'code' | 'durationMs' | 'userAgent'> {
  /** Ascends with every request. */
  readonly order: number;
  /** Unix seconds. */
  readonly at: number;
  readonly keyId: string;
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
  /** A part of the client's `User-Agent`, regardless of case. */
  readonly client?: string | undefined;
  /** Only those of these keys. */
  readonly keyIds?: ReadonlySet<string> | undefined;
  /** Only from this moment on, and before that one (Unix seconds). */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** Only those with a smaller `order`. */
  readonly before?: number | undefined;
}

/**
 * The latest requests with a key that this instance answered. It is bounded by number, in all and for each key; with
 * the longest request ids, each from another key, it takes 10 MB.
 */
export class RecentRequests {
  readonly #failed = new Requests();
  readonly #others = new Requests();
  #count = 0;

  /** Keeps a request; `at` in Unix seconds. */
  record(answered: AnsweredRequest, keyId: string, at: number) {
    const { requestId, method, route, status, code, durationMs, windows, userAgent } = answered;
    this.#count += 1;
    (status >= 400 ? this.#failed : this.#others).add({
      order: this.#count,
      requestId,
      at,
      keyId,
      method,
      route,
      status,
      code,
      durationMs: Math.round(durationMs * 1_000) / 1_000,
      // A long one is copied, so that it does not keep its 16 KiB.
      userAgent:
        userAgent && userAgent.length > LONG_CHARACTERS ? Buffer.from(clientOf(userAgent)).toString() : userAgent,
      minuteRemaining: windows?.minute.remaining,
      dayRemaining: windows?.day.remaining,
      limit: windows?.limit,
      ban: windows?.ban?.reason,
      older: undefined,
      newer: undefined,
    });
  }

  find(requestId: string): RecentRequest | undefined {
    const isSought = (request: Kept) => request.requestId === requestId;
    return this.#newest([this.#failed.newestFirst(), this.#others.newestFirst()], isSought, 1)[0];
  }

  list(query: RecentQuery): RecentRequest[] {
    const { limit, keyId, status, outcome, route, client, keyIds, since = 0, until, before } = query;
    const both = [this.#failed, this.#others];
    const found = both.map((each) => (keyId === undefined ? each.newestFirst() : each.ofKey(keyId).values()));
    const hasStatus = status === undefined ? undefined : new RegExp(`^${status.replaceAll('x', '\\d')}$`);
    return this.#newest(
      found,
      (request) =>
        (hasStatus?.test(`${request.status}`) ?? true) &&
        (outcome === undefined || outcomeOf(request.status) === outcome) &&
        (route === undefined || request.route === route) &&
        (client === undefined ||
          clientOf(request.userAgent ?? '')
            .toLowerCase()
            .includes(client.toLowerCase())) &&
        (keyIds?.has(request.keyId) ?? true) &&
        request.at >= since &&
        (until === undefined || request.at < until) &&
        (before === undefined || request.order < before),
      limit,
    );
  }

  #newest(
    found: readonly IteratorObject<Kept>[],
    isSought: (request: Kept) => boolean,
    limit: number,
  ): RecentRequest[] {
    return found
      .flatMap((requests) => requests.filter(isSought).take(limit).toArray())
      .sort((one, other) => other.order - one.order)
      .slice(0, limit)
      .map(({ ban, older: _older, newer: _newer, ...request }) => {
        return { ...request, reason: refusalReason(request, ban) };
      });
  }
}

/** A request between its neighbours in time. */
interface Kept extends Omit<RecentRequest, 'reason'> {
  /** Why the key was banned, if it was. */
  readonly ban: string | undefined;
  older: Kept | undefined;
  newer: Kept | undefined;
}

/**
 * A bounded number of requests. Of the refusals of a key within a minute the oldest that is not one of the first ten
 * makes room for the next one, of other requests the oldest of a full key, else the oldest of all.
 */
class Requests {
  /** The requests of each key that has any, the oldest first. */
  readonly #byKey = new Map<string, Kept[]>();
  #oldest: Kept | undefined;
  #newest: Kept | undefined;
  #count = 0;

  add(request: Kept): void {
    const excess = this.#excess(request);
    if (excess) this.#remove(excess);
    request.older = this.#newest;
    if (this.#newest) this.#newest.newer = request;
    this.#newest = request;
    this.#oldest ??= request;
    this.#count += 1;
    const ofKey = this.#byKey.get(request.keyId);
    if (ofKey) ofKey.push(request);
    else this.#byKey.set(request.keyId, [request]);
  }

  *newestFirst(): Generator<Kept> {
    for (let request = this.#newest; request; request = request.older) yield request;
  }

  ofKey(keyId: string): Kept[] {
    return this.#byKey.get(keyId)?.toReversed() ?? [];
  }

  /** The request that makes room for the next one; undefined while there is room. */
  #excess({ keyId, status, at }: Kept): Kept | undefined {
    const ofKey = this.#byKey.get(keyId) ?? [];
    if (status === REFUSED && ofKey.length >= 2 * REFUSALS_MAX) {
      const minute = minuteOf(at);
      const refusals = ofKey.filter((each) => each.status === REFUSED && minuteOf(each.at) === minute);
      if (refusals.length >= 2 * REFUSALS_MAX) return refusals[REFUSALS_MAX];
    }
    if (ofKey.length === KEPT_OF_KEY_MAX) return ofKey[0];
    return this.#count === KEPT_MAX ? this.#oldest : undefined;
  }

  #remove(request: Kept): void {
    const { keyId, older, newer } = request;
    if (older) older.newer = newer;
    else this.#oldest = newer;
    // The newest never makes room.
    if (newer) newer.older = older;
    this.#count -= 1;
    const ofKey = this.#byKey.get(keyId) ?? [];
    if (ofKey[0] === request) ofKey.shift();
    else ofKey.splice(ofKey.indexOf(request), 1);
    if (ofKey.length === 0) this.#byKey.delete(keyId);
  }
}

function minuteOf(at: number): number {
  return Math.floor(at / MINUTE_SECONDS);
}

function refusalReason({ code, limit }: Pick<RecentRequest, 'code' | 'limit'>, ban?: string): string | undefined {
  if (code === 'key_banned') return ban;
  if (code === 'rate_limit_exceeded') return `the limit of ${limit} requests per minute was reached`;
  return code === 'daily_quota_exceeded' ? `the quota of ${limit} requests per day was reached` : undefined;
}
