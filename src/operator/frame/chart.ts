import { ALL_KEYS, USAGE_PERIODS, type UsagePeriod, type UsagePoint } from '../../catalog/usage.ts';
import { type Html, html } from '../../http/docs/html.ts';
import type { ConsoleContext } from './context.ts';
import { moment, numberCell, table, utcDay } from './element.ts';

const COLUMNS = [
  { name: 'Start' },
  { name: 'Served', isNumber: true },
  { name: 'Refused', isNumber: true },
  { name: 'Client errors', isNumber: true },
  { name: 'Server errors', isNumber: true },
];

export interface ChartOptions {
  /** Element id, unique on the page; live updates match elements by it. */
  readonly id: string;
  readonly title: string;
  readonly period: UsagePeriod;
  /** Number of periods, including the current one. */
  readonly periods: number;
  /** A key's id, or all keys. */
  readonly keyId?: string;
  /** Requests allowed per period, drawn as a line. */
  readonly limit?: number;
}

/**
 * Usage by period: a table, and a placeholder in which a script draws the chart. The table omits periods without
 * requests; the chart's range is in its data attributes.
 */
export async function usageChart({ storage, now }: ConsoleContext, options: ChartOptions): Promise<Html> {
  const { id, title, period, periods, keyId = ALL_KEYS, limit } = options;
  const step = USAGE_PERIODS[period].seconds;
  const last = now - (now % step);
  const first = last - (periods - 1) * step;
  const points = await storage.usage.series({ keyId, period, since: first });
  const sum = points.reduce((total, point) => total + point.served + point.refused + failures(point), 0);
  const rows = points
    .toReversed()
    .map(
      (point) =>
        html`<tr data-at="${point.at}"><th scope="row">${period === 'day' ? utcDay(point.at) : moment(point.at)}</th>${[
          point.served,
          point.refused,
          point.clientErrors,
          point.serverErrors,
        ].map(numberCell)}</tr>\n`,
    );
  const limitAttribute = limit === undefined ? '' : html` data-limit="${limit}"`;
  return html`<section class="chart" aria-labelledby="${id}-heading">
<h2 id="${id}-heading">${title}</h2>
<div id="${id}" data-live data-chart data-first="${first}" data-last="${last}" data-step="${step}"${limitAttribute} data-rows="${id}-rows" data-title="${title}"></div>
<details><summary>Show as a table</summary>
${table(title, COLUMNS, rows.length > 0 ? rows : [NO_ROW], `${id}-rows`)}</details>
<p id="${id}-none" data-live class="soft">${sum === 0 ? 'No requests in this time.' : ''}</p>
</section>`;
}

const NO_ROW = html`<tr><td colspan="5">No requests in this time.</td></tr>`;

function failures({ clientErrors, serverErrors }: UsagePoint): number {
  return clientErrors + serverErrors;
}
