import type { AnyErrorCode } from '../../catalog/error.ts';
import type { Schema } from '../../catalog/validate.ts';
import { STATUS_OF } from '../errors.ts';
import { IDEMPOTENCY_KEY, VALIDATOR } from '../operations/conditional.ts';
import type { Described, Parameter } from '../operations/operation.ts';

/** A server of the contract: an address, or a placeholder in braces with the address as its default. */
export interface ContractServer {
  readonly description: string;
  readonly url: string;
  readonly variables?: Readonly<Record<string, { readonly default: string }>>;
}

/** The credential that requests send as the bearer token. */
interface Credential {
  /** The name of its scheme in the contract. */
  readonly name: string;
  readonly format: string;
  readonly description: string;
  /** As it is called within a sentence. */
  readonly noun: 'key' | 'token';
  readonly label: string;
  readonly prefix: string;
  /** The environment variable that the samples read it from. */
  readonly variable: 'PET_CATALOG_KEY' | 'PET_CATALOG_TOKEN';
}

/** The description of an API and its operations that contract and reference share. */
export interface DescribedApi {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly ContractServer[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly operations: readonly Described[];
  readonly credential: Credential;
  /** The closed set of its error codes. */
  readonly codes: readonly AnyErrorCode[];
  /** The errors that an operation can return because it is one of this API. */
  commonErrors(operation: Described): readonly AnyErrorCode[];
  /** Real messages of failures, by operation and code. */
  readonly failures?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Descriptions of statuses, where those of the public API do not fit. */
  readonly statusTexts?: Readonly<Record<number, string>>;
  /**
   * True for the API of clients: its answers carry the limits of a key, its operations need scopes, and the guide is
   * served beside its reference. In another API the description of an operation says who may call it.
   */
  readonly isPublic: boolean;
}

/** An operation with what follows from its other members. */
export interface DescribedOperation extends Described {
  /** With all its headers but those of every answer. */
  readonly success: Required<Pick<Described['success'], 'headers'>> & Described['success'];
  readonly headerParameters: readonly Parameter[];
  /** The last day (UTC, as YYYY-MM-DD), if the operation is deprecated. */
  readonly sunset: string | undefined;
  /** Every code that it can answer with, by status. */
  readonly codes: readonly AnyErrorCode[];
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

/** Every operation of an API, in its order. */
export function describedOperations({ operations, commonErrors }: DescribedApi): DescribedOperation[] {
  return operations.map((operation) => {
    const { method, conditional, deprecation, body, success, errors = [] } = operation;
    const isCreate = method === 'POST';
    const codes = new Set([
      ...commonErrors(operation),
      ...(body ? WITH_BODY : []),
      ...(isCreate ? (['idempotency_key_reused'] as const) : []),
      ...errors,
    ]);
    const headers = {
      ...(conditional && VALIDATOR),
      ...success.headers,
      ...(isCreate && REPLAYED),
      ...(deprecation && DEPRECATED),
    };
    return {
      ...operation,
      description: markedDescription(operation),
      headerParameters: [
        ...(conditional ? [IfNoneMatch] : []),
        ...(errors.includes('precondition_failed') ? [IfMatch] : []),
        ...(isCreate ? [IdempotencyKey] : []),
      ],
      success: { ...success, headers },
      sunset: deprecation && dateOf(deprecation.sunset),
      codes: [...codes].toSorted((one, other) => STATUS_OF[one] - STATUS_OF[other]),
    };
  });
}

/**
 * A value that a schema accepts; undefined for one that callers cannot make, such as a cursor. Without it in the
 * contract, testers that replay it cannot fill in a parameter.
 */
export function exampleOf({ items, example, enum: values, type }: Schema): unknown {
  if (items) return [exampleOf(items)];
  return example ?? values?.[0] ?? (type === 'integer' ? 1 : undefined);
}

/** Repeats the `x-` members in prose, because most viewers do not show them. */
function markedDescription({ description, stability, deprecation }: Described): string {
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

function dateOf(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toISOString().slice(0, 10);
}
