import { durationWithin, type Outcome, type RoutePoint, sumDurations, type UsageCounts } from '../../catalog/usage.ts';
import { type Html, html } from '../../http/docs/html.ts';
import type { ConsoleContext } from '../frame/context.ts';
import { count, numberCell, table } from '../frame/element.ts';
import { type ChartOptions, chart } from './chart.ts';
import { firstStep, type Range, stepsOf } from './range.ts';

/** What the console calls the outcomes of requests, in the order of charts and tables. */
export const OUTCOMES: readonly { readonly outcome: Outcome; readonly name: string; readonly label: string }[] = [
  { outcome: 'served', name: 'served', label: 'Served' },
  { outcome: 'clientErrors', name: 'client', label: 'Client errors' },
  { outcome: 'refused', name: 'refused', label: 'Refused' },
  { outcome: 'serverErrors', name: 'server', label: 'Server errors' },
];

const KEPT = 'Of all instances, within five seconds. Minutes are kept for 2 days, hours for 62, days for two years.';

/** The requests with one key by outcome. */
export async function keyChart(
  { storage, now }: ConsoleContext,
  { keyId, range, limits }: { keyId: string; range: Range; limits: { minute: number; day: number } },
): Promise<Html> {
  const { period, stepSeconds: step } = range;
  const points = await storage.usage.series({ keyId, period, step, since: firstStep(range, now) });
  const limit = range.stepWords === 'minute' ? limits.minute : range.stepWords === 'day' ? limits.day : undefined;
  return outcomeChart({ id: 'requests', title: 'Requests', range, now, points, limit, scope: KEPT });
}

/** What the API answered: requests by outcome, how long they took, and the same of each route. */
export async function apiCharts({ storage, now }: ConsoleContext, range: Range): Promise<Html> {
  const { period, stepSeconds: step } = range;
  const points = await storage.usage.routes({ period, step, since: firstStep(range, now) });
  const scope = `All requests to the API, with and without a key. ${KEPT}`;
  return html`${outcomeChart({ id: 'requests', title: 'Requests', range, now, points, scope })}
${durationChart(range, now, points)}
${routeTable(range, points)}`;
}

type OutcomeChart = Pick<ChartOptions, 'id' | 'title' | 'range' | 'now' | 'scope' | 'limit'> & {
  readonly points: readonly (UsageCounts & { readonly at: number })[];
};

function outcomeChart({ points, ...options }: OutcomeChart): Html {
  const { range, now } = options;
  const series = OUTCOMES.map(({ outcome, name, label }) => {
    const byStep = new Map<number, number>();
    for (const point of points) byStep.set(point.at, (byStep.get(point.at) ?? 0) + point[outcome]);
    const total = `${count(sumOf(points, outcome))} ${label.toLowerCase()}`;
    return { name, label, total, values: stepsOf(range, now).map((at) => byStep.get(at) ?? 0) };
  });
  return chart({ ...options, kind: 'bars', unit: `requests per ${range.stepWords}`, series });
}

function durationChart(range: Range, now: number, points: readonly RoutePoint[]): Html {
  const byStep = Map.groupBy(points, ({ at }) => at);
  const inAll = sumDurations(points.map(({ durations }) => durations));
  const series = [
    { name: 'p50', label: 'p50', share: 0.5, meaning: 'half of all within' },
    { name: 'p99', label: 'p99', share: 0.99, meaning: '99 of 100 within' },
  ].map(({ name, label, share, meaning }) => {
    const values = stepsOf(range, now).map((at) => {
      const durations = sumDurations((byStep.get(at) ?? []).map((point) => point.durations));
      return inMilliseconds(durationWithin(durations, share));
    });
    const inRange = durationWithin(inAll, share);
    const total = inRange === undefined ? `${label}: –` : `${label}: ${meaning} ${milliseconds(inRange)}`;
    return { name, label, total, values };
  });
  return chart({
    id: 'durations',
    title: 'Duration',
    kind: 'lines',
    unit: 'ms',
    range,
    now,
    series,
    write: (ms) => writeMilliseconds(ms),
    scope: 'From the head of a request to its response, estimated from 14 classes. Of all instances and all outcomes.',
  });
}

function routeTable(range: Range, points: readonly RoutePoint[]): Html {
  const routes = [...Map.groupBy(points, ({ route }) => route)]
    .map(([route, all]) => ({
      route,
      counts: OUTCOMES.map(({ outcome }) => sumOf(all, outcome)),
      durations: sumDurations(all.map(({ durations }) => durations)),
    }))
    .map((each) => ({ ...each, sum: each.counts.reduce((sum, counted) => sum + counted, 0) }))
    .sort((one, other) => other.sum - one.sum || (one.route < other.route ? -1 : 1));
  const most = routes[0]?.sum ?? 0;
  const rows = routes.map(
    ({ route, sum, counts, durations }) =>
      html`<tr><th scope="row">${routeName(route)}<svg class="share" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true"><rect width="${Math.max(0.5, (100 * sum) / most)}" height="1"/></svg></th>${numberCell(sum)}${counts.slice(1).map(errorCell)}${[0.5, 0.99].map((share) => html`<td class="number">${milliseconds(durationWithin(durations, share))}</td>`)}</tr>\n`,
  );
  const names = ['Requests', ...OUTCOMES.slice(1).map(({ label }) => label), 'p50', 'p99'];
  const columns = [{ name: 'Route' }, ...names.map((name) => ({ name, isNumber: true }))];
  return html`<section id="routes" class="routes" data-live aria-labelledby="routes-heading">
<h2 id="routes-heading">Routes <small>in ${range.words}</small></h2>
${rows.length === 0 ? html`<p class="soft">No requests in ${range.words}.</p>` : table('Usage by route', columns, rows)}
<p class="scope">Of all instances, most requests first; with and without a key.</p>
</section>`;
}

/** A table cell with a number of errors, quiet if there are none. */
export function errorCell(number: number): Html {
  return number === 0 ? html`<td class="number soft">0</td>` : numberCell(number);
}

function routeName(route: string): Html {
  if (route === 'unmatched') return html`<span class="soft">no such address</span>`;
  const [method = '', template = ''] = route.split(' ');
  return html`<span class="method">${method}</span> <code>${template}</code>`;
}

/** A duration of some seconds or fractions of one, in milliseconds; a dash without one. */
export function milliseconds(seconds: number | undefined): string {
  const ms = inMilliseconds(seconds);
  return ms === undefined ? '–' : `${writeMilliseconds(ms)} ms`;
}

/** Two digits that count: more would be made up, since durations are counted by class. */
function inMilliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Number((seconds * 1_000).toPrecision(2));
}

function writeMilliseconds(ms: number): string {
  return ms.toLocaleString('en-US', { maximumSignificantDigits: 3 });
}

function sumOf(points: readonly UsageCounts[], outcome: Outcome): number {
  return points.reduce((sum, point) => sum + point[outcome], 0);
}
