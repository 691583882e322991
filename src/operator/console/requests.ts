import type { ApiKey } from '../../catalog/api-key.ts';
import { outcomeOf } from '../../catalog/usage.ts';
import { type Html, html } from '../../http/html.ts';
import type { RecentRequest } from '../../telemetry/recent-requests.ts';
import { listRequests } from '../api/requests.ts';
import { reasonFor } from '../api/why.ts';
import { OUTCOMES } from './chart.ts';
import type { ConsoleContext } from './frame/context.ts';
import { duration, empty, numeric, secondOf, table } from './frame/element.ts';
import { addressOf } from './frame/list.ts';
import { listPages, secondsOf } from './list-pages.ts';
import { keyLink, keyNames, routeOf } from './usage.ts';

const COLUMNS = ['Time', 'Status', 'Route', 'Key', numeric('Duration'), 'Request id'];

/** The recent requests of this instance; the page follows the traffic. */
export const requestRoutes = listPages(listRequests, {
  path: '/requests',
  title: 'Requests',
  head: () => html`<a class="button" href="/console/requests/why">Why was it refused?</a>`,
  lead(context) {
    const isPaused = context.exchange.query.get('paused') === '1';
    return html`<p class="lead">The latest requests with a key, newest first. <span id="following" role="status">${isPaused ? 'Paused.' : html`<a href="${addressFor(context, false)}">Reload</a> to see newer ones.`}</span></p>
<p><a class="button primary" href="${addressFor(context, !isPaused)}" data-pause="${isPaused ? 'paused' : 'following'}">${isPaused ? 'Follow' : 'Pause'}</a></p>
<p class="scope">${ownInstance(context)}</p>`;
  },
  none: () => empty('No requests yet.', html`Each request with a key appears here.`),
  async table(rows, context) {
    const requests = rows.map((row) => ({ ...row, at: secondsOf(row.at), code: row.code ?? undefined }));
    return requestTable('Requests', requests, { names: await keyNames(context, requests), id: 'requests-rows' });
  },
});

function addressFor({ exchange: { query } }: ConsoleContext, isPaused: boolean): string {
  const others = [...query].filter(([name]) => name !== 'cursor');
  return `/console${addressOf('/requests', { ...Object.fromEntries(others), paused: isPaused ? '1' : '' })}`;
}

/** A table of recent requests. */
function requestTable(
  label: string,
  requests: readonly RecentRequest[],
  { names, id }: { names: ReadonlyMap<string, string>; id: string },
): Html {
  const rows = requests.map(
    (request) =>
      html`<tr data-request="${request.requestId}"><th scope="row">${secondOf(request.at)}</th><td>${statusBadge(request)}</td><td>${routeOf(request)}</td><td>${keyLink(request.keyId, names.get(request.keyId))}</td><td class="number">${request.durationMs.toFixed(1)} ms</td><td>${idLink(request.requestId)}</td></tr>\n`,
  );
  return html`<div class="requests">${table(label, COLUMNS, rows, id)}</div>`;
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

/** The answer to “why”, in one sentence, and what the caller can do. */
export function verdict(request: RecentRequest, key: ApiKey): Html {
  const { sentence, details } = reasonFor(request, key);
  const tone = request.status === 429 ? 'refused' : request.status >= 400 ? 'failed' : 'served';
  return html`<div class="verdict ${tone}" role="status"><p><strong>${sentence}</strong></p>${details.map((each) => html`<p>${each}</p>`)}</div>`;
}
