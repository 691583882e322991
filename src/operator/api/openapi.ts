import { type AnyErrorCode, ERROR_CODES, OPERATOR_ERROR_CODES } from '../../catalog/error.ts';
import { TOKEN_PATTERN } from '../../catalog/operator/access.ts';
import { type DescribedApi, describeApi } from '../../http/docs/described.ts';
import { contractOf } from '../../http/docs/openapi.ts';
import { operationLinks, referenceContent } from '../../http/docs/reference/reference.ts';
import { layout } from '../../http/docs/site.ts';
import { API_BASE } from './http.ts';
import { API_OPERATIONS } from './server.ts';

/** The version of the operator API, independent of the public interface's. */
const API_VERSION = '1.0.0';

/** Errors that every operation can return. */
const COMMON: readonly AnyErrorCode[] = [
  'validation_failed',
  'missing_token',
  'invalid_token',
  'misdirected_request',
  'internal_error',
  'unavailable',
];

/** Generates the contract of the operator API from its operations. */
export function operatorOpenApiDocument(): object {
  return contractOf(operatorApi());
}

/** The description that contract and reference give of the operator API. */
function operatorApi(): DescribedApi {
  return describeApi({
    info: {
      title: 'Pet Catalog Service: operator API',
      version: API_VERSION,
      description:
        'What operators do with keys, bans and categories, for programs. It is served on the operator listener alone, and takes tokens of `pet-catalog operators create`, no API keys. Each role may also do what those before it may: viewer, keys, admin.',
    },
    servers: [{ url: API_BASE, description: 'The operator listener that serves this document' }],
    tags: [...new Set(API_OPERATIONS.map(({ tag }) => tag))].map((name) => ({
      name,
      description: `Operations on ${name}`,
    })),
    operations: API_OPERATIONS,
    credential: {
      name: 'token',
      format: TOKEN_PATTERN.source,
      noun: 'token',
      label: 'Operator token',
      prefix: 'petcat_op_',
      variable: 'PET_CATALOG_TOKEN',
      description: 'An operator token',
    },
    codes: [...OPERATOR_ERROR_CODES, ...ERROR_CODES],
    commonErrors: ({ method, permission }) => [
      ...COMMON,
      ...(permission === 'viewer' ? [] : (['insufficient_role'] as const)),
      ...(method === 'GET' ? [] : (['outcome_unknown'] as const)),
    ],
    statusTexts: { 401: 'The token is missing or invalid', 403: 'The role of the token does not suffice' },
    isPublic: false,
  });
}

const TITLE = 'Operator API';
const PATH = '/docs';
const LISTENER = {
  title: 'Operator listener',
  links: [
    { path: '/console', title: 'Console' },
    { path: PATH, title: 'API reference' },
  ],
};

/** The reference of the operator API, as the page of an operator listener at `origin`. */
export function operatorReference(origin: string): string {
  const api = { ...operatorApi(), heading: TITLE, baseUrl: `${origin}${API_BASE}`, basePath: API_BASE };
  return layout({
    path: PATH,
    title: TITLE,
    content: referenceContent(api),
    navigation: [LISTENER, ...operationLinks(api, PATH)],
    isReference: true,
    isAlone: true,
  });
}
