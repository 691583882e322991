import { isDeepStrictEqual } from 'node:util';
import type { TSchema } from 'typebox';
import { KEY_PATTERN, SCOPES } from '../../catalog/api-key.ts';
import { type AnyErrorCode, ERROR_CODES } from '../../catalog/error.ts';
import { objectOf } from '../../catalog/validate.ts';
import { STATUS_OF } from '../errors.ts';
import { VALIDATOR } from '../operations/conditional.ts';
import type { Operation, Parameter } from '../operations/operation.ts';
import {
  type ContractServer,
  type DescribedApi,
  type DescribedOperation,
  describeApi,
  exampleOf,
} from './described.ts';
import { ERROR_GUIDE } from './error-guide.ts';

// An import of node:http would load its client as well.
const { STATUS_CODES } = process.getBuiltinModule('node:http');

/** The version of the published interface, independent of the software's version. */
export const INTERFACE_VERSION = '1.0.0';

/** The servers as published: placeholders whose default is the address of a service with default settings. */
export const PUBLISHED_SERVERS: readonly ContractServer[] = [
  { description: 'Production', url: '{base_url}', variables: { base_url: { default: 'http://127.0.0.1:8080/v1' } } },
  {
    description: 'Staging',
    url: '{staging_base_url}',
    variables: { staging_base_url: { default: 'http://127.0.0.1:8080/v1' } },
  },
];

/** Errors that every operation of the public API can return; `validation_failed` for a query that it does not have. */
const COMMON: readonly AnyErrorCode[] = [
  'validation_failed',
  'missing_api_key',
  'invalid_api_key',
  'rate_limit_exceeded',
  'daily_quota_exceeded',
  'key_banned',
  'internal_error',
  'unavailable',
  'outcome_unknown',
];
const STATUS_TEXT: Readonly<Record<number | 'default', string>> = {
  default: 'Any other failure, such as a malformed request',
  400: 'The request is malformed or has invalid values',
  401: 'The API key is missing or invalid',
  403: 'The API key lacks the scope of the operation',
  404: 'There is no such resource',
  409: 'The request conflicts with the current state',
  410: 'The operation is past its sunset',
  412: 'The resource has changed since it was read',
  413: 'The body is too large',
  415: 'The body is not plain application/json in UTF-8',
  421: 'The listener is not called by this name',
  422: 'The Idempotency-Key was used for another request',
  429: 'A limit is exceeded, or the key is banned',
  500: 'The service failed',
  503: 'The service cannot do this now',
};

/** The schema of the body of every error, with the codes of an API. */
function errorBody(codes: readonly string[]) {
  const schema = objectOf('Error', 'The body of every error', {
    required: ['code', 'message', 'status'],
    properties: {
      code: { enum: codes, type: 'string', description: 'Machine-readable error code, from a closed set' },
      message: { type: 'string', description: 'Human-readable description' },
      status: { type: 'integer', minimum: 400, maximum: 599, description: 'The HTTP status code of the response' },
    },
  });
  return { ...schema, additionalProperties: false };
}

const integer = (description: string, minimum = 0) => ({ description, schema: { type: 'integer', minimum } });
const text = (description: string) => ({ description, schema: { type: 'string' } });

const LIMIT_HEADERS = {
  'X-RateLimit-Limit': integer('Requests allowed in the window with fewer requests left; 0 without a valid key'),
  'X-RateLimit-Remaining': integer('Requests left in that window'),
  'X-RateLimit-Reset': integer('When that window resets, in Unix seconds'),
};
/** Those of answers to a valid key. */
const KEY_HEADERS = {
  'RateLimit-Policy': text('Both windows of the key: quota q and length w in seconds (IETF draft)'),
  RateLimit: text('Both windows now: remaining r and seconds to the reset t (IETF draft)'),
};
const HEADERS = {
  'X-Request-Id': text('Identifies the request in the logs; copied from the request if it sent a valid one'),
  'Retry-After': integer('Seconds to wait before the next attempt', 1),
  'WWW-Authenticate': text('The bearer challenge (RFC 6750)'),
};

/** The description that contract and reference give of the public API. */
export function publicApi(operations: readonly Operation[], servers: readonly ContractServer[]): DescribedApi {
  return describeApi({
    info: {
      title: 'Pet Catalog Service',
      version: INTERFACE_VERSION,
      description:
        'Manages pet categories, pets and orders. Every operation takes an API key as a bearer token, every response reports the limits of the key, and every error has the same body.',
    },
    servers,
    tags: [
      { name: 'categories', description: 'The categories by which pets are classified' },
      { name: 'pets', description: 'The pets of the catalog' },
      { name: 'store', description: 'Orders and stock' },
      { name: 'limits', description: 'The rate limits of a key' },
    ],
    operations,
    credential: {
      name: 'apiKey',
      format: KEY_PATTERN.source,
      noun: 'key',
      label: 'API key',
      prefix: 'petcat_',
      variable: 'PET_CATALOG_KEY',
      description: `An API key as a bearer token. The scopes of a key are all of these unless it was issued with fewer: ${SCOPES.join(', ')}.`,
    },
    codes: ERROR_CODES,
    commonErrors: ({ permission }) => (permission === 'any' ? COMMON : [...COMMON, 'insufficient_scope']),
    isPublic: true,
  });
}

/** Generates the contract of an API, OpenAPI 3.1; members that are undefined are none in JSON. */
export function contractOf(api: DescribedApi): object {
  const { info, servers, tags, credential } = api;
  const components: Components = { schemas: {}, responses: {}, parameters: {} };
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of api.operations) {
    const path = paths[operation.path] ?? {};
    path[operation.method.toLowerCase()] = describeOperation(operation, api, components);
    paths[operation.path] = path;
  }
  const { name, format: bearerFormat, description } = credential;
  return {
    openapi: '3.1.0',
    info: { ...info, license: { name: 'MIT', identifier: 'MIT' } },
    servers,
    security: [{ [name]: [] }],
    tags,
    paths,
    components: {
      securitySchemes: { [name]: { type: 'http', scheme: 'bearer', bearerFormat, description } },
      ...components,
      headers: api.isPublic ? { ...LIMIT_HEADERS, ...KEY_HEADERS, ...HEADERS } : HEADERS,
    },
  };
}

/** The shared parts that operations refer to. Describing an operation adds those that it needs. */
type Components = Readonly<Record<'schemas' | 'responses' | 'parameters', Record<string, unknown>>>;

function describeOperation(operation: DescribedOperation, api: DescribedApi, components: Components): object {
  const { schemas } = components;
  const { id, tag, summary, description, permission, stability, sunset, body, success } = operation;
  const parameters = [
    ...(operation.pathParameters ?? []).map((parameter) => describeParameter(parameter, 'path')),
    ...(operation.queryParameters ?? []).map((parameter) => describeParameter(parameter, 'query')),
    ...operation.headerParameters.map((parameter) => inHeader(parameter, components)),
  ];
  return {
    operationId: id,
    tags: [tag],
    summary,
    description,
    'x-stability': stability,
    deprecated: sunset === undefined ? undefined : true,
    'x-deprecated-sunset': sunset,
    security: [{ [api.credential.name]: permission === 'any' ? [] : [permission] }],
    parameters: parameters.length > 0 ? parameters : undefined,
    requestBody: body && { required: !body.isOptional, content: json(named(body.schema, schemas), body.example) },
    responses: {
      [success.status]: {
        description: success.description,
        headers: headersOf(success.status, api, success.headers),
        content: success.schema && {
          ...json(named(success.schema, schemas), success.example),
          'text/csv': success.csv && { schema: { type: 'string' }, example: success.csv },
        },
      },
      304: operation.conditional && {
        description: 'The client already holds the current response',
        headers: headersOf(304, api, VALIDATOR),
      },
      ...describeErrors(operation, api, components),
    },
  };
}

/** The errors of an operation by status. Statuses with the same codes share one response component. */
function describeErrors({ codes }: DescribedOperation, api: DescribedApi, components: Components): object {
  const byStatus = Map.groupBy(codes, (code) => STATUS_OF[code]);
  const described = [...byStatus].map(([status, ofStatus]) => {
    const name = responseName(status, ofStatus);
    const response = describeError(status, ofStatus, { api, components });
    components.responses[name] ??= response;
    if (!isDeepStrictEqual(components.responses[name], response)) throw new Error(`There are two responses ${name}`);
    return [String(status), ref('responses', name)];
  });
  components.responses.Failure ??= describeError('default', [], { api, components });
  return { ...Object.fromEntries(described), default: ref('responses', 'Failure') };
}

/** The name of a response: its code, or its status if it has several codes. */
function responseName(status: number, [code = 'internal_error', ...others]: readonly AnyErrorCode[]): string {
  if (others.length > 0) return STATUS_CODES[status]?.replaceAll(' ', '') ?? `Status${status}`;
  return code.replaceAll(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());
}

function describeError(
  status: number | 'default',
  codes: readonly AnyErrorCode[],
  { api, components }: { readonly api: DescribedApi; readonly components: Components },
): object {
  const examples = codes.map((code) => {
    const { meaning, action, message: ofPublic } = ERROR_GUIDE[code];
    const message = (api.isPublic && ofPublic) || meaning.slice(0, -1);
    return [code, { description: action, value: { code, message, status } }];
  });
  return {
    description: api.statusTexts?.[Number(status)] ?? STATUS_TEXT[status],
    headers: headersOf(status, api),
    content: {
      'application/json': {
        schema: named(errorBody(api.codes), components.schemas),
        examples: examples.length > 0 ? Object.fromEntries(examples) : undefined,
      },
    },
  };
}

/** The headers of the answers with a status: those that several have, then their own. */
function headersOf(
  status: number | 'default',
  { isPublic }: DescribedApi,
  own: Readonly<Record<string, string>> = {},
): Record<string, object> {
  const names = isPublic ? [...Object.keys(LIMIT_HEADERS), 'X-Request-Id'] : ['X-Request-Id'];
  if (isPublic && status !== 'default' && status !== 401) names.push(...Object.keys(KEY_HEADERS));
  if (status === 401 || status === 403) names.push('WWW-Authenticate');
  if (status === 429 || status === 503) names.push('Retry-After');
  const shared = Object.fromEntries(names.map((name) => [name, ref('headers', name)]));
  const described = Object.entries(own).map(([name, description]) => [name, text(description)]);
  return { ...shared, ...Object.fromEntries(described) };
}

function inHeader(parameter: Parameter, { parameters }: Components): object {
  const name = parameter.name.replaceAll('-', '');
  parameters[name] = { ...parameter, in: 'header', example: exampleOf(parameter.schema) };
  return ref('parameters', name);
}

function describeParameter({ name, description, schema }: Parameter, place: 'path' | 'query'): object {
  const described = { name, in: place, required: place === 'path', description, schema, example: exampleOf(schema) };
  return 'items' in schema ? { ...described, style: 'form', explode: false } : described;
}

function json(schema: unknown, example: unknown) {
  return { 'application/json': { schema, example } };
}

function ref(kind: keyof Components | 'headers', name: string): { readonly $ref: string } {
  return { $ref: `#/components/${kind}/${name}` };
}

/** Moves every titled part of a schema to the components, and returns the schema with references. */
function named(schema: TSchema, schemas: Record<string, unknown>): unknown {
  return JSON.parse(JSON.stringify(schema), (_key, part) => {
    if (typeof part?.title !== 'string') return part;
    const { title, ...rest } = part;
    schemas[title] = rest;
    return ref('schemas', title);
  });
}
