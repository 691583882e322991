import { createHash, hash } from 'node:crypto';
import type { TSchema } from 'typebox';
import { CatalogError, invalid } from '../../catalog/error.ts';
import type { Once, OnceId } from '../../catalog/idempotency.ts';
import type { Precondition } from '../../catalog/resource.ts';
import { quote, shortened } from '../../catalog/validate.ts';
import type { AdmittedExchange, Answer, Exchange } from '../transport/exchange.ts';

const TAG_CHARACTERS = 22;
/** Added by Apache, Caddy and Jetty to the tag of an answer that they compress; nginx puts `W/` before it. */
const CODED_SUFFIX = /^(?:--?|;)(?:gzip|br|zstd|deflate)"$/;
/** Printable ASCII. The IETF draft quotes the key, most clients do not; `"k"` and `k` are the same key. */
export const IDEMPOTENCY_KEY = /^("[ -~]{1,255}"|[!#-~][ -~]{0,254})$/;

/** The header of an answer with a validator, for the contract. */
export const VALIDATOR = { ETag: 'Strong validator of the response (RFC 9110)' };

/** The success of a create, for the contract; `createdAnswer` is the answer. */
export function createdOf(schema: TSchema, example: object, said: { description: string; location: string }) {
  const headers = { ...VALIDATOR, Location: said.location };
  return { status: 201, description: said.description, schema, example, headers } as const;
}

/** The success of a change, for the contract; `changedAnswer` is the answer. */
export function changedOf(schema: TSchema, description: string, example: object) {
  return { status: 200, description, schema, example, headers: VALIDATOR } as const;
}

/**
 * Answers 200 with a strong validator, or 304 if the client already holds this response. The validator covers `headers`
 * too: the last page of a list gets another one when its `Link` to a next page appears. Hashes `tagged` instead of the
 * body where the caller guarantees that both change together.
 */
export function currentAnswer(
  { request }: Exchange,
  body: string | readonly Uint8Array[],
  headers: readonly string[] = [],
  tagged = body,
): Answer {
  const etag = etagOf(tagged, headers);
  const fresh = { headers: ['ETag', etag, ...headers], cacheControl: 'private, no-cache' };
  if (isCurrent(request.headers['if-none-match'], etag)) return { status: 304, ...fresh };
  return { status: 200, ...fresh, body };
}

/** Answers a change with the resource as it is now, and with the validator that its GET has. */
export function changedAnswer(resource: object): Answer {
  const body = JSON.stringify(resource);
  return { status: 200, headers: ['ETag', etagOf(body)], cacheControl: 'private, no-cache', body };
}

/**
 * The 201 of a create, with its validator and its Location: what stands before the id, and the id. A replay is marked
 * with `Idempotency-Replayed`.
 */
export function createdAnswer(beforeId: string, { resource, json, isReplay }: Once<{ readonly id: number }>): Answer {
  const body = json ?? JSON.stringify(resource);
  const headers = ['Location', `/v1${beforeId}${resource.id}`, 'ETag', etagOf(body)];
  if (isReplay) headers.push('Idempotency-Replayed', 'true');
  return { status: 201, headers, cacheControl: 'private, no-cache', body };
}

/** The key and the request that a change comes from. */
export function authorOf({ key, requestId }: AdmittedExchange): OnceId {
  return { keyId: key.id, requestId };
}

/**
 * The key or token that a change comes from, and its `Idempotency-Key` if it has one. A retry must repeat method, path
 * and body byte for byte. Throws `validation_failed`.
 */
export function onceIdOf({ request, requestId, path, bodyBytes }: Exchange, keyId: string): OnceId {
  const header = request.headers['idempotency-key'];
  if (header === undefined) return { keyId, requestId };
  if ((request.headersDistinct['idempotency-key']?.length ?? 0) > 1) {
    throw invalid('There are several Idempotency-Key headers; send one');
  }
  if (!IDEMPOTENCY_KEY.test(String(header))) {
    throw invalid(`Idempotency-Key is ${quote(header)}; send 1 to 255 printable ASCII characters, quoted or not`);
  }
  const idempotencyKey = String(header).replace(/^"(.*)"$/, '$1');
  const fingerprint = createHash('sha256').update(`${request.method} ${path}\n`).update(bodyBytes).digest('base64url');
  return { keyId, requestId, idempotency: { key: idempotencyKey, fingerprint } };
}

/**
 * `If-Match` as a precondition (RFC 9110, section 13.1.1), which also takes a tag that a proxy changed when it
 * compressed the answer; undefined without the header.
 */
export function preconditionOf(ifMatch: string | undefined): Precondition<object> | undefined {
  if (ifMatch === undefined || ifMatch === '*') return undefined;
  return (present) => {
    const etag = etagOf(JSON.stringify(present));
    if (names(ifMatch, etag)) return;
    // A tag without its quotes never matches, however often it is read again.
    const isUnquoted = ifMatch.split(',').some((tag) => `"${tag.trim()}"` === etag);
    const advice = isUnquoted ? 'send it as it came, quotes included' : 'get the resource again, then decide anew';
    const message = `If-Match is ${shortened(ifMatch)}, but the ETag is now ${etag}; ${advice}`;
    throw new CatalogError('precondition_failed', message);
  };
}

/** True if `If-None-Match` names a strong validator; compared weakly (RFC 9110, section 13.1.2). */
export function isCurrent(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.trim() === '*' || names(ifNoneMatch, etag);
}

/**
 * True if one of the tags in a header is the validator, or was before a proxy compressed the answer. The suffix begins
 * where the validator ends, which may be a hyphen itself.
 */
function names(tags: string, etag: string): boolean {
  const unclosed = etag.slice(0, -1);
  return tags.split(',').some((sent) => {
    const strong = sent.trim().replace(/^W\//, '');
    return strong === etag || (strong.startsWith(unclosed) && CODED_SUFFIX.test(strong.slice(unclosed.length)));
  });
}

/** The strong validator of a body, and of headers that belong to it. */
export function etagOf(body: string | readonly Uint8Array[], headers: readonly string[] = []): string {
  const before = headers.join('\n');
  // Every create is tagged: one call costs a third of three.
  if (typeof body === 'string') return tag(hash('sha256', before + body, 'base64url'));
  const digest = createHash('sha256').update(before);
  for (const part of body) digest.update(part);
  return tag(digest.digest('base64url'));
}

function tag(digest: string): string {
  return `"${digest.slice(0, TAG_CHARACTERS)}"`;
}
