import findMyWay from 'find-my-way';
import type { Described } from './operations/operation.ts';
import type { Exchange } from './transport/exchange.ts';
import { hasFragment, URL_CHARACTERS_MAX } from './transport/request.ts';

/** A path of an API with its operations by method. */
export interface Route<O = unknown> {
  readonly template: string;
  readonly operations: Readonly<Record<string, O | undefined>>;
  readonly allow: string;
}

type Routed = Pick<Described, 'method' | 'path'>;

/** Creates a router for paths below a base. A path is one route for all methods, which distinguishes 405 from 404. */
export function createRouter<O extends Routed>(
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
