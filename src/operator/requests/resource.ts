import { CatalogError, invalid } from '../../catalog/error.ts';
import { quote } from '../../catalog/validate.ts';
import { readLimit } from '../../http/operations/paging.ts';
import { readParameter } from '../../http/operations/query.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import { utc } from '../../stdx/time.ts';
import type { RecentRequest } from '../../telemetry/recent-requests.ts';
import { type ApiContext, type ApiOperation, apiOperation } from '../api/operation.ts';
import { KeyRequest } from '../api/schema.ts';
import { idIn } from '../doors/api-actions.ts';
import { keyNoun } from '../keys/noun.ts';
import { byMoment, byText, type Filter, resource } from '../resource.ts';

const TAG = 'requests';
/** An instance keeps so many of one key: as many failures as other answers. */
const REQUESTS_MAX = 400;
const REQUESTS = 100;
const KEYS_MAX = 1_000;
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

const byStatus: Filter<string> = {
  about: 'Only answers with this status, such as `429`, or of this class, such as `4xx`',
  schema: { type: 'string', pattern: STATUS },
  read(text, name) {
    if (new RegExp(STATUS).test(text)) return text;
    throw invalid(`${name} is ${quote(text)}; send a status such as 429, or 4xx`);
  },
};

type Json = ReturnType<typeof requestJson>;

/** The recent requests of an instance; the console has a page by hand, which follows the traffic. */
export const requests = resource({
  path: 'requests',
  title: 'Requests',
  noun: ['request', 'requests'],
  filters: {
    key: byText('Only requests with the key of this id'),
    owner: byText("Only requests with keys of this customer's id"),
    status: byStatus,
    since: byMoment('Only requests from this moment on', 'past', '1h'),
    until: byMoment('Only requests before this moment', 'past', '2026-02-01T00:00:00Z'),
  },
  async page({ storage, recent, now }, { key: keyId, owner, limit, behind, sort: _, ...filter }) {
    const owned = owner ? await storage.keys.list({ owner, now, limit: KEYS_MAX }) : undefined;
    const keyIds = owned && new Set(owned.keys.map(({ id }) => id));
    const rows = recent.list({ ...filter, keyId, keyIds, before: behind?.number, limit: limit + 1 });
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    return { rows: rows.slice(0, limit), last: last && { number: last.order, id: '' } };
  },
  json: (_context, rows) => rows.map(requestJson),
  columns: [
    { label: 'At', member: 'at' },
    { label: 'Status', text: ({ status, code }: Json) => `${status}${code ? ` ${code}` : ''}` },
    { label: 'Route', text: ({ method, route }: Json) => `${method} ${route}` },
    { label: 'Key', member: 'keyId' },
    { label: 'Ms', member: 'durationMs' },
    { label: 'Request id', member: 'requestId' },
  ],
  api: {
    id: 'listRequests',
    tag: TAG,
    summary: 'List recent requests',
    description:
      'A page of the latest requests with a key that this instance keeps in memory, newest first. The filters combine.',
    schema: KeyRequest,
    example: EXAMPLE,
  },
  command: {
    usage: 'requests',
    about: 'Show the recent requests that the running service keeps, newest first',
    none: 'No request is kept',
  },
});

const LIST_KEY_REQUESTS = apiOperation('listKeyRequests', 'GET /keys/{keyId}/requests', {
  tag: TAG,
  summary: 'List the recent requests of a key',
  description:
    'The latest requests of a key that this instance keeps in memory, newest first: of each key up to 200 refusals and errors, of one minute the first and the last ten refusals, and 200 other answers.',
  permission: 'viewer',
  pathParameters: [keyNoun.parameter],
  queryParameters: [
    { name: 'status', description: byStatus.about, schema: byStatus.schema },
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
  handle: listKeyRequests,
});

async function listKeyRequests(context: ApiContext, exchange: Exchange): Promise<Answer> {
  const text = readParameter(exchange.query, 'status');
  const status = text === null ? undefined : byStatus.read(text, 'status', 0);
  const limit = readLimit(exchange.query, REQUESTS_MAX, REQUESTS);
  const { id: keyId } = await keyNoun.find(context, idIn(exchange));
  return { status: 200, body: JSON.stringify(context.recent.list({ keyId, status, limit }).map(requestJson)) };
}

const GET_REQUEST = apiOperation('getRequest', 'GET /requests/{requestId}', {
  tag: TAG,
  summary: 'Get a recent request',
  description:
    'A request by its `X-Request-Id`, if this instance answered it and still keeps it; of several with this id the newest.',
  permission: 'viewer',
  pathParameters: [
    {
      name: 'requestId',
      description: 'The `X-Request-Id` of the answer',
      schema: { type: 'string', example: EXAMPLE.requestId },
    },
  ],
  success: { status: 200, description: 'The request', schema: KeyRequest, example: EXAMPLE },
  errors: ['not_found'],
  handle: getRequest,
});

function getRequest({ recent }: ApiContext, exchange: Exchange): Answer {
  const found = recent.find(idIn(exchange));
  if (found) return { status: 200, body: JSON.stringify(requestJson(found)) };
  throw new CatalogError(
    'not_found',
    'This instance keeps no request with this id; look into the logs, or ask the other instances',
  );
}

export const requestOperations: readonly ApiOperation[] = [LIST_KEY_REQUESTS, GET_REQUEST];

function requestJson(request: RecentRequest) {
  const { at, code = null, minuteRemaining = null, dayRemaining = null, reason = null } = request;
  const { requestId, keyId, method, route, status, durationMs } = request;
  const outcome = { status, code, durationMs, minuteRemaining, dayRemaining, reason };
  return { requestId, at: utc(at), keyId, method, route, ...outcome };
}
