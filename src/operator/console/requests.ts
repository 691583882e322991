import type { ApiKey } from '../../catalog/api-key.ts';
import { outcomeOf } from '../../catalog/usage.ts';
import { type Html, html } from '../../http/html.ts';
import type { RecentRequest } from '../../telemetry/recent-requests.ts';
import { listRequests, type RequestJson } from '../api/requests.ts';
import { reasonFor } from '../api/why.ts';
import { OUTCOMES } from './chart.ts';
import type { ConsoleContext } from './frame/context.ts';
import { duration, empty, secondOf } from './frame/element.ts';
import { addressOf } from './frame/list.ts';
import { listPages, rowsTable, secondsOf } from './list-pages.ts';
import { keyLink, keyNames, routeOf } from './usage.ts';

const CELLS = {
  at: ({ at }: RequestJson) => secondOf(secondsOf(at)),
  status: statusBadge,
  route: routeOf,
  durationMs: ({ durationMs }: RequestJson) => html`${durationMs.toFixed(1)}`,
  requestId: ({ requestId }: RequestJson) =>
    html`<a href="/console${addressOf('/requests/why', { q: requestId })}"><code>${requestId}</code></a>`,
};

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
    const names = await keyNames(context, rows);
    const cells = { ...CELLS, keyId: ({ keyId }: RequestJson) => keyLink(keyId, names.get(keyId)) };
    const table = rowsTable(listRequests, { title: 'Requests', cells }, { context, rows });
    return html`<div class="requests" id="rows" data-live>${table}</div>`;
  },
});

function addressFor({ exchange: { query } }: ConsoleContext, isPaused: boolean): string {
  const others = [...query].filter(([name]) => name !== 'cursor');
  return `/console${addressOf('/requests', { ...Object.fromEntries(others), paused: isPaused ? '1' : '' })}`;
}

/** The status of an answer, coloured by its outcome, with the code of an error. */
export function statusBadge({ status, code }: Pick<RecentRequest | RequestJson, 'status' | 'code'>): Html {
  const outcome = outcomeOf(status);
  const name = OUTCOMES.find((each) => each.outcome === outcome)?.name ?? '';
  return html`<span class="status ${name}">${status}</span>${code ? html` <span class="code">${code}</span>` : ''}`;
}

/** The limits of pages of recent requests. */
export function ownInstance({ usesRedis }: ConsoleContext): Html {
  const others = usesRedis ? html` Other instances keep their own; the log of each has the same request ids.` : '';
  return html`Kept in the memory of this instance since it started ${duration(process.uptime())} ago: of each key the latest 200 refusals and errors, of one minute the first and the last ten refusals, and the latest 200 other answers.${others}`;
}

/** The answer to “why”, in one sentence, and what the caller can do. */
export function verdict(request: RecentRequest, key: ApiKey): Html {
  const { sentence, details } = reasonFor(request, key);
  const tone = request.status === 429 ? 'refused' : request.status >= 400 ? 'failed' : 'served';
  return html`<div class="verdict ${tone}" role="status"><p><strong>${sentence}</strong></p>${details.map((each) => html`<p>${each}</p>`)}</div>`;
}
