import { createHash } from 'node:crypto';
import type { Answer, Exchange } from '../transport/exchange.ts';

const TAG_CHARACTERS = 22;

/**
 * Answers 200 with a strong validator, or 304 if the client already holds this response. The validator covers `headers`
 * too: the last page of a list gets another one when its `Link` to a next page appears.
 */
export function currentAnswer(
  { request }: Exchange,
  body: string | readonly Uint8Array[],
  headers: readonly string[] = [],
): Answer {
  const etag = etagOf(body, headers);
  const fresh = { headers: ['ETag', etag, ...headers], cacheControl: 'private, no-cache' };
  if (isCurrent(request.headers['if-none-match'], etag)) return { status: 304, ...fresh };
  return { status: 200, ...fresh, body };
}

/** If-None-Match against a strong validator, compared weakly (RFC 9110, section 13.1.2). */
export function isCurrent(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((candidate) => candidate.trim().replace(/^W\//, '') === etag);
}

function etagOf(body: string | readonly Uint8Array[], headers: readonly string[]): string {
  const hash = createHash('sha256').update(headers.join('\n'));
  for (const part of typeof body === 'string' ? [body] : body) hash.update(part);
  return `"${hash.digest('base64url').slice(0, TAG_CHARACTERS)}"`;
}
