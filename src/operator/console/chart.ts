import { type Outcome, sumCounts, type UsagePoint, weightOf } from '../../catalog/usage.ts';
import { type Html, html } from '../../http/html.ts';
import { DAY_SECONDS } from '../../stdx/duration.ts';
import { clock, count, moment, numeric, table, utcDay } from './frame/element.ts';
import { isByDay, minuteText, type Range } from './range.ts';

/** The height of the drawing in its own units; its width is the number of steps. */
const HEIGHT = 100;
/** The horizontal lines above the zero line. */
const LINES = 4;
const MANTISSAS = [1, 2, 2.5, 5, 10] as const;
/** The share of a step that its bar takes. */
const BAR = 0.78;
/** The limit is drawn only if requests reach this share of it; else the bars would be too small to see. */
const LIMIT_SHOWN_FROM = 0.2;

/** The names of outcomes in the console of requests, in the order of charts and tables. */
export const OUTCOMES: readonly { readonly outcome: Outcome; readonly name: string; readonly label: string }[] = [
  { outcome: 'served', name: 'served', label: 'Served' },
  { outcome: 'clientErrors', name: 'client', label: 'Client errors' },
  { outcome: 'refused', name: 'refused', label: 'Refused' },
  { outcome: 'serverErrors', name: 'server', label: 'Server errors' },
];

export interface ChartOptions {
  readonly range: Range;
  readonly points: readonly UsagePoint[];
  /** A bound of each step, drawn as a line. */
  readonly limit?: number | undefined;
  /** The address of a step that begins at a moment. */
  link(at: number): string;
}

/**
 * The requests of each step by their outcome, as a drawing and as a table. The drawing is complete without scripts; a
 * script shows the numbers of the table under the pointer.
 */
export function chart(options: ChartOptions): Html {
  const { range, points, limit } = options;
  const byStep = Map.groupBy(points, ({ at }) => at);
  const steps = range.starts.map((at) => ({ at, ...sumCounts(byStep.get(at) ?? []) }));
  const sums = sumCounts(points);
  const legend = OUTCOMES.map(
    ({ outcome, name, label }) => html`<span class="${name}">${count(sums[outcome])} ${label.toLowerCase()}</span>`,
  );
  if (limit !== undefined) legend.push(html`<span class="limit">limit ${count(limit)}</span>`);
  const none = html`No requests in ${range.words}.`;
  const hasAny = weightOf(sums, 'requests') > 0;
  const columns = [`Start of the ${range.stepWords}`, ...OUTCOMES.map(({ label }) => numeric(label))];
  const rows = hasAny ? rowsOf(options, steps) : [html`<tr><td colspan="${columns.length}">${none}</td></tr>`];
  return html`<section class="chart" aria-labelledby="requests-heading">
<h2 id="requests-heading">Requests <small>in ${range.words}</small></h2>
<p class="legend" id="requests-legend" data-live>${legend}</p>
<p class="none" id="requests-none" data-live>${hasAny ? '' : none}</p>
<div class="plot bars" id="requests" data-live data-chart>${hasAny ? drawing(options, steps) : ''}</div>
<details><summary>Show as a table</summary>
${table('Requests', columns, rows, 'requests-rows')}</details>
<p class="scope">Of all instances, within a minute. Minutes are kept for 2 days, hours for 62, days for two years.</p>
</section>`;
}

/** Newest first, without empty steps. */
function rowsOf({ range, link }: ChartOptions, steps: readonly UsagePoint[]): Html[] {
  const used = steps.filter((step) => weightOf(step, 'requests') > 0).reverse();
  return used.map((step) => {
    const cells = OUTCOMES.map(({ outcome }) => html`<td class="number">${count(step[outcome])}</td>`);
    const time = isByDay(range) ? utcDay(step.at) : moment(step.at);
    return html`<tr data-at="${step.at}"><th scope="row"><a class="plain-link" href="${link(step.at)}">${time}</a></th>${cells}</tr>\n`;
  });
}

function drawing({ range, limit, link }: ChartOptions, steps: readonly UsagePoint[]): Html {
  const max = Math.max(...steps.map((step) => weightOf(step, 'requests')));
  const shownLimit = limit !== undefined && max >= limit * LIMIT_SHOWN_FROM ? limit : undefined;
  const end = scaleEnd(Math.max(max, shownLimit ?? 0));
  const y = (value: number) => round(HEIGHT * (1 - value / end));
  const grid = Array.from({ length: LINES + 1 }, (_, line) => `M0 ${(line * HEIGHT) / LINES}H${steps.length}`);
  const below = steps.map(() => 0);
  const drawn = OUTCOMES.map(({ outcome, name }) => {
    const bars = steps.map((step, index) => {
      const bottom = below[index] ?? 0;
      const top = bottom + step[outcome];
      below[index] = top;
      return top > bottom ? `M${round(index + (1 - BAR) / 2)} ${y(bottom)}V${y(top)}h${BAR}V${y(bottom)}z` : '';
    });
    return html`<path class="${name}" d="${bars.join('')}"/>`;
  });
  // By keyboard the times of the table are links; these would be a hundred stops before it.
  const links = steps.map((step, index) =>
    weightOf(step, 'requests') === 0
      ? ''
      : html`<a href="${link(step.at)}" tabindex="-1" aria-label="${minuteText(step.at)} UTC"><rect class="step" x="${index}" width="1" height="${HEIGHT}"/></a>`,
  );
  const labels = Array.from({ length: LINES + 1 }, (_, index) => {
    const value = (end * (LINES - index)) / LINES;
    return html`<span>${value.toLocaleString('en-US', { maximumSignificantDigits: 6 })}</span>`;
  });
  return html`<p class="unit">requests per ${range.stepWords}</p>
<div class="y" aria-hidden="true">${labels}</div>
<svg viewBox="0 0 ${steps.length} ${HEIGHT}" data-first="${range.since}" data-seconds="${range.stepSeconds}" preserveAspectRatio="none" role="group" aria-label="Requests in ${range.words}, as a chart; the table below has the same numbers"><path class="grid" d="${grid.join('')}"/>${drawn}${shownLimit === undefined ? '' : html`<path class="limit" d="M0 ${y(shownLimit)}H${steps.length}"/>`}${links}</svg>
${times(range)}`;
}

/** The times below the drawing: a reader's own within two days, beyond those of UTC with their day. */
function times(range: Range): Html {
  const { since, until } = range;
  const isShort = !isByDay(range) && until - since <= 2 * DAY_SECONDS;
  const parts = isShort ? 4 : isByDay(range) ? 3 : 2;
  const marks = Array.from({ length: parts + 1 }, (_, mark) => {
    const at = since + (mark / parts) * (until - since);
    const [day = '', minute = ''] = minuteText(at).split(' ');
    return html`<span>${isShort ? clock(at) : day}${isShort || isByDay(range) ? '' : html`<br>${minute}`}</span>`;
  });
  return html`<div class="x" aria-hidden="true">${marks}</div>
<p class="zone">times in ${isShort ? html`<span data-zone>UTC</span>` : 'UTC'}</p>`;
}

/** The upper end of an axis from zero, at least `max` above it, whose quarters are round and whole. */
function scaleEnd(max: number): number {
  const least = max / LINES;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = (MANTISSAS.find((mantissa) => mantissa * power >= least) ?? 10) * power;
  return LINES * Math.max(1, Math.ceil(step));
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
