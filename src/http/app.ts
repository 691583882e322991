import type { IncomingMessage } from 'node:http';
import type { Scope } from '../catalog/api-key.ts';
import { CatalogError } from '../catalog/error.ts';
import type { Decision, Limiter } from '../limits/limiter.ts';
import { DAY_SECONDS } from '../stdx/duration.ts';
import type { Time } from '../stdx/time.ts';
import type { Events } from '../telemetry/events.ts';
import { type Authentication, type Authenticator, insufficientScope } from './authenticate.ts';
import { overLimit, readAnswersFirst } from './errors.ts';
import type { Catalog, Described, Operation } from './operations/operation.ts';
import { readId } from './operations/query.ts';
import { type PageHandler, respondPage } from './pages.ts';
import { type Call, conclude, createApi } from './routing.ts';
import type { Answer, Context, Exchange, Serve } from './transport/exchange.ts';

const ANY_ORIGIN = '*';
const NONE: readonly string[] = [];
const PREFLIGHT_SECONDS = DAY_SECONDS;
const METHODS = 'GET, HEAD, POST, PATCH, DELETE, OPTIONS';
const REQUEST_HEADERS =
  'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, User-Agent, X-Request-Id, traceparent';
const LIMIT_HEADERS =
  'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit-Policy, RateLimit, Retry-After';
const EXPOSED_HEADERS = `${LIMIT_HEADERS}, X-Request-Id, Link, Location, ETag, Deprecation, Sunset, Idempotency-Replayed`;

export interface AppOptions {
  readonly operations: readonly Operation[];
  readonly pages: ReadonlyMap<string, PageHandler>;
  readonly catalog: Catalog;
  readonly authenticator: Pick<Authenticator, 'authenticate'>;
  readonly limiter: Pick<Limiter, 'charge' | 'peek' | 'current'>;
  readonly events: Events;
  /** Origins whose pages may read answers, such as `https://shop.example`, or `*` for any. */
  readonly corsOrigins: readonly string[];
}

type PublicCall = Call<Catalog, Scope | 'any'>;
type Gate<T> = (value: T, call: PublicCall) => Answer | Promise<Answer>;

/** Creates the request handler: the gates in a fixed order, then the operation. */
export function createApp(options: AppOptions): Serve {
  const { catalog, authenticator, limiter, events, pages } = options;
  const cors = new Cors(options.corsOrigins);
  const api = createApi({ base: '/v1', operations: options.operations.map(endedAtSunset), forbid });
  return (exchange) => {
    exchange.ownHeaders = cors.headers(exchange.request);
    return conclude(exchange, events, respond);
  };

  function respond(exchange: Exchange): Answer | Promise<Answer> {
    exchange.isUnderV1 = isUnderV1(exchange.path);
    if (!exchange.isUnderV1) return respondPage(exchange, pages);
    return cors.preflight(exchange.request) ?? respondApi(exchange);
  }

  function respondApi(exchange: Exchange): Answer | Promise<Answer> {
    const call = api.find(exchange);
    if (call.operation?.deprecation)
      exchange.ownHeaders = [...exchange.ownHeaders, ...deprecationHeaders(call.operation, exchange)];
    return whenKnown(authenticator.authenticate(exchange.request), admit, call);
  }

  function admit({ key, refused }: Authentication, call: PublicCall): Answer | Promise<Answer> {
    if (refused) return refused;
    call.exchange.key = key;
    return whenKnown(call.operation?.free ? limiter.peek(key) : limiter.charge(key), decide, call);
  }

  function decide(decision: Decision, call: PublicCall): Answer | Promise<Answer> {
    const { exchange, operation } = call;
    exchange.decide(decision, limiter);
    if (decision.refusal && !operation?.free) {
      return overLimit(decision, limiter.current(exchange.key, decision).now);
    }
    return exchange.isKeyFull ? readAnswersFirst() : api.operate(call, catalog);
  }
}

function forbid(permission: Scope | 'any', { key }: Exchange): Answer | undefined {
  return permission === 'any' || key.scopes.includes(permission) ? undefined : insufficientScope(permission);
}

/**
 * Fast path: the next gate follows synchronously on a value in memory. Awaiting a promise costs as much as a gate, and
 * a closure over the call more memory than the call.
 */
function whenKnown<T>(value: T | Promise<T>, gate: Gate<T>, call: PublicCall): Answer | Promise<Answer> {
  return value instanceof Promise ? onceKnown(value, gate, call) : gate(value, call);
}

async function onceKnown<T>(value: Promise<T>, gate: Gate<T>, call: PublicCall): Promise<Answer> {
  return gate(await value, call);
}

/** Deprecation (RFC 9745) and sunset (RFC 8594) headers, sent with every answer of a deprecated operation. */
function deprecationHeaders({ id, deprecation }: Described, { params }: Exchange): string[] {
  if (!deprecation) return [];
  const { since, sunset, successor } = deprecation;
  const links = [
    `</v1${fillIn(successor, params)}>; rel="successor-version"`,
    `</docs/deprecations#${id}>; rel="deprecation"; type="text/html"`,
  ];
  const end = new Date(sunset * 1000).toUTCString();
  return ['Deprecation', `@${since}`, 'Sunset', end, 'Link', links.join(', ')];
}

/** The operation as it is served: from its sunset on it answers 410. */
function endedAtSunset(operation: Operation): Operation {
  const { id, method, deprecation } = operation;
  if (!deprecation) return operation;
  return {
    ...operation,
    handle(catalog, exchange) {
      if (exchange.decision.now < deprecation.sunset) return operation.handle(catalog, exchange);
      const instead = fillIn(deprecation.successor, exchange.params);
      throw new CatalogError('gone', `${id} has been removed; use ${method} /v1${instead}`);
    },
  };
}

/** A path with its id filled in; without its query if the request names no possible id. */
function fillIn(path: string, params: Exchange['params']): string {
  const filled = path.replace(/\{(\w+)\}/, (_, name: string) => `${readId(params[name]) ?? ''}`);
  return filled.replace(/\?[^?]*=$/, '');
}

function isUnderV1(path: string): boolean {
  return path.startsWith('/v1/') || path === '/v1' || /^\/v1%2f/i.test(path);
}

/** Cross-origin access for browser pages of the allowed origins (Fetch standard, section 3.3). */
class Cors {
  readonly #origins: ReadonlySet<string>;

  /** An empty list disables CORS. */
  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
  }

  /** The headers for every answer to a request; flat, and empty if CORS is disabled. */
  headers({ headers }: IncomingMessage): readonly string[] {
    if (this.#origins.size === 0) return NONE;
    // Caches must not reuse an answer for another origin.
    if (headers.origin === undefined || !this.#allows(headers.origin)) return ['Vary', 'Origin'];
    const allowed = ['Access-Control-Allow-Origin', headers.origin, 'Vary', 'Origin'];
    return [...allowed, 'Access-Control-Expose-Headers', EXPOSED_HEADERS];
  }

  /** Answers a preflight, which does not count against the limits; undefined for any other request. */
  preflight({ method, headers }: IncomingMessage): Answer | undefined {
    if (this.#origins.size === 0 || method !== 'OPTIONS') return undefined;
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

/** Appends the published limit headers and, for a valid key, those of the IETF draft, to the answers of a listener. */
export function limitHeaders(time: Time): NonNullable<Context['addLimitHeaders']> {
  return (headers, { presentDecision }) => {
    if (!presentDecision) {
      // Without a valid key there is no quota, and nothing is revealed about the key that was sent.
      headers.push('X-RateLimit-Limit', '0', 'X-RateLimit-Remaining', '0', 'X-RateLimit-Reset', `${time.now().unix}`);
      return;
    }
    const { limit, remaining, reset, minute, day, now } = presentDecision;
    headers.push(
      'X-RateLimit-Limit',
      `${limit}`,
      'X-RateLimit-Remaining',
      `${remaining}`,
      'X-RateLimit-Reset',
      `${reset}`,
      'RateLimit-Policy',
      policyOf(minute.limit, day.limit),
      'RateLimit',
      `"minute";r=${minute.remaining};t=${minute.reset - now}, "day";r=${day.remaining};t=${day.reset - now}`,
    );
  };
}

/** The last policy, cached because most requests in a row are on the same plan. */
let lastPolicy = { minute: Number.NaN, day: Number.NaN, text: '' };

function policyOf(minute: number, day: number): string {
  if (lastPolicy.minute !== minute || lastPolicy.day !== day) {
    lastPolicy = { minute, day, text: `"minute";q=${minute};w=60, "day";q=${day};w=86400` };
  }
  return lastPolicy.text;
}
