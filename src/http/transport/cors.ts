import type { IncomingMessage } from 'node:http';
import { DAY_SECONDS } from '../../stdx/duration.ts';
import type { Answer } from './exchange.ts';

const ANY_ORIGIN = '*';
const NONE: readonly string[] = [];
const PREFLIGHT_SECONDS = DAY_SECONDS;
const METHODS = 'GET, HEAD, POST, PATCH, DELETE, OPTIONS';
const REQUEST_HEADERS = 'Authorization, Content-Type, Idempotency-Key, If-None-Match, X-Request-Id, traceparent';
const EXPOSED_HEADERS = [
  ...['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'RateLimit-Policy', 'RateLimit'],
  ...['Retry-After', 'X-Request-Id', 'Link', 'Location', 'ETag', 'Deprecation', 'Sunset', 'Idempotency-Replayed'],
].join(', ');

/** Lets pages of the origins named use the API from a browser (Fetch standard, section 3.3). */
export class Cors {
  readonly #origins: ReadonlySet<string>;

  /** Origins such as `https://shop.example`, or `*` for any; none switches it off. */
  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
  }

  /** What every answer to a request carries. Flat; empty where nothing is to be said. */
  headers({ headers }: IncomingMessage): readonly string[] {
    if (this.#origins.size === 0) return NONE;
    // What a cache keeps for one origin must not be given to another.
    if (headers.origin === undefined || !this.#allows(headers.origin)) return ['Vary', 'Origin'];
    const allowed = ['Access-Control-Allow-Origin', headers.origin, 'Vary', 'Origin'];
    return [...allowed, 'Access-Control-Expose-Headers', EXPOSED_HEADERS];
  }

  /** The answer to a preflight, which costs the caller nothing; undefined if the request is none. */
  preflight({ method, headers }: IncomingMessage): Answer | undefined {
    if (this.#origins.size === 0 || method !== 'OPTIONS') return undefined;
    if (headers.origin === undefined || headers['access-control-request-method'] === undefined) return undefined;
    if (!this.#allows(headers.origin)) return { status: 204 };
    return {
      status: 204,
      headers: [
        ...['Access-Control-Allow-Methods', METHODS, 'Access-Control-Allow-Headers', REQUEST_HEADERS],
        ...['Access-Control-Max-Age', `${PREFLIGHT_SECONDS}`],
      ],
    };
  }

  #allows(origin: string): boolean {
    return this.#origins.has(ANY_ORIGIN) || this.#origins.has(origin);
  }
}
