import {
  durationWithin,
  type Outcome,
  type RoutePoint,
  sumCounts,
  sumDurations,
  type UsageCounts,
} from '../../catalog/usage.ts';
import { type Html, html } from '../../http/html.ts';
import type { ConsoleContext } from '../frame/context.ts';
import { count } from '../frame/element.ts';
import { type ChartOptions, chart } from './chart.ts';
import { firstStep, type Range, stepsOf } from './range.ts';

/** The names of outcomes in the console of requests, in the order of charts and tables. */
export const OUTCOMES: readonly { readonly outcome: Outcome; readonly name: string; readonly label: string }[] = [
  { outcome: 'served', name: 'served', label: 'Served' },
  { outcome: 'clientErrors', name: 'client', label: 'Client errors' },
  { outcome: 'refused', name: 'refused', label: 'Refused' },
  { outcome: 'serverErrors', name: 'server', label: 'Server errors' },
];

const KEPT = 'Of all instances, within a minute. Minutes are kept for 2 days, hours for 62, days for two years.';

/** The requests with one key, or with those of an owner, by outcome. */
export async function usageChart(
  { storage, now }: ConsoleContext,
  {
    range,
    limits,
    ...selection
  }: { range: Range; keyId?: string; owner?: string; limits?: { minute: number; day: number } },
): Promise<Html> {
  const { period, stepSeconds: step } = range;
  const points = await storage.usage.sums({ ...selection, group: 'all', period, step, since: firstStep(range, now) });
  const limit = range.stepWords === 'minute' ? limits?.minute : range.stepWords === 'day' ? limits?.day : undefined;
  return outcomeChart({ id: 'requests', title: 'Requests', range, now, points, limit, scope: KEPT });
}

/** The answers of the API: requests by outcome, and how long they took. */
export function apiCharts(points: readonly RoutePoint[], range: Range, now: number): Html {
  const scope = `All requests to the API, with and without a key. ${KEPT}`;
  return html`${outcomeChart({ id: 'requests', title: 'Requests', range, now, points, scope })}
${durationChart(range, now, points)}`;
}

type OutcomeChart = Pick<ChartOptions, 'id' | 'title' | 'range' | 'now' | 'scope' | 'limit'> & {
  readonly points: readonly (UsageCounts & { readonly at: number })[];
};

function outcomeChart({ points, ...options }: OutcomeChart): Html {
  const { range, now } = options;
  const sums = sumCounts(points);
  const series = OUTCOMES.map(({ outcome, name, label }) => {
    const byStep = new Map<number, number>();
    for (const point of points) byStep.set(point.at, (byStep.get(point.at) ?? 0) + point[outcome]);
    const total = `${count(sums[outcome])} ${label.toLowerCase()}`;
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
    write: writeMilliseconds,
    scope: 'From the head of a request to its response, estimated from 14 classes. Of all instances and all outcomes.',
  });
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
