import type { AnyErrorCode } from '../../catalog/error.ts';
import { STATUS_OF } from '../errors.ts';
import { IDEMPOTENCY_KEY, VALIDATOR } from '../operations/conditional.ts';
import type { Described, Parameter } from '../operations/operation.ts';

/** The description that contract and reference share of an API and its operations. */

/** A server of the contract: an address, or a placeholder in braces with the address as its default. */
export interface ContractServer {
  readonly description: string;
  readonly url: string;
  readonly variables?: Readonly<Record<string, { readonly default: string }>>;
}

/** The description that the contract of an API gives of all its operations. */
export interface DescribedApi {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly ContractServer[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly operations: readonly Described[];
  /** The scheme of its credentials. */
  readonly credential: { readonly name: string; readonly format: string; readonly description: string };
  /** The closed set of its error codes. */
  readonly codes: readonly AnyErrorCode[];
  /** The errors that an operation can return because it is one of this API. */
  commonErrors(operation: Described): readonly AnyErrorCode[];
  /** Real messages of failures, by operation and code. */
  readonly failures?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Descriptions of statuses, where those of the public API do not fit. */
  readonly statusTexts?: Readonly<Record<number, string>>;
  /** True if answers carry the limits of a key. */
  readonly isLimited: boolean;
}

const WITH_BODY: readonly AnyErrorCode[] = ['invalid_json', 'payload_too_large', 'unsupported_media_type'];

const STABILITY_TEXT = {
  beta: '**Beta**: may change with 30 days’ notice.',
  experimental: '**Experimental**: may change or be removed at any time, without notice.',
};

const IfNoneMatch: Parameter = {
  name: 'If-None-Match',
  description: 'ETags of the responses that the client holds; if one is current, the response is 304',
  schema: { type: 'string', example: '"6mMG0HdrIB5a"' },
};

const IfMatch: Parameter = {
  name: 'If-Match',
  description: 'ETags of the resource as the client knows it; if it has another one by now, the response is 412',
  schema: { type: 'string', example: '*' },
};

const IdempotencyKey: Parameter = {
  name: 'Idempotency-Key',
  description:
    'Identifies this create, unique per API key: 1 to 255 printable ASCII characters, quoted or not. A retry with the same key, path and body within 24 hours returns the first outcome instead of a second resource.',
  schema: { type: 'string', pattern: IDEMPOTENCY_KEY.source, example: 'create-dog-1' },
};

const REPLAYED = { 'Idempotency-Replayed': 'true if this is the outcome of an earlier request' };
const DEPRECATED = {
  Deprecation: 'Since when (RFC 9745)',
  Sunset: 'Until when (RFC 8594)',
  Link: 'What to use instead',
};

/** The parameters of an operation that are headers. */
export function headerParameters({ method, conditional, errors = [] }: Described): Parameter[] {
  return [
    ...(conditional ? [IfNoneMatch] : []),
    ...(errors.includes('precondition_failed') ? [IfMatch] : []),
    ...(method === 'POST' ? [IdempotencyKey] : []),
  ];
}

/** The headers of a success with their descriptions, without those of every answer. */
export function successHeaders({ method, conditional, deprecation, success }: Described): Record<string, string> {
  return {
    ...(conditional && VALIDATOR),
    ...success.headers,
    ...(method === 'POST' && REPLAYED),
    ...(deprecation && DEPRECATED),
  };
}

/** Repeats the `x-` members in prose, because most viewers do not show them. */
export function markedDescription({ description, stability, deprecation }: Described): string {
  const sentences = [description];
  if (stability) sentences.push(STABILITY_TEXT[stability]);
  if (deprecation) {
    const { since, sunset, successor } = deprecation;
    sentences.push(
      `**Deprecated** since ${dateOf(since)}, removed on ${dateOf(sunset)}. Use \`${successor}\` instead.`,
    );
  }
  return sentences.join('\n\n');
}

/** Every code that an operation can answer with, by status. */
export function errorCodesOf(operation: Described, api: DescribedApi): AnyErrorCode[] {
  const codes = new Set([
    ...api.commonErrors(operation),
    ...(operation.body ? WITH_BODY : []),
    ...(operation.method === 'POST' ? (['idempotency_key_reused'] as const) : []),
    ...(operation.errors ?? []),
  ]);
  return [...codes].toSorted((one, other) => STATUS_OF[one] - STATUS_OF[other]);
}

/** The UTC date, as YYYY-MM-DD. */
export function dateOf(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toISOString().slice(0, 10);
}
