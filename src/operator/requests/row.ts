import { outcomeOf } from '../../catalog/usage.ts';
import { type Html, html } from '../../http/html.ts';
import { utc } from '../../stdx/time.ts';
import type { RecentRequest } from '../../telemetry/recent-requests.ts';
import { OUTCOMES } from '../charts/usage.ts';
import type { ConsoleContext } from '../frame/context.ts';
import { duration, numeric, table } from '../frame/element.ts';
import { keyLink } from '../usage/sums.ts';

const COLUMNS = ['Time', 'Status', 'Route', 'Key', numeric('Duration'), 'Request id'];

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
  const name = route === 'unmatched' ? html`<span class="soft">no such address</span>` : html`<code>${route}</code>`;
  return html`<span class="method">${method}</span> ${name}`;
}

/** A point in time to the second, as `moment` shows one to the minute. */
export function secondOf(unixSeconds: number): Html {
  const iso = utc(unixSeconds);
  const text = `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
  return html`<time datetime="${iso}" title="${text}" data-seconds>${text}</time>`;
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
