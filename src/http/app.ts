import type { Decision, Limiter } from '../limits/limiter.ts';
import type { Events } from '../telemetry/events.ts';
import { type Authentication, type Authenticator, insufficientScope } from './authenticate.ts';
import { conclude } from './conclude.ts';
import type { Cors } from './cors.ts';
import { methodNotAllowed, overLimit, readAnswersFirst, refusal } from './errors.ts';
import type { Catalog, Operation } from './operations/operation.ts';
import { checkQuery, readId } from './operations/paging.ts';
import { type PageHandler, respondPage } from './pages.ts';
import { createRouter, nearestPath, type Route } from './router.ts';
import { readJson } from './transport/body.ts';
import type { Answer, Exchange, Serve } from './transport/exchange.ts';

export interface AppOptions {
  readonly operations: readonly Operation[];
  readonly pages: ReadonlyMap<string, PageHandler>;
  readonly catalog: Catalog;
  readonly authenticator: Pick<Authenticator, 'authenticate'>;
  readonly limiter: Pick<Limiter, 'charge' | 'peek' | 'current'>;
  readonly events: Events;
  readonly cors: Cors;
}

/** A request to the API, with its route and operation; both are undefined if nothing is at its address. */
interface Call {
  readonly exchange: Exchange;
  readonly route: Route | undefined;
  readonly operation: Operation | undefined;
}

type Gate<T> = (value: T, call: Call) => Answer | Promise<Answer>;

/** Creates the request handler: the gates in a fixed order, then the operation. */
export function createApp(options: AppOptions): Serve {
  const { catalog, authenticator, limiter, events, pages, cors } = options;
  const findRoute = createRouter(options.operations, '/v1');
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
    const route = findRoute(exchange);
    const operation = route?.operations[operationMethod(exchange)];
    if (operation?.deprecation)
      exchange.ownHeaders = [...exchange.ownHeaders, ...deprecationHeaders(operation, exchange)];
    return whenKnown(authenticator.authenticate(exchange.request), admit, { exchange, route, operation });
  }

  function admit({ key, refused }: Authentication, call: Call): Answer | Promise<Answer> {
    if (refused) return refused;
    call.exchange.key = key;
    return whenKnown(call.operation?.free ? limiter.peek(key) : limiter.charge(key), operate, call);
  }

  function nothingAt(path: string): Answer {
    const near = nearestPath(path.slice('/v1'.length), options.operations);
    const advice = near ? `did you mean /v1${near}?` : '/openapi.json lists the paths';
    return refusal('not_found', `There is nothing at this address; ${advice}`);
  }

  function operate(decision: Decision, { exchange, route, operation }: Call): Answer | Promise<Answer> {
    exchange.decide(decision, limiter);
    if (decision.refusal && !operation?.free) {
      return overLimit(decision, limiter.current(exchange.key, decision).now);
    }
    if (exchange.isKeyFull) return readAnswersFirst();
    const method = operationMethod(exchange);
    if (!route) return nothingAt(exchange.path);
    if (method === 'OPTIONS') return { status: 204, headers: ['Allow', route.allow] };
    if (!operation) return methodNotAllowed(method, route.allow);
    const { scope } = operation;
    if (scope !== 'any' && !exchange.key.scopes.includes(scope)) return insufficientScope(scope);
    if (exchange.query.size > 0) checkQuery(operation, exchange.query);
    if (!operation.body) {
      if (exchange.failure) throw exchange.failure;
      return operation.handle(catalog, exchange);
    }
    return readJson(exchange).then((body) => {
      exchange.body = body;
      return operation.handle(catalog, exchange);
    });
  }
}

/** HEAD runs the GET operation; Node drops the body. */
function operationMethod({ request: { method = '' } }: Exchange): string {
  return method === 'HEAD' ? 'GET' : method;
}

/**
 * Fast path: the next gate follows synchronously on a value in memory. Awaiting a promise costs as much as a gate, and
 * a closure over the call more memory than the call.
 */
function whenKnown<T>(value: T | Promise<T>, gate: Gate<T>, call: Call): Answer | Promise<Answer> {
  return value instanceof Promise ? later(value, gate, call) : gate(value, call);
}

async function later<T>(value: Promise<T>, gate: Gate<T>, call: Call): Promise<Answer> {
  return gate(await value, call);
}

/** Deprecation (RFC 9745) and sunset (RFC 8594) headers, sent with every answer of a deprecated operation. */
function deprecationHeaders({ id, deprecation }: Operation, { params }: Exchange): string[] {
  if (!deprecation) return [];
  const { since, sunset, successor } = deprecation;
  const links = [
    `</v1${fillIn(successor, params)}>; rel="successor-version"`,
    `</docs/deprecations#${id}>; rel="deprecation"; type="text/html"`,
  ];
  const end = new Date(sunset * 1000).toUTCString();
  return ['Deprecation', `@${since}`, 'Sunset', end, 'Link', links.join(', ')];
}

/** A path with its id filled in; without its query if the request names no possible id. */
function fillIn(path: string, params: Exchange['params']): string {
  const filled = path.replace(/\{(\w+)\}/, (_, name: string) => `${readId(params[name]) ?? ''}`);
  return filled.replace(/\?.*=$/, '');
}

function isUnderV1(path: string): boolean {
  return path.startsWith('/v1/') || path === '/v1' || /^\/v1%2f/i.test(path);
}
