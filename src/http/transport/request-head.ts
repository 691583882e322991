import type { IncomingMessage } from 'node:http';
import { CatalogError } from '../../catalog/error.ts';
import type { Exchange } from './exchange.ts';

/** Longer targets are refused with 414. */
export const URL_CHARACTERS_MAX = 8 * 1024;
const HTTP_VERSIONS = new Set(['1.1', '1.0']);
/** A host with an optional port (RFC 9112, section 3.2). No comma, with which Node joins a second Host header. */
const HOST = /^(\[[A-Za-z0-9\-._~!$&'()*+;=:]+\]|([A-Za-z0-9\-._~!$&'()*+;=]|%[0-9A-Fa-f]{2})*)(:[0-9]*)?$/;

const PATH_END = /[?#]/;

/** The first gate: checks the rules of HTTP, and sets path and query. Throws the CatalogError of the rule broken. */
export function readHead(exchange: Exchange): void {
  const { request, failure } = exchange;
  const { headers, httpVersion, url = '' } = request;
  if (failure) throw failure;
  if (!HTTP_VERSIONS.has(httpVersion)) {
    throw new CatalogError('http_version_not_supported', `HTTP/${httpVersion} is not supported; use HTTP/1.1`);
  }
  if (headers.host === undefined ? httpVersion === '1.1' : !isHost(headers.host)) {
    throw new CatalogError('malformed_request', 'The request needs exactly one valid Host header');
  }
  if (headers['transfer-encoding'] !== undefined && httpVersion !== '1.1') {
    throw new CatalogError('malformed_request', `HTTP/${httpVersion} has no Transfer-Encoding; send a Content-Length`);
  }
  if (headers['transfer-encoding'] !== undefined && !/^chunked$/i.test(headers['transfer-encoding'])) {
    throw new CatalogError('not_implemented', 'The only supported Transfer-Encoding is chunked');
  }
  if (url.length > URL_CHARACTERS_MAX) {
    throw new CatalogError('uri_too_long', `The address is longer than ${URL_CHARACTERS_MAX} characters; shorten it`);
  }
  readTarget(exchange, url);
}

/** Fast path: nearly all requests name the same host, so the last valid one is not parsed again. */
let validHost: string | undefined;

function isHost(host: string): boolean {
  if (host === validHost) return true;
  if (!HOST.test(host)) return false;
  validHost = host;
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
  const end = relative.search(PATH_END);
  exchange.path = end < 0 ? relative : relative.slice(0, end);
  if (!relative.startsWith('/'))
    throw new CatalogError('malformed_request', 'The address is not a path; begin it with /');
  if (exchange.path.includes('%')) checkEscapes(exchange.path);
  if (end >= 0 && relative[end] === '?') exchange.query = new URLSearchParams(relative.slice(end));
}

/** Removes scheme and host from an absolute http(s) address; returns any other unchanged. */
function withoutAuthority(url: string): string {
  const [origin = '', host = ''] = /^https?:\/\/([^/?#]+)/i.exec(url) ?? [];
  return HOST.test(host) ? url.slice(origin.length) : url;
}

function checkEscapes(path: string): void {
  try {
    decodeURIComponent(path);
  } catch {
    throw new CatalogError('malformed_request', 'The path has an escape that is not valid UTF-8; write % as %25');
  }
}

/** True if the target has a fragment, which a client must not send (RFC 9112, section 3.2.1). */
export function hasFragment({ request }: Exchange): boolean {
  return request.url?.includes('#') === true;
}

/** Room for the name, after the few spaces that the parser allows. */
const PROTOCOL_BYTES_MAX = 32;

/**
 * True if the request line, in the packet that the parser is reading, names another protocol, such as `RTSP/1.0`, which
 * Node's parser reads as if it were HTTP. A line that came in an earlier packet than the end of its head passes.
 */
export function namesAnotherProtocol({ url }: IncomingMessage, packet: Buffer): boolean {
  const target = ` ${url} `;
  const start = packet.indexOf(target, 0, 'latin1') + target.length;
  return start >= target.length && /^ *(RTSP|ICE)\//.test(packet.toString('latin1', start, start + PROTOCOL_BYTES_MAX));
}
