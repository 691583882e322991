import { CatalogError, invalid } from '../../catalog/error.ts';
import { keyWithId } from '../../catalog/operator/changes.ts';
import { quote } from '../../catalog/validate.ts';
import { readLimit } from '../../http/operations/paging.ts';
import { readParameter } from '../../http/operations/query.ts';
import { utc } from '../../stdx/time.ts';
import type { RecentRequest } from '../../telemetry/recent-requests.ts';
import { KEY_ID, keyIdOf } from './keys.ts';
import { type ApiOperation, apiOperation } from './operation.ts';
import { KeyRequest } from './schema.ts';

const TAG = 'requests';
/** An instance keeps so many of one key: as many failures as other answers. */
const REQUESTS_MAX = 400;
const REQUESTS = 100;
const STATUS = '^[1-5]([0-9]{2}|xx)$';
const EXAMPLE = {
  requestId: 'hE7GR_cEMx1KfM2V.1f',
  at: '2026-01-01T12:00:00Z',
  keyId: 'key_VXnvMwGskigm0Sfq',
  method: 'GET',
  route: '/v1/categories',
  status: 429,
  code: 'rate_limit_exceeded',
  durationMs: 0.2,
  minuteRemaining: 0,
  dayRemaining: 940,
  reason: 'the limit of 60 requests per minute was reached',
};

const listKeyRequests = apiOperation('listKeyRequests', 'GET /keys/{keyId}/requests', {
  tag: TAG,
  summary: 'List the recent requests of a key',
  description:
    'The latest requests of a key that this instance keeps in memory, newest first: of each key up to 200 refusals and errors, of one minute the first and the last ten refusals, and 200 other answers.',
  permission: 'viewer',
  pathParameters: [KEY_ID],
  queryParameters: [
    {
      name: 'status',
      description: 'Only answers with this status, such as `429`, or of this class, such as `4xx`',
      schema: { type: 'string', pattern: STATUS },
    },
    {
      name: 'limit',
      description: `How many requests to return, 1 to ${REQUESTS_MAX}`,
      schema: { type: 'integer', minimum: 1, maximum: REQUESTS_MAX, default: REQUESTS },
    },
  ],
  success: {
    status: 200,
    description: 'The requests',
    schema: { type: 'array', items: KeyRequest },
    example: [EXAMPLE],
  },
  errors: ['not_found'],
  async handle(context, exchange) {
    const { recent } = context;
    const status = readParameter(exchange.query, 'status') ?? undefined;
    if (status !== undefined && !new RegExp(STATUS).test(status)) {
      throw invalid(`status is ${quote(status)}; send a status such as 429, or 4xx`);
    }
    const limit = readLimit(exchange.query, REQUESTS_MAX, REQUESTS);
    const { id: keyId } = await keyWithId(context, keyIdOf(exchange));
    const found = recent.list({ keyId, status, limit });
    return { status: 200, body: JSON.stringify(found.map(requestJson)) };
  },
});

const REQUEST_ID = {
  name: 'requestId',
  description: 'The `X-Request-Id` of the answer',
  schema: { type: 'string', example: EXAMPLE.requestId },
};

const getRequest = apiOperation('getRequest', 'GET /requests/{requestId}', {
  tag: TAG,
  summary: 'Get a recent request',
  description:
    'A request by its `X-Request-Id`, if this instance answered it and still keeps it; of several with this id the newest.',
  permission: 'viewer',
  pathParameters: [REQUEST_ID],
  success: { status: 200, description: 'The request', schema: KeyRequest, example: EXAMPLE },
  errors: ['not_found'],
  handle({ recent }, exchange) {
    const found = recent.find(exchange.params.requestId ?? '');
    if (found) return { status: 200, body: JSON.stringify(requestJson(found)) };
    throw new CatalogError(
      'not_found',
      'This instance keeps no request with this id; look into the logs, or ask the other instances',
    );
  },
});

export const requestOperations: readonly ApiOperation[] = [listKeyRequests, getRequest];

function requestJson(request: RecentRequest) {
  const { at, code = null, minuteRemaining = null, dayRemaining = null, reason = null } = request;
  const { requestId, keyId, method, route, status, durationMs } = request;
  const outcome = { status, code, durationMs, minuteRemaining, dayRemaining, reason };
  return { requestId, at: utc(at), keyId, method, route, ...outcome };
}
