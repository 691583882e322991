import type { AnyErrorCode, OPERATOR_ERROR_CODES } from '../../catalog/error.ts';
import { ERROR_CODES } from '../../catalog/error.ts';
import { TOKEN_PATTERN } from '../../catalog/operator/token.ts';
import { ERROR_GUIDE, type ErrorGuide } from '../../http/docs/error-guide.ts';
import { describeParameter, errorBody, IdempotencyKey, IfMatch, named } from '../../http/docs/openapi.ts';
import { STATUS_OF } from '../../http/errors.ts';
import { API_BASE, type ApiOperation } from './operation.ts';
import { API_OPERATIONS } from './operations.ts';

/** The version of the operator API, independent of the public interface's. */
const API_VERSION = '1.0.0';

/** The codes that only the operator listener answers with. */
const OPERATOR_ERROR_GUIDE: Readonly<Record<(typeof OPERATOR_ERROR_CODES)[number], ErrorGuide>> = {
  missing_token: {
    meaning: 'The request has no token.',
    cause: 'The Authorization header is missing, duplicated, or not a bearer token.',
    action: 'Send “Authorization: Bearer” and your token.',
  },
  invalid_token: {
    meaning: 'The token is not valid.',
    cause: 'The token is mistyped, revoked or expired, or it is an API key. The response does not say which.',
    action: 'Check that the token was copied completely; otherwise issue another one.',
  },
  insufficient_role: {
    meaning: 'The role of the token does not suffice.',
    cause: 'The operation needs another role, which the message names.',
    action: 'Use a token with this role.',
  },
  key_revoked: {
    meaning: 'The key is revoked, which is final.',
    cause: 'It was revoked before this request.',
    action: 'Issue a new key.',
  },
  category_in_use: {
    meaning: 'The category has pets, so it was not deleted.',
    cause: 'At least one pet belongs to it.',
    action: 'Keep the category, or rename it.',
  },
  misdirected_request: {
    meaning: 'The operator listener is not called by this name.',
    cause: 'The Host header is no address, not localhost, and not in OPERATOR_HOSTS.',
    action: 'Call the listener by its address, or add the name to OPERATOR_HOSTS.',
  },
};

const GUIDE: Readonly<Record<AnyErrorCode, ErrorGuide>> = { ...ERROR_GUIDE, ...OPERATOR_ERROR_GUIDE };
const CODES = [...Object.keys(OPERATOR_ERROR_GUIDE), ...ERROR_CODES];

/** Errors that every operation can return. */
const COMMON: readonly AnyErrorCode[] = [
  'missing_token',
  'invalid_token',
  'misdirected_request',
  'internal_error',
  'unavailable',
];
const WITH_BODY: readonly AnyErrorCode[] = [
  'invalid_json',
  'validation_failed',
  'payload_too_large',
  'unsupported_media_type',
];

const REQUEST_ID = {
  description: 'Identifies the request in the logs; copied from the request if it sent a valid one',
  schema: { type: 'string' },
};

/** Generates the contract of the operator API, OpenAPI 3.1, from its operations and those that a service adds. */
export function operatorOpenApiDocument(added: readonly ApiOperation[] = []): object {
  const operations = [...API_OPERATIONS, ...added];
  const schemas: Record<string, unknown> = {};
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operations) {
    const path = paths[operation.path] ?? {};
    path[operation.method.toLowerCase()] = describeOperation(operation, schemas);
    paths[operation.path] = path;
  }
  const tags = [...new Set(operations.map(({ tag }) => tag))];
  return {
    openapi: '3.1.0',
    info: {
      title: 'Pet Catalog Service: operator API',
      version: API_VERSION,
      description:
        'What operators do with keys, bans and categories, for programs. It is served on the operator listener alone, and takes tokens of `pet-catalog operators create`, no API keys. Each role may also do what those before it may: viewer, keys, admin.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: API_BASE, description: 'The operator listener that serves this document' }],
    security: [{ token: [] }],
    tags: tags.map((name) => ({ name, description: `Operations on ${name}` })),
    paths,
    components: {
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', bearerFormat: TOKEN_PATTERN.source, description: 'An operator token' },
      },
      schemas,
      parameters: { IdempotencyKey, IfMatch },
      headers: { 'X-Request-Id': REQUEST_ID },
    },
  };
}

function describeOperation(operation: ApiOperation, schemas: Record<string, unknown>): object {
  const { id, method, tag, summary, description, role, body, success, csv } = operation;
  const parameters = [
    ...(operation.pathParameters ?? []).map((parameter) => describeParameter(parameter, 'path')),
    ...(operation.queryParameters ?? []).map((parameter) => describeParameter(parameter, 'query')),
    ...(method === 'POST' ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []),
    ...(operation.errors.includes('precondition_failed') ? [{ $ref: '#/components/parameters/IfMatch' }] : []),
  ];
  const replayed = method === 'POST' && {
    'Idempotency-Replayed': 'true if this is the outcome of an earlier request',
  };
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: `${description}\n\nRole: \`${role}\`.`,
    'x-role': role,
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: !body.isOptional,
        content: { 'application/json': { schema: named(body.schema, schemas), example: body.example } },
      },
    }),
    responses: {
      [success.status]: {
        description: success.description,
        headers: headersOf({ ...success.headers, ...replayed }),
        ...(success.schema && {
          content: {
            'application/json': { schema: named(success.schema, schemas), example: success.example },
            ...(csv && { 'text/csv': { schema: { type: 'string' }, example: csv } }),
          },
        }),
      },
      ...describeErrors(operation, schemas),
    },
  };
}

function describeErrors({ role, method, body, errors }: ApiOperation, schemas: Record<string, unknown>): object {
  const codes = new Set([
    ...COMMON,
    ...(role === 'viewer' ? [] : (['insufficient_role'] as const)),
    ...(body ? WITH_BODY : []),
    ...(method === 'POST' ? (['validation_failed', 'idempotency_key_reused'] as const) : []),
    ...(method === 'GET' ? [] : (['outcome_unknown'] as const)),
    ...errors,
  ]);
  const byStatus = [...Map.groupBy(codes, (code) => STATUS_OF[code])];
  return Object.fromEntries(
    byStatus.map(([status, ofStatus]) => [
      status,
      {
        description: ofStatus.map((code) => `\`${code}\`: ${GUIDE[code].meaning}`).join(' '),
        headers: headersOf({}),
        content: {
          'application/json': {
            schema: named(errorBody(CODES), schemas),
            examples: Object.fromEntries(
              ofStatus.map((code) => {
                const { meaning, action } = GUIDE[code];
                return [code, { description: action, value: { code, message: meaning.slice(0, -1), status } }];
              }),
            ),
          },
        },
      },
    ]),
  );
}

function headersOf(headers: Readonly<Record<string, string>>): object {
  const own = Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: 'string' } }]);
  return { 'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' }, ...Object.fromEntries(own) };
}
