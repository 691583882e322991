import { CatalogError, ERROR_CODES, invalid } from '../../catalog/error.ts';
import { UNMATCHED } from '../../catalog/usage.ts';
import { quote } from '../../catalog/validate.ts';
import { STATUS_OF } from '../../http/errors.ts';
import { OPERATIONS } from '../../http/operations.ts';
import { utc } from '../../stdx/time.ts';
import type { RecentRequest, RecentRequests } from '../../telemetry/recent-requests.ts';
import { byChoice, byMoment, byText, type Filter } from './filters.ts';
import { getKey, KEY_PARAMETER } from './keys.ts';
import { type Caller, operate } from './operation.ts';
import { KeyRequest, REQUEST_ID } from './schema.ts';

/** The recent requests that a running instance keeps in memory. */

/** An instance keeps so many of one key: as many failures as other answers. */
export const REQUESTS_MAX = 400;
const KEYS_MAX = 1_000;
const STATUSES = ['2xx', '3xx', '4xx', '5xx', ...new Set(ERROR_CODES.map((code) => `${STATUS_OF[code]}`))].sort();
const ROUTES = [...new Set(OPERATIONS.map(({ path }) => `/v1${path}`)), UNMATCHED];
const STATUS = '^[1-5]([0-9]{2}|xx)$';
export type RequestJson = ReturnType<typeof requestJson>;

const byClient = byText('Only requests whose `User-Agent` has this text', { label: 'Client' });
const byStatus: Filter<string> = {
  about: 'Only answers with this status, such as `429`, or of this class, such as `4xx`',
  schema: { type: 'string', pattern: STATUS },
  read(text, name) {
    if (new RegExp(STATUS).test(text)) return text;
    throw invalid(`${name} is ${quote(text)}; send a status such as 429, or 4xx`);
  },
};

const LISTED = {
  noun: ['request', 'requests'],
  schema: KeyRequest,
  columns: [
    { member: 'at', label: 'At' },
    {
      member: 'status',
      label: 'Status',
      text: ({ status, code }: RequestJson) => `${status}${code ? ` ${code}` : ''}`,
    },
    { member: 'route', label: 'Route', text: ({ method, route }: RequestJson) => `${method} ${route}` },
    { member: 'keyId', label: 'Key' },
    { member: 'durationMs', label: 'Ms', isNumber: true },
    { member: 'requestId', label: 'Request id' },
  ],
  csv: { columns: KeyRequest.required },
} as const;

export const listRequests = operate('request.list', 'listRequests', 'GET /requests', {
  summary: 'List recent requests',
  description:
    'A page of the latest requests with a key that this instance keeps in memory, newest first. The filters combine.',
  permission: 'viewer',
  isOfService: true,
  filters: {
    key: byText('Only requests with the keys that this may mean: an id, or part of a name, an owner or a prefix', {
      label: 'Key: name, owner, id or prefix',
      isWide: true,
    }),
    owner: byText("Only requests with keys of this customer's id"),
    status: { ...byStatus, label: 'Status', choices: STATUSES },
    route: byChoice('Only requests to this route; `unmatched` for addresses without one', ROUTES, { label: 'Route' }),
    client: byClient,
    since: byMoment('Only requests from this moment on', 'past', '1h', { label: 'Since (UTC)' }),
    until: byMoment('Only requests before this moment', 'past', '2026-02-01T00:00:00Z', { label: 'Until (UTC)' }),
  },
  list: LISTED,
  async handle(caller, { query: { key, owner, ...filter }, limit, behind }) {
    const { storage, now } = caller;
    const recent = recentOf(caller);
    const isKept = key !== undefined && recent.list({ keyId: key, limit: 1 }).length > 0;
    // What is kept of an id needs no database.
    const text = isKept ? undefined : key;
    const asksForKeys = text !== undefined || owner !== undefined;
    const meant = asksForKeys && (await storage.keys.list({ text, owner, now, limit: KEYS_MAX })).keys;
    const keyIds = meant ? new Set(meant.map(({ id }) => id)) : undefined;
    const query = { ...filter, keyId: isKept ? key : undefined, keyIds, before: behind?.number, limit: limit + 1 };
    const rows = recent.list(query);
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    return { json: rows.slice(0, limit).map(requestJson), last: last && { number: last.order, id: '' } };
  },
});

export const listKeyRequests = operate('request.list-of-key', 'listKeyRequests', 'GET /keys/{keyId}/requests', {
  tag: 'requests',
  summary: 'List the recent requests of a key',
  description:
    'The latest requests of a key that this instance keeps in memory, newest first: of each key up to 200 refusals and errors, of one minute the first and the last ten refusals, and 200 other answers.',
  permission: 'viewer',
  isOfService: true,
  parameter: KEY_PARAMETER,
  filters: { status: byStatus, client: byClient },
  list: { ...LISTED, limitMax: REQUESTS_MAX, limitUsual: 100 },
  async handle(caller, call) {
    await getKey.handle(caller, { ...call, query: {}, body: undefined });
    const rows = recentOf(caller).list({ ...call.query, keyId: call.id, limit: call.limit });
    return { json: rows.map(requestJson) };
  },
});

export const getRequest = operate('request.show', 'getRequest', 'GET /requests/{requestId}', {
  summary: 'Get a recent request',
  description:
    'A request by its `X-Request-Id`, if this instance answered it and still keeps it; of several with this id the newest.',
  permission: 'viewer',
  isOfService: true,
  parameter: {
    name: 'requestId',
    description: 'The `X-Request-Id` of the answer',
    schema: { type: 'string', example: REQUEST_ID },
  },
  success: { status: 200, description: 'The request', schema: KeyRequest },
  handle(caller, { id }) {
    const request = recentOf(caller).find(id);
    if (request) return { json: requestJson(request) };
    throw new CatalogError(
      'not_found',
      'This instance keeps no request with this id; look into the logs, or ask the other instances',
    );
  },
});

/** The recent requests of the service that answers; a command asks it over HTTP. */
export function recentOf({ service }: Caller): RecentRequests {
  if (!service) throw new Error('Only a running service keeps requests');
  return service.recent;
}

function requestJson(request: RecentRequest) {
  const { at, code = null, minuteRemaining = null, dayRemaining = null, reason = null } = request;
  const { requestId, keyId, method, route, status, durationMs, client: userAgent = null } = request;
  const outcome = { status, code, durationMs, minuteRemaining, dayRemaining, reason };
  return { requestId, at: utc(at), keyId, method, route, ...outcome, userAgent };
}
