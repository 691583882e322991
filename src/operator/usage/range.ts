import { stepStart, type UsagePeriod } from '../../catalog/usage.ts';
import type { Html } from '../../http/html.ts';
import { DAY_SECONDS, HOUR_SECONDS, MINUTE_SECONDS } from '../../stdx/duration.ts';
import { choiceLinks } from '../frame/list.ts';

/** A time range of the console, in steps that a chart draws and a table lists. */
export interface Range {
  /** As in the address. */
  readonly name: string;
  readonly words: string;
  /** The period of the usage that it is read from. */
  readonly period: UsagePeriod;
  readonly stepSeconds: number;
  readonly steps: number;
  readonly stepWords: string;
}

const RANGES: readonly [Range, ...Range[]] = [
  { name: '1h', words: 'the last hour', period: 'minute', stepSeconds: MINUTE_SECONDS, steps: 60, stepWords: 'minute' },
  {
    name: '6h',
    words: 'the last 6 hours',
    period: 'minute',
    stepSeconds: 5 * MINUTE_SECONDS,
    steps: 72,
    stepWords: '5 minutes',
  },
  { name: '24h', words: 'the last 24 hours', period: 'hour', stepSeconds: HOUR_SECONDS, steps: 24, stepWords: 'hour' },
  { name: '30d', words: 'the last 30 days', period: 'day', stepSeconds: DAY_SECONDS, steps: 30, stepWords: 'day' },
  { name: '1y', words: 'the last year', period: 'day', stepSeconds: 7 * DAY_SECONDS, steps: 53, stepWords: 'week' },
];

/** The range that an address asks for: `range=24h`; the shortest if it asks for none that there is. */
export function rangeIn(query: URLSearchParams): Range {
  return RANGES.find(({ name }) => name === query.get('range')) ?? RANGES[0];
}

/** The beginning of the first step of a range that ends now. */
export function firstStep({ stepSeconds, steps }: Range, now: number): number {
  return stepStart(now, stepSeconds) - (steps - 1) * stepSeconds;
}

/** The beginnings of all its steps. */
export function stepsOf(range: Range, now: number): number[] {
  const first = firstStep(range, now);
  return Array.from({ length: range.steps }, (_, index) => first + index * range.stepSeconds);
}

/** True if its steps are days or longer; those are UTC days, as quotas count them. */
export function isByDay({ stepSeconds }: Range): boolean {
  return stepSeconds >= DAY_SECONDS;
}

/** The links to all ranges of a page of the console, which apply to each of its charts and tables. */
export function rangeLinks(path: string, query: URLSearchParams): Html {
  const options = RANGES.map(({ name }) => ({ value: name, label: name.replace(/\D/, ' $&') }));
  return choiceLinks({ path, query, name: 'range', label: 'Time range', options, chosen: rangeIn(query).name });
}
