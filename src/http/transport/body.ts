import type { IncomingMessage } from 'node:http';
import { CatalogError } from '../../catalog/error.ts';
import { quote } from '../../catalog/validate.ts';
import type { Exchange } from './exchange.ts';

/** The largest body of a request. */
export const BODY_BYTES_MAX = 256 * 1024;

/** A media type's parameter with its value, a token or quoted (RFC 9110, section 5.6.6). */
const PARAMETER = /([\w!#$%&'*+.^`|~-]+)=([\w!#$%&'*+.^`|~-]+|"(?:[^"\\]|\\.)*")/;
const JSON_TYPE = new RegExp(`^application/json[ \\t]*((?:;[ \\t]*(?:${PARAMETER.source}[ \\t]*)?)*)$`, 'i');
const PARAMETERS = new RegExp(PARAMETER, 'g');
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Reads the body as strict JSON in strict UTF-8 (RFC 8259, no byte order mark). Throws `unsupported_media_type`,
 * `payload_too_large`, `invalid_json`, or the error that aborted the request. Buffers `BODY_BYTES_MAX` at most.
 */
export async function readJson(exchange: Exchange): Promise<unknown> {
  const { headers } = exchange.request;
  checkMediaType(headers['content-type']);
  if (Number(headers['content-length']) > BODY_BYTES_MAX) throw tooLarge(BODY_BYTES_MAX);
  if (headers['content-encoding'] !== undefined) {
    throw new CatalogError('unsupported_media_type', 'The body has a Content-Encoding; send it without one');
  }
  exchange.continue();
  exchange.bodyBytes = await readBytes(exchange, BODY_BYTES_MAX);
  return parse(exchange.bodyBytes);
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

/**
 * Reads the raw body. Throws `payload_too_large`, or the error that aborted the request. Buffers `bytesMax` at most.
 */
export async function readBytes(exchange: Exchange, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  await receive(exchange, bytesMax, (chunk) => chunks.push(chunk));
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
}

/**
 * Reads a large raw body into memory that is reserved for all of it, so that no step copies more than a chunk. Throws
 * as `readBytes` does.
 */
export async function readInto(exchange: Exchange, bytesMax: number): Promise<Buffer> {
  const { 'content-length': announced } = exchange.request.headers;
  if (Number(announced) > bytesMax) throw tooLarge(bytesMax);
  // The operating system gives each page only once it is written to.
  const bytes = Buffer.allocUnsafeSlow(announced === undefined ? bytesMax : Number(announced));
  let length = 0;
  await receive(exchange, bytes.length, (chunk) => {
    length += chunk.copy(bytes, length);
  });
  return bytes.subarray(0, length);
}

function receive(exchange: Exchange, bytesMax: number, take: (chunk: Buffer) => void): Promise<void> {
  const { request } = exchange;
  return new Promise((resolve, reject) => {
    let length = 0;
    const stop = (error: CatalogError) => {
      request.off('data', onData);
      reject(error);
    };
    const onData = (chunk: Buffer) => {
      length += chunk.length;
      if (length > bytesMax) stop(tooLarge(bytesMax));
      else take(chunk);
    };
    if (exchange.failure) return stop(exchange.failure);
    exchange.onFailure = stop;
    request.on('data', onData);
    // Each comes once; a listener that removes itself costs more.
    request.on('end', resolve);
    request.on('close', () => {
      // Every request closes; build the error only if this one was aborted.
      if (!request.readableEnded) stop(aborted(request));
    });
  });
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
    if (text === '') throw new CatalogError('invalid_json', 'The body is empty; send a JSON object');
    throw new CatalogError('invalid_json', `The body is not JSON: ${describe(error)}`);
  }
}

/** The engine's message, which names the position, without the excerpt of the input that may follow. */
function describe(error: unknown): string {
  const message = error instanceof Error ? error.message : '';
  return /^(.*? in JSON at position \d+)/.exec(message)?.[1] ?? 'it is incomplete or has a syntax error';
}

function tooLarge(bytesMax: number): CatalogError {
  return new CatalogError('payload_too_large', `The body is larger than ${bytesMax} bytes; send less`);
}

function aborted(request: IncomingMessage): CatalogError {
  return new CatalogError(
    'malformed_request',
    `The ${request.method} request was aborted before its body was complete`,
  );
}
