import findMyWay from 'find-my-way';
import { nearest } from '../catalog/nearest-name.ts';
import type { Events } from '../telemetry/events.ts';
import { errorAnswer, methodNotAllowed, refusal } from './errors.ts';
import type { Described, Operation } from './operations/operation.ts';
import { checkQuery } from './operations/query.ts';
import type { Answer, Exchange } from './transport/exchange.ts';
import { hasFragment, readHead, readJson, URL_CHARACTERS_MAX } from './transport/request.ts';

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
export interface Call<Context, Permission extends string> {
  readonly exchange: Exchange;
  readonly route: Route<Operation<Context, Permission>> | undefined;
  readonly operation: Operation<Context, Permission> | undefined;
}

interface ApiOptions<Context, Permission extends string> {
  /** The path before that of each operation. */
  readonly base: string;
  readonly operations: readonly Operation<Context, Permission>[];
  /** The 403 for a caller who lacks the permission. */
  forbid(permission: Permission, exchange: Exchange, context: Context): Answer | undefined;
}

/** Creates the gates of both APIs once the caller is known: address, method, permission, query, body. */
export function createApi<Context, Permission extends string>(options: ApiOptions<Context, Permission>) {
  const { base, operations, forbid } = options;
  const findRoute = createRouter(operations, base);
  return {
    find(exchange: Exchange): Call<Context, Permission> {
      const route = findRoute(exchange);
      const { method = '' } = exchange.request;
      // HEAD runs the GET operation; Node drops the body.
      return { exchange, route, operation: route?.operations[method === 'HEAD' ? 'GET' : method] };
    },
    operate({ exchange, route, operation }: Call<Context, Permission>, context: Context): Answer | Promise<Answer> {
      if (!operation) return withoutOperation(exchange, route);
      const forbidden = forbid(operation.permission, exchange, context);
      if (forbidden) return forbidden;
      if (exchange.query.size > 0) checkQuery(operation, exchange.query);
      if (!operation.body || (operation.body.isOptional && isWithoutBody(exchange))) {
        if (exchange.failure) throw exchange.failure;
        return operation.handle(context, exchange);
      }
      return readJson(exchange).then((body) => {
        exchange.body = body;
        return operation.handle(context, exchange);
      });
    },
  };

  function withoutOperation({ path, request: { method = '' } }: Exchange, route: Route | undefined): Answer {
    if (!route) {
      const near = nearestPath(path.slice(base.length), operations);
      const advice = near ? `did you mean ${base}${near}?` : '/openapi.json lists the paths';
      return refusal('not_found', `There is nothing at this address; ${advice}`);
    }
    if (method === 'OPTIONS') return { status: 204, headers: ['Allow', route.allow] };
    return methodNotAllowed(method, route.allow);
  }
}

function isWithoutBody({ request: { headers } }: Exchange): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = headers;
  return length === '0' && coding === undefined;
}

/** A path of an API with its operations by method. */
interface Route<O = unknown> {
  readonly template: string;
  readonly operations: Readonly<Record<string, O | undefined>>;
  readonly allow: string;
}

type Routed = Pick<Described, 'method' | 'path'>;

/** The path that one below the base most probably means, such as `/store/orders/7` for `/orders/7`. */
function nearestPath(path: string, operations: readonly Routed[]): string | undefined {
  const paths = operations.map((operation) => operation.path);
  const lists = paths.filter((each) => !each.includes('{'));
  const collections = new Map(lists.map((each) => [each.replace(/^.*\//, ''), each]));
  const segments = path.split('/');
  const names = segments.map((segment) => nearest(segment, [...collections.keys()]));
  const at = names.findLastIndex((name) => name !== undefined);
  const near = collections.get(names[at] ?? '');
  const id = /^\d+$/.exec(segments[at + 1] ?? '');
  return id && paths.some((each) => each.startsWith(`${near}/{`)) ? `${near}/${id}` : near;
}

/** Creates a router for paths below a base. A path is one route for all methods, which distinguishes 405 from 404. */
function createRouter<O extends Routed>(
  operations: readonly O[],
  base: string,
): (exchange: Exchange) => Route<O> | undefined {
  const router = findMyWay({ maxParamLength: URL_CHARACTERS_MAX });
  /** Fast path: paths without parameters, which most requests name, need no search. */
  const fixedRoutes = new Map<string, Route<O>>();
  for (const path of new Set(operations.map((operation) => operation.path))) {
    const here = operations.filter((operation) => operation.path === path);
    const methods = new Set([
      'OPTIONS',
      ...here.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])),
    ]);
    const route: Route<O> = {
      template: `${base}${path}`,
      operations: Object.fromEntries(here.map((operation) => [operation.method, operation])),
      allow: [...methods].sort().join(', '),
    };
    if (!path.includes('{')) fixedRoutes.set(route.template, route);
    router.on('GET', route.template.replaceAll(/\{(\w+)\}/g, ':$1'), () => {}, route);
  }
  return (exchange) => {
    if (hasFragment(exchange)) return undefined;
    const fixed = fixedRoutes.get(exchange.path);
    if (fixed) {
      exchange.route = fixed.template;
      return fixed;
    }
    const found = router.find('GET', exchange.path);
    // No id is empty, and PostgreSQL rejects NUL in text.
    if (!found || Object.values(found.params).some((id) => !id || id.includes('\0'))) return undefined;
    const route: Route<O> = found.store;
    exchange.params = found.params;
    exchange.route = route.template;
    return route;
  };
}
