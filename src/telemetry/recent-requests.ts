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
/** A request id has no more bytes. */
const ID_BYTES_MAX = 128;

/** A request with a key as it was answered: no body, query or address of the caller, and no header but this one. */
export interface RecentRequest
  extends Pick<AnsweredRequest, 'requestId' | 'method' | 'route' | 'status' | 'code' | 'durationMs'> {
  /** Ascends with every request. */
  readonly order: number;
  /** Unix seconds. */
  readonly at: number;
  readonly keyId: string;
  /** As `clientOf` reads it in the `User-Agent`; undefined without one. */
  readonly client: string | undefined;
  /** The requests that the windows had left after the request; undefined if it was not counted. */
  readonly minuteRemaining: number | undefined;
  readonly dayRemaining: number | undefined;
  /** The limit of the window that has fewer requests left, or that refused; undefined if it was not counted. */
  readonly limit: number | undefined;
  /** Why it was refused, for a 429, and a 401 of a key that has ended. */
  readonly reason: string | undefined;
}

export interface RecentQuery {
  readonly limit: number;
  readonly keyId?: string | undefined;
  /** A status such as 429, or a class such as 4xx. */
  readonly status?: string | undefined;
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
 * The latest requests with a key that this instance answered. It is bounded by number, in all and for each key, and
 * takes 12 MB. A record is written over by a later request, and ids are bytes: objects and strings of each request
 * would be copied by the young collections, and fill the old generation.
 */
export class RecentRequests {
  readonly #failed = new Requests();
  readonly #others = new Requests();
  /** The ids of all records, by their slots. */
  readonly #ids = Buffer.alloc(2 * KEPT_MAX * ID_BYTES_MAX);
  #records = 0;
  #count = 0;

  /** Keeps a request; `at` in Unix seconds. */
  record(answered: AnsweredRequest, keyId: string, at: number) {
    const { requestId, method, route, status, code, durationMs, windows, userAgent } = answered;
    const requests = status >= 400 ? this.#failed : this.#others;
    const ofKey = requests.byKey.get(keyId) ?? new Line();
    const known = ofKey.newest?.request.client;
    const client = userAgent === known ? known : userAgent && clientOf(userAgent);
    const excess = requests.excess(ofKey, status, at);
    if (excess) requests.remove(excess);
    const request = excess ?? ({ slot: this.#records++ } as Kept);
    request.inAll ??= { request, older: undefined, newer: undefined };
    request.inKey ??= { request, older: undefined, newer: undefined };
    request.order = ++this.#count;
    request.idBytes = this.#ids.write(requestId, request.slot * ID_BYTES_MAX, ID_BYTES_MAX, 'latin1');
    request.at = at;
    request.keyId = keyId;
    request.method = method;
    request.route = route;
    request.status = status;
    request.code = code;
    request.durationMs = Math.round(durationMs * 1_000) / 1_000;
    // The requests of one client share a string.
    request.client = client === known ? known : client;
    request.minuteRemaining = windows?.minute.remaining;
    request.dayRemaining = windows?.day.remaining;
    request.limit = windows?.limit;
    request.ban = answered.ended?.reason ?? windows?.ban?.reason;
    requests.add(request, ofKey);
  }

  find(requestId: string): RecentRequest | undefined {
    return this.#newest((request) => this.#idOf(request) === requestId, 1)[0];
  }

  list(query: RecentQuery): RecentRequest[] {
    const { limit, keyId, status, route, client, keyIds, since = 0, until, before } = query;
    const hasStatus = status === undefined ? undefined : new RegExp(`^${status.replaceAll('x', '\\d')}$`);
    return this.#newest(
      (request) =>
        (hasStatus?.test(`${request.status}`) ?? true) &&
        (route === undefined || request.route === route) &&
        (client === undefined || (request.client ?? '').toLowerCase().includes(client.toLowerCase())) &&
        (keyIds?.has(request.keyId) ?? true) &&
        request.at >= since &&
        (until === undefined || request.at < until) &&
        (before === undefined || request.order < before),
      limit,
      keyId,
    );
  }

  #newest(isSought: (request: Kept) => boolean, limit: number, keyId?: string): RecentRequest[] {
    return [this.#failed, this.#others]
      .map(({ all, byKey }) => (keyId === undefined ? all : byKey.get(keyId)))
      .flatMap((line) => line?.newestFirst().filter(isSought).take(limit).toArray() ?? [])
      .sort((one, other) => other.order - one.order)
      .slice(0, limit)
      .map((request) => {
        const { slot: _slot, idBytes: _idBytes, ban, ofKey: _ofKey, inAll: _inAll, inKey: _inKey, ...told } = request;
        return { ...told, requestId: this.#idOf(request), reason: refusalReason(told, ban) };
      });
  }

  #idOf({ slot, idBytes }: Kept): string {
    const start = slot * ID_BYTES_MAX;
    return this.#ids.toString('latin1', start, start + idBytes);
  }
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

interface Kept extends Writable<Omit<RecentRequest, 'requestId' | 'reason'>> {
  /** The place of its id among those of all records. */
  readonly slot: number;
  idBytes: number;
  /** Why the key was banned or had ended, if so. */
  ban: string | undefined;
  /** The requests of its key, this one among them. */
  ofKey: Line;
  /** Its places among all, and among those of its key. */
  inAll: Place;
  inKey: Place;
}

interface Place {
  readonly request: Kept;
  older: Place | undefined;
  newer: Place | undefined;
}

/** Requests in their order, linked: out of an array, each would move all that came after it. */
class Line {
  oldest: Place | undefined;
  newest: Place | undefined;
  count = 0;

  add(place: Place): void {
    place.older = this.newest;
    place.newer = undefined;
    if (this.newest) this.newest.newer = place;
    this.newest = place;
    this.oldest ??= place;
    this.count += 1;
  }

  remove({ older, newer }: Place): void {
    if (older) older.newer = newer;
    else this.oldest = newer;
    if (newer) newer.older = older;
    else this.newest = older;
    this.count -= 1;
  }

  *newestFirst(): Generator<Kept> {
    for (let place = this.newest; place; place = place.older) yield place.request;
  }
}

/**
 * A bounded number of requests. Of the refusals of a key within a minute the oldest that is not one of the first ten
 * makes room for the next one, of other requests the oldest of a full key, else the oldest of all.
 */
class Requests {
  readonly all = new Line();
  /** The requests of each key that has any. */
  readonly byKey = new Map<string, Line>();

  /** Adds a request for which there is room. */
  add(request: Kept, ofKey: Line): void {
    this.all.add(request.inAll);
    ofKey.add(request.inKey);
    request.ofKey = ofKey;
    if (ofKey.count === 1) this.byKey.set(request.keyId, ofKey);
  }

  /** The request that makes room for the next one; undefined while there is room. */
  excess(ofKey: Line, status: number, at: number): Kept | undefined {
    if (status === REFUSED && ofKey.count >= 2 * REFUSALS_MAX) {
      const [minute, refusals] = [minuteOf(at), [] as Kept[]];
      for (let place = ofKey.oldest; place; place = place.newer) {
        const { request } = place;
        if (request.status === REFUSED && minuteOf(request.at) === minute) refusals.push(request);
      }
      if (refusals.length >= 2 * REFUSALS_MAX) return refusals[REFUSALS_MAX];
    }
    if (ofKey.count === KEPT_OF_KEY_MAX) return ofKey.oldest?.request;
    return this.all.count === KEPT_MAX ? this.all.oldest?.request : undefined;
  }

  remove({ keyId, ofKey, inAll, inKey }: Kept): void {
    this.all.remove(inAll);
    ofKey.remove(inKey);
    if (ofKey.count === 0) this.byKey.delete(keyId);
  }
}

function minuteOf(at: number): number {
  return Math.floor(at / MINUTE_SECONDS);
}

function refusalReason({ code, limit }: Pick<RecentRequest, 'code' | 'limit'>, ban?: string): string | undefined {
  if (code === 'key_banned' || code === 'invalid_api_key') return ban;
  if (code === 'rate_limit_exceeded') return `the limit of ${limit} requests per minute was reached`;
  return code === 'daily_quota_exceeded' ? `the quota of ${limit} requests per day was reached` : undefined;
}
