import type { IncomingMessage } from 'node:http';
import { DAY_SECONDS } from '../stdx/duration.ts';
import type { Answer } from './transport/exchange.ts';

const ANY_ORIGIN = '*';
/** A host has at most 253 characters (RFC 1035); a proxy's buffer for the head must hold what is echoed. */
const ORIGIN_CHARACTERS_MAX = 255;
const METHODS = 'GET, HEAD, POST, PATCH, DELETE, OPTIONS';
const REQUEST_HEADERS =
  'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, User-Agent, X-Request-Id, traceparent';
const LIMIT_HEADERS =
  'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit-Policy, RateLimit, Retry-After';
const EXPOSED_HEADERS = `${LIMIT_HEADERS}, X-Request-Id, Link, Location, ETag, Deprecation, Sunset, Idempotency-Replayed`;

/** Cross-origin access for browser pages of the allowed origins (Fetch standard, section 3.3). */
export function corsFor(origins: readonly string[]) {
  const allowed = new Set(origins);
  const isAny = allowed.has(ANY_ORIGIN);
  const isAllowed = (origin: string) => origin.length <= ORIGIN_CHARACTERS_MAX && (isAny || allowed.has(origin));
  return {
    /** The headers for every answer to a request; flat. */
    headers({ headers: { origin } }: IncomingMessage): readonly string[] {
      // Caches must not reuse an answer for another origin.
      if (origin === undefined || !isAllowed(origin)) return ['Vary', 'Origin'];
      const granted = ['Access-Control-Allow-Origin', isAny ? ANY_ORIGIN : origin, 'Vary', 'Origin'];
      return [...granted, 'Access-Control-Expose-Headers', EXPOSED_HEADERS];
    },
    /** Answers a preflight, which does not count against the limits; undefined for any other request. */
    preflight({ method, headers }: IncomingMessage): Answer | undefined {
      const { origin, 'access-control-request-method': wanted } = headers;
      if (method !== 'OPTIONS' || origin === undefined || wanted === undefined) return undefined;
      if (!isAllowed(origin)) return { status: 204 };
      const methods = ['Access-Control-Allow-Methods', METHODS, 'Access-Control-Allow-Headers', REQUEST_HEADERS];
      return { status: 204, headers: [...methods, 'Access-Control-Max-Age', `${DAY_SECONDS}`] };
    },
  };
}
