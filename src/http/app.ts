import type { Scope } from '../catalog/api-key.ts';
import type { Decision, Limiter } from '../limits/limiter.ts';
import type { Events } from '../telemetry/events.ts';
import { type Authentication, type Authenticator, insufficientScope } from './authenticate.ts';
import { corsFor } from './cors.ts';
import { overLimit, readAnswersFirst } from './errors.ts';
import { deprecationHeaders, endedAtSunset } from './operations/deprecation.ts';
import type { Catalog, Operation } from './operations/operation.ts';
import { type PageHandler, respondPage } from './pages.ts';
import { type Call, conclude, createApi } from './routing.ts';
import type { Answer, Exchange, Serve } from './transport/exchange.ts';

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
  const cors = options.corsOrigins.length > 0 ? corsFor(options.corsOrigins) : undefined;
  const api = createApi({
    base: '/v1',
    operations: options.operations.map(endedAtSunset),
    forbid: (permission, { key }) =>
      permission === 'any' || key.scopes.includes(permission) ? undefined : insufficientScope(permission),
  });
  return (exchange) => {
    if (cors) exchange.ownHeaders = cors.headers(exchange.request);
    return conclude(exchange, events, respond);
  };

  function respond(exchange: Exchange): Answer | Promise<Answer> {
    exchange.isUnderV1 = isUnderV1(exchange.path);
    if (!exchange.isUnderV1) return respondPage(exchange, pages, '/v1');
    return cors?.preflight(exchange.request) ?? respondApi(exchange);
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
    if (decision.refusal && !operation?.free) return overLimit(decision, limiter.current(exchange.key, decision).now);
    return exchange.isKeyFull ? readAnswersFirst() : api.operate(call, catalog);
  }
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

function isUnderV1(path: string): boolean {
  return path.startsWith('/v1/') || path === '/v1' || /^\/v1%2f/i.test(path);
}
