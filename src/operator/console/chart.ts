import { type Html, html } from '../../http/html.ts';
import { DAY_SECONDS } from '../../stdx/duration.ts';
import { utc } from '../../stdx/time.ts';
import { clock, count, moment, numeric, table, utcDay } from './frame/element.ts';
import { isByDay, minuteText, type Range, stepsOf } from './range.ts';

/** The height of the drawing in its own units; its width is the number of steps. */
const HEIGHT = 100;
/** The horizontal lines above the zero line. */
const LINES = 4;
const MANTISSAS = [1, 2, 2.5, 5, 10] as const;
/** The share of a step that its bar takes. */
const BAR = 0.78;
/** The limit is drawn only if requests reach this share of it; else the bars would be too small to see. */
const LIMIT_SHOWN_FROM = 0.2;

interface Series {
  readonly name: string;
  readonly label: string;
  /** The legend's text for the whole range. */
  readonly total: string;
  /** One value for each step of the range; undefined where there is none. */
  readonly values: readonly (number | undefined)[];
}

export interface ChartOptions {
  /** Element id, unique on the page; live updates match elements by it. */
  readonly id: string;
  readonly title: string;
  readonly unit: string;
  readonly range: Range;
  readonly now: number;
  readonly series: readonly Series[];
  /** A bound of each step, drawn as a line. */
  readonly limit?: number | undefined;
  /** The address of a step that begins at a moment. */
  readonly link?: ((at: number) => string) | undefined;
  /** Which instances the numbers cover, and how they were made. */
  readonly scope: string;
}

/**
 * Values by step as a drawing and as a table. The drawing is complete without scripts; a script shows the numbers of
 * the table under the pointer.
 */
export function chart(options: ChartOptions): Html {
  const { id, title, range, now, series, limit, scope } = options;
  const steps = stepsOf(range, now);
  const hasValues = series.some(({ values }) => values.some((value) => value !== undefined && value > 0));
  const legend = series.map(({ name, total }) => html`<span class="${name}">${total}</span>`);
  if (limit !== undefined) legend.push(html`<span class="limit">limit ${count(limit)}</span>`);
  return html`<section class="chart" aria-labelledby="${id}-heading">
<h2 id="${id}-heading">${title} <small>in ${range.words}</small></h2>
<p class="legend" id="${id}-legend" data-live>${legend}</p>
<p class="none" id="${id}-none" data-live>${hasValues ? '' : html`No requests in ${range.words}.`}</p>
<div class="plot bars" id="${id}" data-live data-chart>${hasValues ? drawing(options, steps) : ''}</div>
<details><summary>Show as a table</summary>
${table(title, columns(options), rows(options, steps), `${id}-rows`)}</details>
<p class="scope">${scope}</p>
</section>`;
}

function columns({ series, range }: ChartOptions) {
  return [`Start of the ${range.stepWords}`, ...series.map(({ label }) => numeric(label))];
}

/** Newest first, without empty steps. */
function rows({ series, range, link }: ChartOptions, steps: readonly number[]) {
  const found = steps.flatMap((at, index) => {
    const values = series.map(({ values }) => values[index]);
    if (values.every((value) => value === undefined || value === 0)) return [];
    const cells = values.map((value) => html`<td class="number">${value === undefined ? '' : count(value)}</td>`);
    const time = isByDay(range) ? utcDay(at) : moment(at);
    const head = link ? html`<a class="plain-link" href="${link(at)}">${time}</a>` : time;
    return [html`<tr data-at="${at}"><th scope="row">${head}</th>${cells}</tr>\n`];
  });
  if (found.length > 0) return found.reverse();
  return [html`<tr><td colspan="${series.length + 1}">No requests in ${range.words}.</td></tr>`];
}

function drawing(options: ChartOptions, steps: readonly number[]): Html {
  const { title, unit, range, series, limit, link } = options;
  const tops = stacked(series, steps.length);
  const max = Math.max(0, ...tops.flat());
  const shownLimit = limit !== undefined && max >= limit * LIMIT_SHOWN_FROM ? limit : undefined;
  const end = scaleEnd(Math.max(max, shownLimit ?? 0));
  const y = (value: number) => round(HEIGHT * (1 - value / end));
  const grid = Array.from({ length: LINES + 1 }, (_, line) => `M0 ${(line * HEIGHT) / LINES}H${steps.length}`);
  const drawn = series.map(({ name }, index) => {
    const path = bars(tops[index] ?? [], tops[index - 1], y);
    return html`<path class="${name}" d="${path}"/>`;
  });
  const links = steps.map((at, index) => {
    if (!link || series.every(({ values }) => !values[index])) return '';
    // By keyboard the times of the table are links; these would be a hundred stops before it.
    return html`<a href="${link(at)}" tabindex="-1" aria-label="${minuteText(at)} UTC"><rect class="step" x="${index}" width="1" height="${HEIGHT}"/></a>`;
  });
  const span = steps.length * range.stepSeconds;
  const isLong = !isByDay(range) && span > 2 * DAY_SECONDS;
  const parts = isLong ? 2 : isByDay(range) ? 3 : 4;
  const marks = Array.from({ length: parts + 1 }, (_, mark) => {
    const at = (steps[0] ?? 0) + (mark / parts) * span;
    if (isLong) return html`<span>${utc(at).slice(0, 10)}<br>${minuteText(at).slice(-5)}</span>`;
    return html`<span>${isByDay(range) ? utc(at).slice(0, 10) : clock(at)}</span>`;
  });
  const labels = Array.from({ length: LINES + 1 }, (_, index) => {
    const value = (end * (LINES - index)) / LINES;
    return html`<span>${value.toLocaleString('en-US', { maximumSignificantDigits: 6 })}</span>`;
  });
  return html`<p class="unit">${unit}</p>
<div class="y" aria-hidden="true">${labels}</div>
<svg viewBox="0 0 ${steps.length} ${HEIGHT}" data-first="${steps[0] ?? 0}" data-seconds="${range.stepSeconds}" preserveAspectRatio="none" role="${link ? 'group' : 'img'}" aria-label="${title} in ${range.words}, as a chart; the table below has the same numbers"><path class="grid" d="${grid.join('')}"/>${drawn}${shownLimit === undefined ? '' : html`<path class="limit" d="M0 ${y(shownLimit)}H${steps.length}"/>`}${links}</svg>
<div class="x" aria-hidden="true">${marks}</div>
<p class="zone">${isByDay(range) ? 'days in UTC' : isLong ? 'times in UTC' : html`times in <span data-zone>UTC</span>`}</p>`;
}

/** The upper end of an axis from zero, at least `max` above it, whose quarters are round and whole. */
function scaleEnd(max: number): number {
  const least = max / LINES;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = (MANTISSAS.find((mantissa) => mantissa * power >= least) ?? 10) * power;
  return LINES * Math.max(1, Math.ceil(step));
}

/** The height of each series on top of those before it. */
function stacked(series: readonly Series[], steps: number): number[][] {
  let below = new Array<number>(steps).fill(0);
  return series.map(({ values }) => {
    below = below.map((height, index) => height + (values[index] ?? 0));
    return below;
  });
}

function bars(tops: readonly number[], below: readonly number[] | undefined, y: (value: number) => number): string {
  return tops
    .map((top, index) => {
      const bottom = below?.[index] ?? 0;
      return top > bottom ? `M${round(index + (1 - BAR) / 2)} ${y(bottom)}V${y(top)}h${BAR}V${y(bottom)}z` : '';
    })
    .join('');
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
