import type { ApiKey } from '../../catalog/api-key.ts';
import { ERROR_CODES } from '../../catalog/error.ts';
import { outcomeOf, UNMATCHED } from '../../catalog/usage.ts';
import { STATUS_OF } from '../../http/errors.ts';
import { type Html, html } from '../../http/html.ts';
import { OPERATIONS } from '../../http/operations.ts';
import type { RecentRequest } from '../../telemetry/recent-requests.ts';
import { KEYS_LIKE_MAX, keysLike } from '../api/why.ts';
import { type ConsoleContext, onGet, type View } from './frame/context.ts';
import { counted, duration, empty, foreign, numeric, secondOf, table } from './frame/element.ts';
import {
  ANY,
  addressOf,
  choiceField,
  filters,
  type ListQuery,
  optionList,
  searchText,
  textField,
  unknownChoice,
} from './frame/list.ts';
import { readSpan, spanFields, timeText } from './range.ts';
import { keyLink, keyNames, OUTCOMES } from './usage.ts';

const SHOWN_MAX = 100;
const COLUMNS = ['Time', 'Status', 'Route', 'Key', numeric('Duration'), 'Request id'];
const KINDS = [
  { value: 'served', outcome: 'served', label: 'served (2xx, 3xx)' },
  { value: 'refused', outcome: 'refused', label: 'refused (429)' },
  { value: 'client-errors', outcome: 'clientErrors', label: 'client errors (4xx but 429)' },
  { value: 'server-errors', outcome: 'serverErrors', label: 'server errors (5xx)' },
] as const;
const STATUSES = [...new Set([200, 201, 204, 304, ...ERROR_CODES.map((code) => STATUS_OF[code])])]
  .filter((status) => status !== 401)
  .map(String)
  .sort();
const ROUTES = [...new Set(OPERATIONS.map(({ path }) => `/v1${path}`)), UNMATCHED];

/** The recent requests of this instance; the page follows the traffic. */
export const requestRoutes = [onGet('/requests', listRequests)];

async function listRequests(context: ConsoleContext): Promise<View> {
  const { query } = context.exchange;
  const text = searchText(query, 'key');
  const kind = KINDS.find(({ value }) => value === query.get('status'));
  const status = STATUSES.find((value) => value === query.get('status'));
  const route = ROUTES.find((each) => each === query.get('route'));
  const [since, until] = [timeText(query, 'since'), timeText(query, 'until')];
  const { span, wrong } = readSpan(query, context.now);
  const wanted = { key: text, status: kind?.value ?? status, route, since, until };
  const isFiltered = Object.values(wanted).some(Boolean);
  const keys = text === '' ? [] : await keysLike(context, text);
  const isPaused = query.get('paused') === '1';
  const found = () => {
    if (keys.length > 1) return whichKey(keys, (id) => addressFor({ ...wanted, key: id }, isPaused));
    const [key] = keys;
    if (text !== '' && !key)
      return empty('No key has this name, id or prefix.', html`<a href="/console/keys">Show all keys</a>`);
    const limit = SHOWN_MAX;
    const requests = context.service.recent.list({
      limit,
      keyId: key?.id,
      status,
      outcome: kind?.outcome,
      route,
      ...span,
    });
    return requestsFound(context, requests, { key, isFiltered });
  };
  const content = html`<div class="heading"><h1>Requests</h1><div class="row"><a class="button" href="/console/requests/why">Why was it refused?</a><a class="button primary" href="${addressFor(wanted, !isPaused)}" data-pause="${isPaused ? 'paused' : 'following'}">${isPaused ? 'Follow' : 'Pause'}</a></div></div>
<p class="lead">The latest requests with a key, newest first. <span id="following" role="status">${isPaused ? 'Paused.' : html`<a href="${addressFor(wanted, false)}">Reload</a> to see newer ones.`}</span></p>
${filterForm(wanted, { query, isFiltered, wrong })}
${await found()}
<p class="scope">${ownInstance(context)}</p>`;
  return { section: '/requests', title: 'Requests', content };
}

async function requestsFound(
  context: ConsoleContext,
  requests: readonly RecentRequest[],
  { key, isFiltered }: { key: ApiKey | undefined; isFiltered: boolean },
): Promise<Html> {
  const names = await keyNames(context, requests);
  const none = isFiltered
    ? html`No kept request fits these filters. <a href="/console/requests">Show all</a>`
    : html`No requests yet. Each request with a key appears here.`;
  const number = counted(requests.length, requests.length === SHOWN_MAX ? 'newest request' : 'request');
  const shown = html`${number}${key ? html` of <a href="/console/keys/${key.id}">${foreign(key.name)}</a>` : ''}`;
  return html`<p class="soft" id="shown" data-live>${requests.length === 0 ? none : shown}</p>
${requestTable('Requests', requests, { names, id: 'requests-rows' })}`;
}

function addressFor(filters: ListQuery, isPaused: boolean): string {
  return `/console${addressOf('/requests', { ...filters, paused: isPaused ? '1' : '' })}`;
}

function filterForm(
  { key, status }: ListQuery,
  { query, isFiltered, wrong }: { query: URLSearchParams; isFiltered: boolean; wrong: string | undefined },
): Html {
  const statuses = STATUSES.map((each) => ({ value: each, label: each }));
  const routes = ROUTES.map((each) => ({ value: each, label: each === UNMATCHED ? 'no such address' : each }));
  const fields = [
    textField('key', 'Key: name, owner, id or prefix', key, { isWide: true }),
    html`<div><label for="status">Status</label><select id="status" name="status">${optionList([ANY], status)}<optgroup label="Outcome">${optionList(KINDS, status)}</optgroup><optgroup label="Status">${optionList(statuses, status)}</optgroup></select>${unknownChoice(query.get('status') ?? '', [ANY, ...KINDS, ...statuses])}</div>`,
    choiceField(query, 'route', { label: 'Route', options: [ANY, ...routes] }),
    ...spanFields(query, wrong),
  ];
  return filters('/requests', fields, { isFiltered });
}

/** A table of recent requests. */
export function requestTable(
  label: string,
  requests: readonly RecentRequest[],
  { names, id, current }: { names: ReadonlyMap<string, string>; id: string; current?: string },
): Html {
  const rows = requests.map(
    (request) =>
      html`<tr data-request="${request.requestId}"${request.requestId === current ? html` aria-current="true"` : ''}><th scope="row">${secondOf(request.at)}</th><td>${statusBadge(request)}</td><td>${routeOf(request)}</td><td>${keyLink(request.keyId, names)}</td><td class="number">${request.durationMs.toFixed(1)} ms</td><td>${idLink(request.requestId)}</td></tr>\n`,
  );
  return html`<div class="requests">${table(label, COLUMNS, rows, id)}</div>`;
}

/** The method and route of a request. */
export function routeOf({ method, route }: Pick<RecentRequest, 'method' | 'route'>): Html {
  const name = route === UNMATCHED ? html`<span class="soft">no such address</span>` : html`<code>${route}</code>`;
  return html`<span class="method">${method}</span> ${name}`;
}

/** The status of an answer, coloured by its outcome, with the code of an error. */
export function statusBadge({ status, code }: Pick<RecentRequest, 'status' | 'code'>): Html {
  const outcome = outcomeOf(status);
  const name = OUTCOMES.find((each) => each.outcome === outcome)?.name ?? '';
  return html`<span class="status ${name}">${status}</span>${code === undefined ? '' : html` <span class="code">${code}</span>`}`;
}

/** The limits of pages of recent requests. */
export function ownInstance({ usesRedis }: ConsoleContext): Html {
  const others = usesRedis ? html` Other instances keep their own; the log of each has the same request ids.` : '';
  return html`Kept in the memory of this instance since it started ${duration(process.uptime())} ago: of each key the latest 200 refusals and errors, of one minute the first and the last ten refusals, and the latest 200 other answers.${others}`;
}

function idLink(requestId: string): Html {
  const why = new URLSearchParams({ q: requestId });
  return html`<a href="/console/requests/why?${`${why}`}"><code>${requestId}</code></a>`;
}

/** Which of several keys is meant; `address` makes the link for an id. */
export function whichKey(keys: readonly ApiKey[], address: (id: string) => string): Html {
  const items = keys.map(
    ({ id, name, prefix, owner }) =>
      html`<li><a href="${address(id)}">${foreign(name)}</a> <code>${prefix}…</code>${owner === null ? '' : html` <span class="soft">of ${foreign(owner)}</span>`}</li>\n`,
  );
  const more =
    keys.length === KEYS_LIKE_MAX
      ? html`<p class="soft">These are the newest ${KEYS_LIKE_MAX}; search for more of the name to see others.</p>`
      : '';
  return html`<section aria-labelledby="which-heading"><h2 id="which-heading">Which key?</h2><ul class="which">${items}</ul>${more}</section>`;
}
