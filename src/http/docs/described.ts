import type { AnyErrorCode } from '../../catalog/error.ts';
import type { Schema } from '../../catalog/validate.ts';
import { STATUS_OF } from '../errors.ts';
import { IDEMPOTENCY_KEY, VALIDATOR } from '../operations/conditional.ts';
import type { Described, Parameter } from '../operations/operation.ts';
import { ERROR_GUIDE } from './error-guide.ts';

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

/** The description that an API gives of itself. */
interface ApiDescription {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly ContractServer[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly operations: readonly Described[];
  readonly credential: Credential;
  /** The closed set of its error codes. */
  readonly codes: readonly AnyErrorCode[];
  /** The errors that an operation can return because it is one of this API. */
  commonErrors(operation: Described): readonly AnyErrorCode[];
  /** Descriptions of statuses, where those of the public API do not fit. */
  readonly statusTexts?: Readonly<Record<number, string>>;
  /**
   * True for the API of clients: its answers carry the limits of a key, its operations need scopes, and the guide is
   * served beside its reference. In another API the description of an operation says who may call it.
   */
  readonly isPublic: boolean;
}

/** A parameter, or a member of a body. Its schema has its description, in Markdown. */
export interface Field {
  readonly name: string;
  readonly isRequired: boolean;
  readonly schema: Schema;
}

export interface OperationError {
  readonly status: number;
  readonly code: AnyErrorCode;
  readonly meaning: string;
}

/** An operation with what follows from its other members. */
export interface DescribedOperation extends Omit<Described, 'errors'> {
  /** With all its headers but those of every answer. */
  readonly success: Required<Pick<Described['success'], 'headers'>> & Described['success'];
  readonly headerParameters: readonly Parameter[];
  readonly fields: Readonly<Record<'path' | 'query' | 'header' | 'body', readonly Field[]>>;
  /** The last day (UTC, as YYYY-MM-DD), if the operation is deprecated. */
  readonly sunset: string | undefined;
  /** Every code that it can answer with, by status. */
  readonly codes: readonly AnyErrorCode[];
  /** Without those that all share, but for `validation_failed` where there are values. */
  readonly errors: readonly OperationError[];
}

/** An API as contract and reference show it. */
export interface DescribedApi extends Omit<ApiDescription, 'operations'> {
  readonly operations: readonly DescribedOperation[];
  /** The errors of every operation that needs a scope, or of every operation if none does. */
  readonly sharedErrors: readonly OperationError[];
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

/** Adds what follows from the description of an API. */
export function describeApi(api: ApiDescription): DescribedApi {
  const described = api.operations.map((operation) => describedOperation(operation, api));
  const [first, ...others] = described.filter(({ permission }) => permission !== 'any');
  const shared = first?.codes.filter((code) => others.every(({ codes }) => codes.includes(code))) ?? [];
  const operations = described.map((operation) => {
    const { codes, body, queryParameters } = operation;
    // Every operation has no parameter but its own; those with some have values to be checked as well.
    const hasValues = body !== undefined || queryParameters !== undefined;
    const own = codes.filter((code) => !shared.includes(code) || (hasValues && code === 'validation_failed'));
    return { ...operation, errors: own.map(errorOf) };
  });
  return { ...api, operations, sharedErrors: shared.map(errorOf) };
}

function describedOperation(operation: Described, { commonErrors }: ApiDescription) {
  const { method, conditional, deprecation, body, success, errors = [] } = operation;
  const { pathParameters = [], queryParameters = [] } = operation;
  const isCreate = method === 'POST';
  const headerParameters = [
    ...(conditional ? [IfNoneMatch] : []),
    ...(errors.includes('precondition_failed') ? [IfMatch] : []),
    ...(isCreate ? [IdempotencyKey] : []),
  ];
  const headers = {
    ...(conditional && VALIDATOR),
    ...success.headers,
    ...(isCreate && REPLAYED),
    ...(deprecation && DEPRECATED),
  };
  const codes = new Set([
    ...commonErrors(operation),
    ...(body ? WITH_BODY : []),
    ...(isCreate ? (['idempotency_key_reused'] as const) : []),
    ...errors,
  ]);
  return {
    ...operation,
    description: markedDescription(operation),
    success: { ...success, headers },
    headerParameters,
    fields: {
      path: pathParameters.map((parameter) => fieldOf(parameter, true)),
      query: queryParameters.map((parameter) => fieldOf(parameter, false)),
      header: headerParameters.map((parameter) => fieldOf(parameter, false)),
      body: body ? membersOf(body.schema) : [],
    },
    sunset: deprecation && dateOf(deprecation.sunset),
    codes: [...codes].toSorted((one, other) => STATUS_OF[one] - STATUS_OF[other]),
  };
}

function errorOf(code: AnyErrorCode): OperationError {
  return { status: STATUS_OF[code], code, meaning: ERROR_GUIDE[code].meaning.slice(0, -1) };
}

function fieldOf({ name, description, schema }: Parameter, isRequired: boolean): Field {
  return { name, isRequired, schema: { ...schema, description } };
}

/** The members of an object, or of the items of an array. */
export function membersOf(schema: Schema): Field[] {
  return membersOfObject(schema.items ?? schema);
}

function membersOfObject({ properties, required = [], anyOf = [] }: Schema): Field[] {
  if (!properties) return anyOf.flatMap(membersOfObject);
  return Object.entries(properties).map(([name, schema]) => ({ name, isRequired: required.includes(name), schema }));
}

/**
 * A value that a schema accepts; undefined for one that callers cannot make, such as a cursor. Without it in the
 * contract, testers that replay it cannot fill in a parameter.
 */
export function exampleOf({ items, example, enum: values, type, properties, required, anyOf }: Schema): unknown {
  if (items) return [exampleOf(items)];
  if (example !== undefined) return example;
  if (properties) {
    const shown = Object.entries(properties).filter(([name]) => required?.includes(name));
    return Object.fromEntries(shown.map(([name, member]) => [name, exampleOf(member)]));
  }
  if (anyOf) return anyOf.some((each) => each.type === 'null') ? null : exampleOf(anyOf[0] ?? {});
  if (type === 'boolean') return false;
  return values?.[0] ?? (type === 'integer' ? 1 : undefined);
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
