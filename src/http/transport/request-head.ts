import { CatalogError } from '../../catalog/error.ts';
import type { Exchange } from './exchange.ts';

/** Longer addresses are refused with 414. */
export const URL_CHARACTERS_MAX = 8 * 1024;
const HTTP_VERSIONS = new Set(['1.1', '1.0']);
/** A host with an optional port (RFC 9112, section 3.2); a comma would be a second Host header. */
const HOST = /^(\[[A-Za-z0-9\-._~!$&'()*+;=:]+\]|([A-Za-z0-9\-._~!$&'()*+;=]|%[0-9A-Fa-f]{2})*)(:[0-9]*)?$/;

/** The first gate: what HTTP asks of a request before anybody looks at its meaning. Fills in path and query. */
export function readHead(exchange: Exchange): void {
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
export function hasFragment({ request }: Exchange): boolean {
  return request.url?.includes('#') === true;
}
