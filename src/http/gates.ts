import type { Scope } from '../catalog/api-key.ts';
import type { Decision, Limiter } from '../limits/limiter.ts';
import type { Events } from '../telemetry/events.ts';
import { type Authentication, type Authenticator, insufficientScope } from './authenticate.ts';
import { corsFor } from './cors.ts';
import { busy, errorAnswer, methodNotAllowed, overLimit, refusal } from './errors.ts';
import { deprecationHeaders, endedAtSunset } from './operations/deprecation.ts';
import type { Catalog, Operation } from './operations/operation.ts';
import { checkQuery } from './operations/query.ts';
import { type PageHandler, respondPage } from './pages.ts';
import { createRouter, type Route } from './router.ts';
import type { AdmittedExchange, Answer, Exchange, Serve } from './transport/exchange.ts';
import { readHead, withJson } from './transport/request.ts';

/** Writes of one key at once, those whose bodies are being read included. */
const WRITES_MAX = 512;

export interface AppOptions {
  readonly operations: readonly Operation[];
  readonly pages: ReadonlyMap<string, PageHandler>;
  readonly catalog: Catalog;
  readonly authenticator: Pick<Authenticator, 'authenticate'>;
  readonly limiter: Pick<Limiter, 'charge' | 'peek' | 'current'>;
  readonly events: Events;
  /** Origins whose pages may read answers, such as `https://shop.example`, or `*` for any. */
  readonly corsOrigins: readonly string[];
  /** The path that a gateway has before `/v1`, without a slash at its end; empty unless configured. */
  readonly prefix: string;
}

type PublicCall = Call<Catalog, Scope | 'any', AdmittedExchange>;
type Gate<T> = (value: T, call: PublicCall) => Answer | Promise<Answer>;

/** Creates the request handler: the gates in a fixed order, then the operation. */
export function createApp(options: AppOptions): Serve {
  const { catalog, authenticator, limiter, events, pages, prefix } = options;
  const writesOfKey = new Map<string, number>();
  const cors = options.corsOrigins.length > 0 ? corsFor(options.corsOrigins) : undefined;
  const api = createApi({
    base: '/v1',
    operations: options.operations.map(endedAtSunset),
    forbid: (permission, { key }) =>
      permission === 'any' || key.scopes.includes(permission) ? undefined : insufficientScope(permission),
  });
  return (exchange) => {
    if (cors) exchange.ownHeaders = cors.headers(exchange.request);
    return conclude(exchange, events, prefix === '' ? respond : respondBehindGateway);
  };

  async function respondBehindGateway(exchange: Exchange): Promise<Answer> {
    const answer = await respond(exchange);
    return { ...answer, headers: behindGateway(answer.headers ?? [], prefix) };
  }

  function respond(exchange: Exchange): Answer | Promise<Answer> {
    exchange.isUnderV1 = isUnderV1(exchange.path);
    if (!exchange.isUnderV1) return respondPage(exchange, pages, '/v1');
    return cors?.preflight(exchange.request) ?? respondApi(exchange);
  }

  function respondApi(exchange: Exchange): Answer | Promise<Answer> {
    const call = api.find(exchange);
    if (call.operation?.deprecation)
      exchange.ownHeaders = [
        ...exchange.ownHeaders,
        ...behindGateway(deprecationHeaders(call.operation, exchange), prefix),
      ];
    return thenSync(authenticator.authenticate(exchange.request), admit, call);
  }

  function admit({ key, refused }: Authentication, call: PublicCall): Answer | Promise<Answer> {
    if (refused) return refused;
    call.exchange.key = key;
    return thenSync(call.operation?.free ? limiter.peek(key) : limiter.charge(key), decide, call);
  }

  function decide(decision: Decision, call: PublicCall): Answer | Promise<Answer> {
    const { operation } = call;
    const exchange = call.exchange.admit(decision, limiter);
    if (decision.refusal && !operation?.free) return overLimit(decision, limiter.current(exchange.key, decision).now);
    const isRead = operation === undefined || operation.method === 'GET';
    return isRead ? api.operate(exchange, call, catalog) : write(exchange, call);
  }

  async function write(exchange: AdmittedExchange, call: PublicCall): Promise<Answer> {
    const { id } = exchange.key;
    const inFlight = writesOfKey.get(id) ?? 0;
    if (inFlight === WRITES_MAX)
      return busy(`The key has ${WRITES_MAX} writes in flight; retry when some are answered`);
    writesOfKey.set(id, inFlight + 1);
    try {
      return await api.operate(exchange, call, catalog);
    } finally {
      const left = (writesOfKey.get(id) ?? 1) - 1;
      if (left === 0) writesOfKey.delete(id);
      else writesOfKey.set(id, left);
    }
  }
}

/** The same headers, with the gateway's prefix before the paths in `Location` and `Link`. */
function behindGateway(headers: readonly string[], prefix: string): readonly string[] {
  return headers.map((value, index) => {
    const name = headers[index - 1];
    if (index % 2 === 0 || (name !== 'Location' && name !== 'Link')) return value;
    return value.replaceAll(/(?:^|(?<=<))(?=\/(?!\/))/g, () => prefix);
  });
}

/**
 * Fast path: the next gate follows synchronously on a value in memory. Awaiting a promise costs as much as a gate, and
 * a closure over the call more memory than the call.
 */
function thenSync<T>(value: T | Promise<T>, gate: Gate<T>, call: PublicCall): Answer | Promise<Answer> {
  return value instanceof Promise ? thenAsync(value, gate, call) : gate(value, call);
}

async function thenAsync<T>(value: Promise<T>, gate: Gate<T>, call: PublicCall): Promise<Answer> {
  return gate(await value, call);
}

function isUnderV1(path: string): boolean {
  return path.startsWith('/v1/') || path === '/v1' || /^\/v1%2f/i.test(path);
}

/** Ends every exchange with one answer, also when a step throws. Synchronous unless a step returns a promise. */
export function conclude(
  exchange: Exchange,
  events: Events,
  respond: (exchange: Exchange) => Answer | Promise<Answer>,
): void | Promise<void> {
  try {
    readHead(exchange);
    // Only after the parser has read the rest of the packet is it known whether a chunked body is complete or
    // malformed.
    const isChunked = exchange.request.headers['transfer-encoding'] !== undefined;
    const answer = isChunked ? Promise.resolve(exchange).then(respond) : respond(exchange);
    if (answer instanceof Promise) return concludeLater(exchange, events, answer);
    exchange.answer(answer);
  } catch (error) {
    concludeFailed(exchange, events, error);
  }
}

async function concludeLater(exchange: Exchange, events: Events, answer: Promise<Answer>): Promise<void> {
  try {
    exchange.answer(await answer);
  } catch (error) {
    concludeFailed(exchange, events, error);
  }
}

function concludeFailed(exchange: Exchange, events: Events, error: unknown): void {
  // An answer logs its cause.
  if (exchange.status === undefined) exchange.answer(errorAnswer(error));
  else events.requestFailed(exchange.requestId, error);
}

/** A request to an API, with its route and operation; both are undefined if nothing is at its address. */
interface Call<Context, Permission extends string, Request extends Exchange> {
  readonly exchange: Exchange;
  readonly route: Route<Operation<Context, Permission, Request>> | undefined;
  readonly operation: Operation<Context, Permission, Request> | undefined;
}

interface ApiOptions<Context, Permission extends string, Request extends Exchange> {
  /** The path before that of each operation. */
  readonly base: string;
  readonly operations: readonly Operation<Context, Permission, Request>[];
  /** The 403 for a caller who lacks the permission. */
  forbid(permission: Permission, exchange: Request, context: Context): Answer | undefined;
}

/** Creates the gates of both APIs once the caller is known: address, method, permission, query, body. */
export function createApi<Context, Permission extends string, Request extends Exchange>(
  options: ApiOptions<Context, Permission, Request>,
) {
  const { base, operations, forbid } = options;
  const findRoute = createRouter(operations, base);
  return {
    find(exchange: Exchange): Call<Context, Permission, Request> {
      const route = findRoute(exchange);
      const { method = '' } = exchange.request;
      // HEAD runs the GET operation; Node drops the body.
      return { exchange, route, operation: route?.operations[method === 'HEAD' ? 'GET' : method] };
    },
    /** `exchange` is that of the call, once its caller is known. */
    operate(
      exchange: Request,
      { route, operation }: Call<Context, Permission, Request>,
      context: Context,
    ): Answer | Promise<Answer> {
      if (!operation) return withoutOperation(exchange, route);
      const forbidden = forbid(operation.permission, exchange, context);
      if (forbidden) return forbidden;
      if (exchange.query.size > 0) checkQuery(operation, exchange.query);
      if (!operation.body || (operation.body.isOptional && !exchange.hasBody)) {
        if (exchange.failure) throw exchange.failure;
        return operation.handle(context, exchange);
      }
      return withJson(exchange, () => operation.handle(context, exchange));
    },
  };

  function withoutOperation({ request: { method = '' } }: Exchange, route: Route | undefined): Answer {
    if (!route) return refusal('not_found', 'There is nothing at this address; /openapi.json lists the paths');
    if (method === 'OPTIONS') return { status: 204, headers: ['Allow', route.allow] };
    return methodNotAllowed(method, route.allow);
  }
}
