import { CatalogError } from '../../catalog/error.ts';
import { quote } from '../../catalog/validate.ts';
import { BODY_BYTES_MAX, tooLarge } from './body.ts';
import type { Exchange } from './exchange.ts';

/** A request line and headers of more bytes are refused with 431. */
export const HEAD_BYTES_MAX = 16 * 1024;
/** Requests with more headers are refused with 431. */
export const HEADERS_MAX = 100;
/** Longer targets are refused with 414. */
export const URL_CHARACTERS_MAX = 8 * 1024;
const HTTP_VERSIONS = new Set(['1.1', '1.0']);
/** A host with an optional port (RFC 9112, section 3.2). No comma, with which Node joins a second Host header. */
const HOST = /^(\[[A-Za-z0-9\-._~!$&'()*+;=:]+\]|([A-Za-z0-9\-._~!$&'()*+;=]|%[0-9A-Fa-f]{2})*)(:[0-9]*)?$/;
const PATH_END = /[?#]/;

/** A media type's parameter with its value, a token or quoted, or none (RFC 9110, section 5.6.6). */
const PARAMETER = /;[ \t]*(?:([\w!#$%&'*+.^`|~-]+)=([\w!#$%&'*+.^`|~-]+|"(?:[^"\\]|\\.)*")[ \t]*)?/;
const JSON_TYPE = new RegExp(`^application/json[ \\t]*((?:${PARAMETER.source})*)$`, 'i');
const PARAMETERS = new RegExp(PARAMETER, 'g');
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The 431 of a head beyond these bounds. One text: from Node 26 the parser has one code for bytes and headers. */
export function headTooLarge(): CatalogError {
  const message = `The request line and headers exceed ${HEAD_BYTES_MAX} bytes or ${HEADERS_MAX} headers; send less`;
  return new CatalogError('headers_too_large', message);
}

/** The first gate: checks the rules of HTTP, and sets path and query. Throws the CatalogError of the rule broken. */
export function readHead(exchange: Exchange): void {
  const { request, failure } = exchange;
  const { headers, rawHeaders, httpVersion, url = '' } = request;
  if (failure) throw failure;
  // Of more, Node drops some without a word, among which could be a second Host or Authorization.
  if (rawHeaders.length > 2 * HEADERS_MAX) throw headTooLarge();
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

/**
 * Reads the body as strict JSON in strict UTF-8 (RFC 8259, no byte order mark), then handles the request. Throws
 * `unsupported_media_type`, `payload_too_large`, `invalid_json`, or the error that aborted the request. Holds
 * `BODY_BYTES_MAX` at most.
 */
export async function withJson<T>(exchange: Exchange, handle: () => T | Promise<T>): Promise<T> {
  const { headers } = exchange.request;
  checkMediaType(headers['content-type']);
  if (Number(headers['content-length']) > BODY_BYTES_MAX) throw tooLarge(BODY_BYTES_MAX);
  if (headers['content-encoding'] !== undefined) {
    throw new CatalogError('unsupported_media_type', 'The body has a Content-Encoding; send it without one');
  }
  exchange.bodyBytes = await exchange.readBody(BODY_BYTES_MAX);
  exchange.body = parse(exchange.bodyBytes);
  return await handle();
}

function checkMediaType(contentType: string | undefined): void {
  if (contentType === undefined || contentType === 'application/json') return;
  const parameters = JSON_TYPE.exec(contentType)?.[1];
  if (parameters !== undefined && [...parameters.matchAll(PARAMETERS)].every(isUtf8OrNoCharset)) return;
  throw new CatalogError(
    'unsupported_media_type',
    `The Content-Type is ${quote(contentType)}; send application/json in UTF-8`,
  );
}

function isUtf8OrNoCharset([, name = '', value = '']: RegExpExecArray): boolean {
  return name.toLowerCase() !== 'charset' || /^"?utf-8"?$/i.test(value);
}

function parse(bytes: Buffer): unknown {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw new CatalogError('invalid_json', 'The body is not UTF-8; send JSON in UTF-8');
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    if (text.trim() === '') throw new CatalogError('invalid_json', 'The body is empty; send a JSON object');
    if (text.startsWith('\uFEFF')) {
      throw new CatalogError('invalid_json', 'The body begins with a byte order mark, at position 0; send it without');
    }
    throw new CatalogError('invalid_json', `The body is not JSON: ${describe(error, text)}`);
  }
}

/** The engine's message, with the position where it has one, and without the excerpt of the input that may follow. */
function describe(error: unknown, text: string): string {
  const message = error instanceof Error ? error.message : '';
  if (message === 'Unexpected end of JSON input') return `It ends too early, at position ${text.length}`;
  const [located] = /^.*? (?:in|after) JSON at position \d+/.exec(message) ?? [];
  const [, token = text] = /^Unexpected token '(.)'/su.exec(message) ?? [];
  return located ?? `Unexpected token ${quote(token)}`;
}
