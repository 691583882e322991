import type { IncomingMessage } from 'node:http';
import { DAY_SECONDS } from '../stdx/duration.ts';
import type { Answer } from './transport/exchange.ts';

const ANY_ORIGIN = '*';
const PREFLIGHT_SECONDS = DAY_SECONDS;
const METHODS = 'GET, HEAD, POST, PATCH, DELETE, OPTIONS';
const REQUEST_HEADERS =
  'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, User-Agent, X-Request-Id, traceparent';
const LIMIT_HEADERS =
  'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit-Policy, RateLimit, Retry-After';
const EXPOSED_HEADERS = `${LIMIT_HEADERS}, X-Request-Id, Link, Location, ETag, Deprecation, Sunset, Idempotency-Replayed`;

/** Cross-origin access for browser pages of the allowed origins (Fetch standard, section 3.3). */
export class Cors {
  readonly #origins: ReadonlySet<string>;

  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
  }

  /** The headers for every answer to a request; flat. */
  headers({ headers }: IncomingMessage): readonly string[] {
    // Caches must not reuse an answer for another origin.
    if (headers.origin === undefined || !this.#allows(headers.origin)) return ['Vary', 'Origin'];
    const allowed = ['Access-Control-Allow-Origin', headers.origin, 'Vary', 'Origin'];
    return [...allowed, 'Access-Control-Expose-Headers', EXPOSED_HEADERS];
  }

  /** Answers a preflight, which does not count against the limits; undefined for any other request. */
  preflight({ method, headers }: IncomingMessage): Answer | undefined {
    if (method !== 'OPTIONS') return undefined;
    if (headers.origin === undefined || headers['access-control-request-method'] === undefined) return undefined;
    if (!this.#allows(headers.origin)) return { status: 204 };
    return {
      status: 204,
      headers: [
        'Access-Control-Allow-Methods',
        METHODS,
        'Access-Control-Allow-Headers',
        REQUEST_HEADERS,
        'Access-Control-Max-Age',
        `${PREFLIGHT_SECONDS}`,
      ],
    };
  }

  #allows(origin: string): boolean {
    return this.#origins.has(ANY_ORIGIN) || this.#origins.has(origin);
  }
}
