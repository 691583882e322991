import type { AnyErrorCode } from '../../../catalog/error.ts';
import type { Schema } from '../../../catalog/validate.ts';
import { STATUS_OF } from '../../errors.ts';
import type { Described, Parameter } from '../../operations/operation.ts';
import {
  type DescribedApi,
  dateOf,
  errorCodesOf,
  headerParameters,
  markedDescription,
  successHeaders,
} from '../described.ts';
import { ERROR_GUIDE } from '../error-guide.ts';

export interface Field {
  readonly name: string;
  /** As shown: `string`, `array of Category`, `object or null`. */
  readonly type: string;
  readonly isRequired: boolean;
  /** Markdown. */
  readonly description: string;
  readonly schema: Schema;
  readonly members: readonly Field[];
}

/** A body: the name of its schema, its members and an example. */
export interface Body {
  readonly type: string;
  readonly fields: readonly Field[];
  readonly example: unknown;
}

export interface OperationError {
  readonly status: string;
  readonly code: string;
  readonly meaning: string;
  /** A message that the operation responds with; undefined where none is known. */
  readonly message?: string | undefined;
}

/** An operation as the reference shows it. Its description is Markdown. */
export interface ReferenceOperation extends Omit<Described, 'body' | 'success' | 'errors'> {
  /** The last day, if the operation is deprecated. */
  readonly sunset: string | undefined;
  readonly scopes: readonly string[];
  readonly inPath: readonly Field[];
  readonly inQuery: readonly Field[];
  readonly inHeader: readonly Field[];
  readonly body: Body | undefined;
  readonly success: {
    readonly status: string;
    readonly description: string;
    readonly body: Body | undefined;
    /** Without those of every answer. */
    readonly headers: readonly { readonly name: string; readonly description: string }[];
  };
  /** Without those that `sharedErrors` gives, but for `validation_failed` where there are values. */
  readonly errors: readonly OperationError[];
}

export interface ReferenceApi {
  readonly title: string;
  readonly described: DescribedApi;
  readonly operations: readonly ReferenceOperation[];
  /** The address in the samples, without a slash at the end. */
  readonly baseUrl: string;
  /** The path before each operation's, on the listener that serves the reference. */
  readonly basePath: string;
  readonly credential: Credential;
  /** True if scopes decide who may call an operation. Its description says it otherwise. */
  readonly hasScopes: boolean;
  /** True if the guide is served beside the reference, so that links to it lead somewhere. */
  readonly hasGuide: boolean;
}

/** The credential that requests send as the bearer token. */
interface Credential {
  /** As it is called within a sentence. */
  readonly noun: 'key' | 'token';
  readonly label: string;
  readonly prefix: string;
  /** The environment variable that the samples read it from. */
  readonly variable: 'PET_CATALOG_KEY' | 'PET_CATALOG_TOKEN';
}

/** Every operation of an API, in its order. */
export function operationsOf(api: DescribedApi): ReferenceOperation[] {
  const shared = new Set(sharedErrors(api).map(({ code }) => code));
  return api.operations.map((operation) => {
    const described = describe(operation, api);
    // Every operation has no parameter but its own; those with some have values to be checked as well.
    const hasValues = described.body !== undefined || described.inQuery.length > 0;
    const isOwn = ({ code }: OperationError) => !shared.has(code) || (hasValues && code === 'validation_failed');
    return { ...described, errors: described.errors.filter(isOwn) };
  });
}

/** The errors of every operation that needs a scope, or of every operation if none does. */
export function sharedErrors(api: DescribedApi): readonly OperationError[] {
  const [first = [], ...others] = api.operations
    .filter(({ permission }) => permission !== 'any')
    .map((operation) => errorCodesOf(operation, api));
  return first.filter((code) => others.every((codes) => codes.includes(code))).map(errorOf);
}

function describe(operation: Described, api: DescribedApi): ReferenceOperation {
  const { id, deprecation, permission, body, success } = operation;
  const fields = (parameters: readonly Parameter[] = [], isRequired = false) =>
    parameters.map(({ name, description, schema }) => fieldOf(name, { ...schema, description }, isRequired));
  return {
    ...operation,
    description: markedDescription(operation),
    sunset: deprecation && dateOf(deprecation.sunset),
    scopes: permission === 'any' ? [] : [permission],
    inPath: fields(operation.pathParameters, true),
    inQuery: fields(operation.queryParameters),
    inHeader: fields(headerParameters(operation)),
    body: body && bodyOf(body.schema, body.example),
    success: {
      status: `${success.status}`,
      description: success.description,
      body: success.schema && bodyOf(success.schema, success.example),
      headers: Object.entries(successHeaders(operation)).map(([name, description]) => ({ name, description })),
    },
    errors: errorCodesOf(operation, api).map((code) => ({ ...errorOf(code), message: api.failures?.[id]?.[code] })),
  };
}

function errorOf(code: AnyErrorCode): OperationError {
  return { status: `${STATUS_OF[code]}`, code, meaning: ERROR_GUIDE[code].meaning.slice(0, -1) };
}

function bodyOf(schema: Schema, example: unknown): Body {
  return { type: typeOf(schema), fields: membersOf(schema.items ?? schema), example };
}

function fieldOf(name: string, schema: Schema, isRequired: boolean): Field {
  const members = membersOf(schema.items ?? schema);
  return { name, type: typeOf(schema), isRequired, description: schema.description ?? '', schema, members };
}

function membersOf({ properties, required = [], anyOf = [] }: Schema): Field[] {
  if (!properties) return anyOf.flatMap(membersOf);
  return Object.entries(properties).map(([name, member]) => fieldOf(name, member, required.includes(name)));
}

function typeOf({ title, type = 'any', items, anyOf }: Schema): string {
  if (anyOf) return anyOf.map(typeOf).join(' or ');
  return items ? `array of ${typeOf(items)}` : (title ?? type);
}
