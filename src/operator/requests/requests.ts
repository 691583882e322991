import type { ApiKey } from '../../catalog/api-key.ts';
import { type Html, html } from '../../http/docs/html.ts';
import { OPERATIONS } from '../../http/operations.ts';
import type { Answer } from '../../http/transport/exchange.ts';
import type { RecentRequest } from '../../telemetry/recent-requests.ts';
import { type ConsoleContext, type ConsoleRoute, searchText } from '../frame/context.ts';
import { count, foreign, moment, table } from '../frame/element.ts';
import { page } from '../frame/layout.ts';

const SHOWN_MAX = 100;
const STATUSES = [
  { value: '', label: 'any' },
  { value: '2xx', label: 'served (2xx)' },
  { value: '4xx', label: 'refused and client errors (4xx)' },
  { value: '429', label: 'over a limit (429)' },
  { value: '5xx', label: 'server errors (5xx)' },
] as const;
const ROUTES = [...new Set(OPERATIONS.map(({ path }) => `/v1${path}`)), 'unmatched'];
const COLUMNS = [
  { name: 'At' },
  { name: 'Request' },
  { name: 'Key' },
  { name: 'Route' },
  { name: 'Status', isNumber: true },
  { name: 'Code' },
  { name: 'ms', isNumber: true },
];

/** The recent requests of this instance; the page follows the traffic. */
export const requestRoutes: readonly ConsoleRoute[] = [{ method: 'GET', path: '/requests', handle: listRequests }];

async function listRequests(context: ConsoleContext): Promise<Answer> {
  const { exchange, recent } = context;
  const { query } = exchange;
  const text = searchText(query, 'key');
  const key = text === '' ? undefined : await keyLike(context, text);
  const status = STATUSES.find(({ value }) => value !== '' && value === query.get('status'))?.value;
  const route = ROUTES.find((each) => each === query.get('route'));
  const isPaused = query.get('paused') === '1';
  const isUnknown = text !== '' && !key;
  const found = isUnknown ? [] : recent.list({ limit: SHOWN_MAX, keyId: key?.id, status, route });
  const filters = { ...(text && { key: text }), ...(status && { status }), ...(route && { route }) };
  const toggled = new URLSearchParams({ ...filters, ...(!isPaused && { paused: '1' }) });
  const none = isUnknown ? 'No key has this name, id or prefix.' : 'No request was kept that fits.';
  const content = html`<div class="heading"><h1>Requests</h1><a class="button" href="/console/requests?${`${toggled}`}">${isPaused ? 'Follow' : 'Pause'}</a></div>
<p class="lead">The latest requests with a key. ${ownInstance()} <a href="/console/requests/why">Why was a request refused?</a></p>
${filterForm({ text, status, route })}
<p class="soft" id="shown"${isPaused ? '' : html` data-live`}>${found.length === 0 ? none : `${count(found.length)} shown, newest first`}${key ? html`, of ${foreign(key.name)}` : ''}</p>
${isPaused ? table('Requests', COLUMNS, found.map(row)) : table('Requests', COLUMNS, found.map(row), 'requests-rows')}`;
  return page(context, { section: '/requests', title: 'Requests', content });
}

/** What these pages cannot show. */
export function ownInstance(): Html {
  return html`They are kept in the memory of this instance alone; the logs of others have the same request ids.`;
}

/** The newest key whose name, id or prefix contains a text. */
export async function keyLike({ storage, now }: ConsoleContext, text: string): Promise<ApiKey | undefined> {
  return (await storage.keys.page({ text, now, limit: 1 })).keys[0];
}

interface Filters {
  readonly text: string;
  readonly status: string | undefined;
  readonly route: string | undefined;
}

function filterForm({ text, status = '', route = '' }: Filters): Html {
  const statuses = STATUSES.map(({ value, label }) => option(value, label, status));
  const routes = [option('', 'any', route), ...ROUTES.map((each) => option(each, each, route))];
  return html`<form class="search" action="/console/requests"><div class="pair">
<div><label for="key">Name, id or prefix of a key</label><input id="key" name="key" type="search" value="${text}"></div>
<div><label for="status">Status</label><select id="status" name="status">${statuses}</select></div>
<div><label for="route">Route</label><select id="route" name="route">${routes}</select></div></div>
<p><button>Show</button></p></form>`;
}

function option(value: string, label: string, chosen: string): Html {
  return html`<option value="${value}"${value === chosen ? html` selected` : ''}>${label}</option>`;
}

function row({ requestId, at, keyId, method, route, status, code, durationMs }: RecentRequest): Html {
  const isRefused = status >= 400;
  const why = new URLSearchParams({ q: requestId });
  const id = isRefused
    ? html`<a href="/console/requests/why?${`${why}`}"><code>${requestId}</code></a>`
    : html`<code>${requestId}</code>`;
  return html`<tr><th scope="row">${moment(at)}</th><td class="long">${id}</td><td><a href="/console/keys/${keyId}"><code>${keyId}</code></a></td>
<td>${method} <code>${route}</code></td><td class="number">${status}</td><td>${code ?? ''}</td><td class="number">${durationMs.toFixed(1)}</td></tr>\n`;
}
