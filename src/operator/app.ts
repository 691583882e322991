import { isIP } from 'node:net';
import { quote } from '../catalog/validate.ts';
import { leadToDocs, SITE_ASSETS, sitePage } from '../http/docs/site.ts';
import { refusal } from '../http/errors.ts';
import { conclude } from '../http/gates.ts';
import { type PageHandler, respondPage } from '../http/pages.ts';
import type { Answer, Exchange } from '../http/transport/exchange.ts';
import { memoizeAsync } from '../stdx/one-at-a-time.ts';
import { API_BASE } from './api/http.ts';
import type { ConsoleOptions } from './console/frame/context.ts';

export interface OperatorOptions extends ConsoleOptions {
  /** Host names that the listener accepts, besides IP addresses and localhost. */
  readonly hosts: readonly string[];
  /** The address of this listener, known once it listens. */
  operatorUrl(): string;
}

/** Creates the request handler of the operator listener. */
export function createOperatorApp({ hosts, operatorUrl, ...options }: OperatorOptions) {
  // Loaded on their first requests: on most instances console and API are never used.
  const openConsole = memoizeAsync(async () => (await import('./console/console.ts')).createConsole(options));
  const openApi = memoizeAsync(async () => (await import('./api/server.ts')).createOperatorApi(options));
  const pages = new Map(operatorPages(options, operatorUrl));
  const refuseHost = hostGate(hosts);
  return (exchange: Exchange) =>
    conclude(exchange, options.events, () => {
      const refused = refuseHost(exchange);
      if (refused) return refused;
      if (isAtOrBelow('/console', exchange)) return openConsole().then((respond) => respond(exchange));
      if (isAtOrBelow(API_BASE, exchange)) return openApi().then((respond) => respond(exchange));
      return respondPage(exchange, pages, API_BASE);
    });
}

function isAtOrBelow(base: string, { path }: Exchange): boolean {
  return path === base || path.startsWith(`${base}/`);
}

/** The pages of the operator listener outside console and API: the API's contract and reference, health, metrics. */
function operatorPages(
  { health, metrics: { registry } }: ConsoleOptions,
  operatorUrl: () => string,
): [string, PageHandler][] {
  const contract = memoizeAsync(async () =>
    JSON.stringify((await import('./api/openapi.ts')).operatorOpenApiDocument()),
  );
  return [
    ['/', () => ({ status: 303, headers: ['Location', '/console'] })],
    ['/openapi.json', async () => ({ status: 200, body: await contract() })],
    ['/docs', sitePage(async () => (await import('./api/openapi.ts')).operatorReference(operatorUrl()))],
    ['/docs/', leadToDocs],
    ...SITE_ASSETS.map(({ path, page }): [string, PageHandler] => [path, page]),
    ...health.operatorPages(),
    ['/metrics', async () => ({ status: 200, contentType: registry.contentType, body: await registry.metrics() })],
  ];
}

/** A host, in brackets if it is an IPv6 address, and maybe a port (RFC 9110, section 7.2). */
const HOST = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/;

/**
 * The gate of the operator listener: gives a 421 if the request names another host than an IP address, localhost or
 * one of `names`. A page whose own name was made to lead to this address (DNS rebinding) would read metrics otherwise.
 * A request of HTTP/1.0 need not name a host.
 */
function hostGate(names: readonly string[]): (exchange: Exchange) => Answer | undefined {
  const known = new Set(['localhost', ...names.map((name) => name.toLowerCase())]);
  return (exchange) => {
    const { host } = exchange.request.headers;
    if (host === undefined) return undefined;
    const [, address, name = ''] = HOST.exec(host) ?? [];
    if (isIP(address ?? name) !== 0 || known.has(name.toLowerCase())) return undefined;
    const message = `The operator listener is not called ${quote(host)}; use its IP address or localhost, or add the name to OPERATOR_HOSTS`;
    return refusal('misdirected_request', message);
  };
}
