import { createHash } from 'node:crypto';
import { CatalogError } from '../../catalog/error.ts';
import type { Once, OnceId } from '../../catalog/idempotency.ts';
import { quote } from '../../catalog/validate.ts';
import type { Answer, Exchange } from '../transport/exchange.ts';
import { etagOf } from './conditional.ts';

/** Printable ASCII. The IETF draft quotes the key, most clients do not; `"k"` and `k` are the same key. */
export const IDEMPOTENCY_KEY = /^("[ -~]{1,255}"|[!#-~][ -~]{0,254})$/;

/**
 * The key or token that a change comes from, and its `Idempotency-Key` if it has one. A retry must repeat method, path
 * and body byte for byte. Throws `validation_failed`.
 */
export function onceIdOf(exchange: Exchange, keyId = exchange.key.id): OnceId {
  const { request, path, bodyBytes } = exchange;
  const header = request.headers['idempotency-key'];
  if (header === undefined) return { keyId };
  if ((request.headersDistinct['idempotency-key']?.length ?? 0) > 1) {
    throw new CatalogError('validation_failed', 'There are several Idempotency-Key headers; send one');
  }
  if (!IDEMPOTENCY_KEY.test(String(header))) {
    throw new CatalogError(
      'validation_failed',
      `Idempotency-Key is ${quote(header)}; send 1 to 255 printable ASCII characters, quoted or not`,
    );
  }
  const idempotencyKey = String(header).replace(/^"(.*)"$/, '$1');
  const fingerprint = createHash('sha256').update(`${request.method} ${path}\n`).update(bodyBytes).digest('base64url');
  return { keyId, idempotency: { key: idempotencyKey, fingerprint } };
}

/**
 * The 201 of a create, with its validator and its Location: what stands before the id, and the id. A replay is marked
 * with `Idempotency-Replayed`.
 */
export function createdAnswer(beforeId: string, { resource, isReplay }: Once<{ readonly id: number }>): Answer {
  const body = JSON.stringify(resource);
  const headers = ['Location', `/v1${beforeId}${resource.id}`, 'ETag', etagOf(body)];
  if (isReplay) headers.push('Idempotency-Replayed', 'true');
  return { status: 201, headers, cacheControl: 'private, no-cache', body };
}
