import { sumCounts, type UsageCounts, type UsagePoint, weightOf } from '../../catalog/usage.ts';
import { type Html, html } from '../../http/html.ts';
import { DAY_SECONDS } from '../../stdx/duration.ts';
import { utc } from '../../stdx/time.ts';
import { clock, count, moment, numeric, table, utcDay } from '../frame/element.ts';
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
  /** `bars` are stacked on each other, in the order of the series; `lines` are not. */
  readonly kind: 'bars' | 'lines';
  readonly unit: string;
  readonly range: Range;
  readonly now: number;
  readonly series: readonly Series[];
  readonly write?: (value: number) => string;
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
  const { id, title, kind, range, now, series, limit, scope, write = count } = options;
  const steps = stepsOf(range, now);
  const hasValues = series.some(({ values }) => values.some((value) => value !== undefined && value > 0));
  const legend = series.map(({ name, total }) => html`<span class="${name}">${total}</span>`);
  if (limit !== undefined) legend.push(html`<span class="limit">limit ${count(limit)}</span>`);
  return html`<section class="chart" aria-labelledby="${id}-heading">
<h2 id="${id}-heading">${title} <small>in ${range.words}</small></h2>
<p class="legend" id="${id}-legend" data-live>${legend}</p>
<p class="none" id="${id}-none" data-live>${hasValues ? '' : html`No requests in ${range.words}.`}</p>
<div class="plot ${kind}" id="${id}" data-live data-chart>${hasValues ? drawing(options, steps) : ''}</div>
<details><summary>Show as a table</summary>
${table(title, columns(options), rows(options, { steps, write }), `${id}-rows`)}</details>
<p class="scope">${scope}</p>
</section>`;
}

function columns({ series, unit, range, kind }: ChartOptions) {
  const start = `Start of the ${range.stepWords}`;
  const suffix = kind === 'lines' ? `, ${unit}` : '';
  return [start, ...series.map(({ label }) => numeric(`${label}${suffix}`))];
}

/** Newest first, without empty steps. */
function rows(
  { series, range, link }: ChartOptions,
  { steps, write }: { steps: number[]; write: (value: number) => string },
) {
  const found = steps.flatMap((at, index) => {
    const values = series.map(({ values }) => values[index]);
    if (values.every((value) => value === undefined || value === 0)) return [];
    const cells = values.map((value) => html`<td class="number">${value === undefined ? '' : write(value)}</td>`);
    const time = isByDay(range) ? utcDay(at) : moment(at);
    const head = link ? html`<a class="plain-link" href="${link(at)}">${time}</a>` : time;
    return [html`<tr data-at="${at}"><th scope="row">${head}</th>${cells}</tr>\n`];
  });
  if (found.length > 0) return found.reverse();
  return [html`<tr><td colspan="${series.length + 1}">No requests in ${range.words}.</td></tr>`];
}

function drawing(options: ChartOptions, steps: readonly number[]): Html {
  const { title, kind, unit, range, series, limit, link } = options;
  const tops = kind === 'bars' ? stacked(series, steps.length) : series.map(({ values }) => values);
  const max = Math.max(0, ...tops.flat().map((value) => value ?? 0));
  const shownLimit = limit !== undefined && max >= limit * LIMIT_SHOWN_FROM ? limit : undefined;
  const end = scaleEnd(Math.max(max, shownLimit ?? 0), { isWhole: kind === 'bars' });
  const y = (value: number) => round(HEIGHT * (1 - value / end));
  const grid = Array.from({ length: LINES + 1 }, (_, line) => `M0 ${(line * HEIGHT) / LINES}H${steps.length}`);
  const drawn = series.map(({ name }, index) => {
    const path = kind === 'bars' ? bars(tops[index] ?? [], tops[index - 1], y) : line(tops[index] ?? [], y);
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
<svg viewBox="0 0 ${steps.length} ${HEIGHT}" data-first="${steps[0] ?? 0}" data-seconds="${range.stepSeconds}"${kind === 'lines' ? html` data-unit="${unit}"` : ''} preserveAspectRatio="none" role="${link ? 'group' : 'img'}" aria-label="${title} in ${range.words}, as a chart; the table below has the same numbers"><path class="grid" d="${grid.join('')}"/>${drawn}${shownLimit === undefined ? '' : html`<path class="limit" d="M0 ${y(shownLimit)}H${steps.length}"/>`}${links}</svg>
<div class="x" aria-hidden="true">${marks}</div>
<p class="zone">${isByDay(range) ? 'days in UTC' : isLong ? 'times in UTC' : html`times in <span data-zone>UTC</span>`}</p>`;
}

/** The upper end of an axis from zero, at least `max` above it, whose quarters are round, and whole for counts. */
function scaleEnd(max: number, { isWhole }: { isWhole: boolean }): number {
  const least = max / LINES;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = (MANTISSAS.find((mantissa) => mantissa * power >= least) ?? 10) * power;
  return LINES * (isWhole ? Math.max(1, Math.ceil(step)) : step);
}

/** The height of each series on top of those before it. */
function stacked(series: readonly Series[], steps: number): number[][] {
  let below = new Array<number>(steps).fill(0);
  return series.map(({ values }) => {
    below = below.map((height, index) => height + (values[index] ?? 0));
    return below;
  });
}

function bars(
  tops: readonly (number | undefined)[],
  below: readonly (number | undefined)[] | undefined,
  y: (value: number) => number,
): string {
  return tops
    .map((top = 0, index) => {
      const bottom = below?.[index] ?? 0;
      return top > bottom ? `M${round(index + (1 - BAR) / 2)} ${y(bottom)}V${y(top)}h${BAR}V${y(bottom)}z` : '';
    })
    .join('');
}

/** A line through the middles of the steps, broken where there is no value; one alone is as wide as its step. */
function line(values: readonly (number | undefined)[], y: (value: number) => number): string {
  return values
    .map((value, index) => {
      if (value === undefined) return '';
      const goesOn = values[index - 1] !== undefined;
      const isAlone = !goesOn && values[index + 1] === undefined;
      if (isAlone) return `M${index} ${y(value)}h1`;
      return `${goesOn ? 'L' : 'M'}${index + 0.5} ${y(value)}`;
    })
    .join('');
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

/** The bars of a trend: the last hour, by five minutes. */
const TREND_STEP_SECONDS = 300;
const TREND_STEPS = 12;
const BAR_WIDTH = 6;
const BAR_DISTANCE = 8;
const TREND_WIDTH = TREND_STEPS * BAR_DISTANCE - (BAR_DISTANCE - BAR_WIDTH);
const TREND_HEIGHT = 22;

/** The steps of a trend that ends now. */
export function trendSteps(now: number) {
  return { since: now - (now % TREND_STEP_SECONDS) - (TREND_STEPS - 1) * TREND_STEP_SECONDS, step: TREND_STEP_SECONDS };
}

/** The last hour of a key: how many requests, and bars by their outcome, drawn to the key's own scale. */
export function trend(points: readonly UsagePoint[], since: number): Html {
  const sum = sumCounts(points);
  const all = weightOf(sum, 'requests');
  if (all === 0) return html`<span class="soft">none</span>`;
  const scale = TREND_HEIGHT / Math.max(...points.map((point) => weightOf(point, 'requests')));
  const layers = [
    { name: 'served', path: '', of: (point: UsagePoint) => point.served },
    { name: 'failed', path: '', of: (point: UsagePoint) => point.clientErrors + point.serverErrors },
    { name: 'refused', path: '', of: (point: UsagePoint) => point.refused },
  ];
  for (const point of points) {
    const x = Math.floor((point.at - since) / TREND_STEP_SECONDS) * BAR_DISTANCE;
    let y = TREND_HEIGHT;
    for (const layer of layers) {
      // What there is can be seen, however little.
      const height = layer.of(point) === 0 ? 0 : Math.max(1, Math.round(layer.of(point) * scale));
      if (height > 0) layer.path += `M${x} ${y}h${BAR_WIDTH}v${-height}h${-BAR_WIDTH}z`;
      y -= height;
    }
  }
  const paths = layers.map(({ name, path }) => (path ? html`<path class="${name}" d="${path}"/>` : ''));
  return html`<span class="trend"><svg role="img" viewBox="0 -2 ${TREND_WIDTH} ${TREND_HEIGHT + 2}" width="${TREND_WIDTH}" height="${TREND_HEIGHT + 2}"><title>${outcomes(sum)}</title>${paths}</svg> ${count(all)}</span>`;
}

/** The counts of a trend in words, without those that are zero. */
function outcomes({ served, clientErrors, serverErrors, refused }: UsageCounts): string {
  const parts = [
    [served, 'served'],
    [clientErrors, 'client errors (4xx)'],
    [serverErrors, 'server errors (5xx)'],
    [refused, 'refused (429)'],
  ] as const;
  const words = parts.filter(([number]) => number > 0).map(([number, name]) => `${count(number)} ${name}`);
  return `The last hour, by five minutes: ${words.join(', ')}`;
}
