import findMyWay from 'find-my-way';
import { CatalogError } from '../catalog/error.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Events } from '../telemetry/events.ts';
import { type Authenticator, insufficientScope } from './authenticate.ts';
import { errorAnswer, overLimit, refusal } from './errors.ts';
import type { Catalog, Operation } from './operations/operation.ts';
import { readJson } from './transport/body.ts';
import type { Cors } from './transport/cors.ts';
import type { Answer, Exchange, Serve } from './transport/exchange.ts';

/** A page beside the API, reached by GET without a key. */
export type Page = (exchange: Exchange) => Answer | Promise<Answer>;

export interface AppOptions {
  readonly operations: readonly Operation[];
  readonly pages: ReadonlyMap<string, Page>;
  readonly catalog: Catalog;
  readonly authenticator: Authenticator;
  readonly limiter: Limiter;
  readonly events: Events;
  readonly cors: Cors;
}

/** A path of the API with everything that can be done there. */
interface Route {
  readonly template: string;
  readonly operations: Readonly<Record<string, Operation | undefined>>;
  readonly allow: string;
}

const URL_CHARACTERS_MAX = 8 * 1024;
const HTTP_VERSIONS = new Set(['1.1', '1.0']);
/** A host with an optional port (RFC 9112, section 3.2); a comma would be a second Host header. */
const HOST = /^(\[[A-Za-z0-9\-._~!$&'()*+;=:]+\]|([A-Za-z0-9\-._~!$&'()*+;=]|%[0-9A-Fa-f]{2})*)(:[0-9]*)?$/;

/** Makes the function that answers every request: the gates in their fixed order, then the operation. */
export function createApp(options: AppOptions): Serve {
  const { catalog, authenticator, limiter, events, pages, cors } = options;
  const findRoute = createRouter(options.operations);
  return (exchange) => {
    exchange.ownHeaders = cors.headers(exchange.request);
    return conclude(exchange, events, respond);
  };

  function respond(exchange: Exchange): Answer | Promise<Answer> {
    if (!isUnderV1(exchange.path)) return respondPage(exchange, pages);
    return cors.preflight(exchange.request) ?? respondApi(exchange);
  }

  function respondApi(exchange: Exchange): Answer | Promise<Answer> {
    const route = findRoute(exchange);
    const operation = route?.operations[operationMethod(exchange)];
    if (operation?.deprecation) exchange.ownHeaders = [...exchange.ownHeaders, ...deprecationHeaders(operation)];
    const isFree = operation?.free === true;
    return whenKnown(authenticator.authenticate(exchange.request), (key) => {
      // What has a status is an answer: the 401.
      if ('status' in key) return key;
      exchange.key = key;
      return whenKnown(isFree ? limiter.peek(key) : limiter.charge(key), (decision) => {
        exchange.decision = decision;
        return decision.refusal && !isFree ? overLimit(decision) : operate(exchange, route, operation);
      });
    });
  }

  function operate(
    exchange: Exchange,
    route: Route | undefined,
    operation: Operation | undefined,
  ): Answer | Promise<Answer> {
    const method = operationMethod(exchange);
    if (!route) return refusal('not_found', 'Nothing is at this address; /openapi.json lists the paths');
    if (method === 'OPTIONS') return { status: 204, headers: ['Allow', route.allow] };
    if (!operation) return methodNotAllowed(method, route.allow);
    const { scope } = operation;
    if (scope !== 'any' && !exchange.key.scopes.includes(scope)) return insufficientScope(scope);
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

/** A HEAD is a GET whose body Node leaves out. */
function operationMethod({ request: { method = '' } }: Exchange): string {
  return method === 'HEAD' ? 'GET' : method;
}

/** Goes on at once with what is in memory, as for most requests: waiting for a promise costs as much as a gate. */
function whenKnown<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Answers every request for a path and for what is below it. */
export interface Site {
  readonly path: string;
  readonly respond: (exchange: Exchange) => Promise<Answer>;
}

/** Makes the function that answers requests for pages and a site alone, without keys or limits. */
export function createPagesApp(pages: ReadonlyMap<string, Page>, events: Events, site: Site): Serve {
  return (exchange) =>
    conclude(exchange, events, () => {
      const isOfSite = exchange.path === site.path || exchange.path.startsWith(`${site.path}/`);
      return isOfSite ? site.respond(exchange) : respondPage(exchange, pages);
    });
}

/** Every exchange ends in one answer, whatever is thrown on the way to it; at once, if nothing has to be waited for. */
function conclude(
  exchange: Exchange,
  events: Events,
  respond: (exchange: Exchange) => Answer | Promise<Answer>,
): void | Promise<void> {
  try {
    readHead(exchange);
    // Whether a body without a length is over, or broken, is known when the packet that it came in is read.
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
  if (!(error instanceof CatalogError)) events.requestFailed(exchange.requestId, error);
  exchange.answer(errorAnswer(error));
}

function respondPage(exchange: Exchange, pages: ReadonlyMap<string, Page>): Answer | Promise<Answer> {
  exchange.isApi = exchange.path === '*';
  if (exchange.path === '*') return { status: 204, headers: ['Allow', 'DELETE, GET, HEAD, OPTIONS, PATCH, POST'] };
  const page = hasFragment(exchange) ? undefined : pages.get(exchange.path);
  if (!page) return refusal('not_found', 'Nothing is at this address');
  exchange.route = exchange.path;
  const { method = '' } = exchange.request;
  if (method !== 'GET' && method !== 'HEAD') return methodNotAllowed(method, 'GET, HEAD');
  return page(exchange);
}

/** The first gate: what HTTP asks of a request before anybody looks at its meaning. Fills in path and query. */
function readHead(exchange: Exchange): void {
  const { request, failure } = exchange;
  const { headers, httpVersion, url = '' } = request;
  if (failure) throw failure;
  if (!HTTP_VERSIONS.has(httpVersion)) {
    throw new CatalogError('http_version_not_supported', `HTTP/${httpVersion} is not served; use HTTP/1.1`);
  }
  if (headers.host === undefined ? httpVersion === '1.1' : !isHost(headers.host)) {
    throw new CatalogError('malformed_request', 'The request needs exactly one valid Host header');
  }
  if (headers['transfer-encoding'] !== undefined && httpVersion !== '1.1') {
    throw new CatalogError('malformed_request', `HTTP/${httpVersion} has no Transfer-Encoding; send a Content-Length`);
  }
  if (headers['transfer-encoding'] !== undefined && !/^chunked$/i.test(headers['transfer-encoding'])) {
    throw new CatalogError('not_implemented', 'The only Transfer-Encoding that is served is chunked');
  }
  if (url.length > URL_CHARACTERS_MAX) {
    throw new CatalogError('uri_too_long', `The address is longer than ${URL_CHARACTERS_MAX} characters; shorten it`);
  }
  readTarget(exchange, url);
}

/** Nearly all requests name the same host: the last one that was found good needs no second look. */
let goodHost: string | undefined;

function isHost(host: string): boolean {
  if (host === goodHost) return true;
  if (!HOST.test(host)) return false;
  goodHost = host;
  return true;
}

/** Origin form, absolute form, or `*` for OPTIONS (RFC 9112, section 3.2). */
function readTarget(exchange: Exchange, url: string): void {
  const target = url.startsWith('/') ? url : withoutAuthority(url);
  const relative = target.length < url.length && !target.startsWith('/') ? `/${target}` : target;
  if (relative === '*' && exchange.request.method === 'OPTIONS') {
    exchange.path = relative;
    return;
  }
  const end = relative.search(/[?#]/);
  exchange.path = end < 0 ? relative : relative.slice(0, end);
  if (!relative.startsWith('/'))
    throw new CatalogError('malformed_request', 'The address is not a path; it begins with /');
  if (exchange.path.includes('%')) checkEscapes(exchange.path);
  if (end >= 0 && relative[end] === '?') exchange.query = new URLSearchParams(relative.slice(end));
}

/** An absolute address without its scheme and host; one with neither a scheme that is served nor a host is left alone. */
function withoutAuthority(url: string): string {
  const [origin = '', host = ''] = /^https?:\/\/([^/?#]+)/i.exec(url) ?? [];
  return HOST.test(host) ? url.slice(origin.length) : url;
}

function checkEscapes(path: string): void {
  try {
    decodeURIComponent(path);
  } catch {
    throw new CatalogError('malformed_request', 'The path holds an escape that is not valid UTF-8; write % as %25');
  }
}

/** A fragment is the client's own affair and has no place in a request (RFC 9112, section 3.2.1). */
function hasFragment({ request }: Exchange): boolean {
  return request.url?.includes('#') === true;
}

function isUnderV1(path: string): boolean {
  return path.startsWith('/v1/') || path === '/v1' || /^\/v1%2f/i.test(path);
}

/** The operations by path; each path is one route whatever the method, so that a wrong method can be told from a wrong path. */
function createRouter(operations: readonly Operation[]): (exchange: Exchange) => Route | undefined {
  const router = findMyWay({ maxParamLength: URL_CHARACTERS_MAX });
  /** Paths without parameters: most calls are for one of them, written as it stands, and then there is no search. */
  const fixedRoutes = new Map<string, Route>();
  for (const path of new Set(operations.map((operation) => operation.path))) {
    const here = operations.filter((operation) => operation.path === path);
    const methods = new Set([
      'OPTIONS',
      ...here.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])),
    ]);
    const route: Route = {
      template: `/v1${path}`,
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
    if (!found || Object.values(found.params).includes('')) return undefined;
    const route: Route = found.store;
    exchange.params = found.params;
    exchange.route = route.template;
    return route;
  };
}

/** Tells of the deprecation (RFC 9745) and the end (RFC 8594) of an operation, on whatever answer it gives. */
function deprecationHeaders({ id, deprecation }: Operation): string[] {
  if (!deprecation) return [];
  const { since, sunset, successor } = deprecation;
  const links = [
    `</v1${successor}>; rel="successor-version"`,
    `</docs/deprecations#${id}>; rel="deprecation"; type="text/html"`,
  ];
  const end = new Date(sunset * 1000).toUTCString();
  return ['Deprecation', `@${since}`, 'Sunset', end, 'Link', links.join(', ')];
}

function methodNotAllowed(method: string, allow: string): Answer {
  return refusal('method_not_allowed', `${method} is not allowed here; use ${allow}`, ['Allow', allow]);
}
