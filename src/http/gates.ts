import { methodNotAllowed, refusal } from './errors.ts';
import type { Operation } from './operations/operation.ts';
import { checkQuery } from './operations/query.ts';
import { createRouter, nearestPath, operationMethod, type Route } from './router.ts';
import { readJson } from './transport/body.ts';
import type { Answer, Exchange } from './transport/exchange.ts';

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

/** The gates that both APIs have in common: those that follow once the caller is known and may send requests. */
export interface Api<Context, Permission extends string> {
  find(exchange: Exchange): Call<Context, Permission>;
  operate(call: Call<Context, Permission>, context: Context): Answer | Promise<Answer>;
}

/** Creates the gates for the operations of an API: address, method, permission, query and body. */
export function createApi<Context, Permission extends string>({
  base,
  operations,
  forbid,
}: ApiOptions<Context, Permission>): Api<Context, Permission> {
  const findRoute = createRouter(operations, base);
  return {
    find(exchange) {
      const route = findRoute(exchange);
      return { exchange, route, operation: route?.operations[operationMethod(exchange)] };
    },
    operate({ exchange, route, operation }, context) {
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
