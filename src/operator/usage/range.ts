import { CatalogError, invalid } from '../../catalog/error.ts';
import { stepStart, USAGE_PERIODS, type UsagePeriod } from '../../catalog/usage.ts';
import { type Html, html } from '../../http/html.ts';
import type { Exchange } from '../../http/transport/exchange.ts';
import { DAY_SECONDS, HOUR_SECONDS, MINUTE_SECONDS } from '../../stdx/duration.ts';
import { utc } from '../../stdx/time.ts';
import { addressOf, choiceLinks, formMoment, textField } from '../frame/list.ts';

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
  /** The beginning of its first step; a range without it ends now. */
  readonly since?: number;
}

/** By the length of their steps. */
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
  {
    name: '7d',
    words: 'the last 7 days',
    period: 'hour',
    stepSeconds: 3 * HOUR_SECONDS,
    steps: 56,
    stepWords: '3 hours',
  },
  { name: '30d', words: 'the last 30 days', period: 'day', stepSeconds: DAY_SECONDS, steps: 30, stepWords: 'day' },
  { name: '1y', words: 'the last year', period: 'day', stepSeconds: 7 * DAY_SECONDS, steps: 53, stepWords: 'week' },
];

/** A range from `from` to `to` has the finest steps of which it is at most so many. */
const STEPS_MAX = 100;

/** The range that an address asks for, by `from` and `to` or by `range=24h`; else the first. */
export function rangeIn(query: URLSearchParams, now: number): Range {
  const { span } = readSpan(query, now);
  if (span) return rangeOf(span, now);
  return RANGES.find(({ name }) => name === query.get('range')) ?? RANGES[0];
}

/** A time, in Unix seconds. */
interface Span {
  readonly since: number;
  readonly until: number;
}

/**
 * The time between `from` and `to`, as forms write moments; undefined without both. It ends now without `to`, and lasts
 * a day without `from`. Throws `validation_failed`.
 */
export function spanIn(query: URLSearchParams, now: number): Span | undefined {
  const read = (name: string) => {
    const text = query.get(name)?.trim();
    return text ? formMoment(text, name) : undefined;
  };
  const [from, to] = [read('from'), read('to')];
  if (from === undefined && to === undefined) return undefined;
  const until = Math.min(to ?? now + 1, now + 1);
  const since = from ?? until - DAY_SECONDS;
  if (since < until) return { since, until };
  throw invalid(`from is ${minuteText(since)}, and not before ${to === undefined ? 'now' : `to (${minuteText(to)})`}`);
}

/** Reads a span, or what is wrong with it. */
export function readSpan(
  query: URLSearchParams,
  now: number,
): { readonly span?: Span | undefined; readonly wrong?: string } {
  try {
    return { span: spanIn(query, now) };
  } catch (error) {
    if (error instanceof CatalogError) return { wrong: error.message };
    throw error;
  }
}

/** The range of a time, widened to whole steps, as far as usage is kept. */
function rangeOf({ since: wanted, until }: Span, now: number): Range {
  const since = Math.max(wanted, now - USAGE_PERIODS.day.keptSeconds);
  const made = RANGES.map((range) => {
    const { stepSeconds } = range;
    const first = stepStart(since, stepSeconds);
    const steps = Math.max(1, Math.ceil((until - first) / stepSeconds));
    const words = `the time from ${minuteText(first)} to ${minuteText(first + steps * stepSeconds)} UTC`;
    return { ...range, name: `${first} ${steps} ${stepSeconds}`, words, steps, since: first };
  });
  const isKept = ({ period }: Range) => now - since <= USAGE_PERIODS[period].keptSeconds;
  const found = made.find((range) => isKept(range) && range.steps <= STEPS_MAX) ?? made.at(-1);
  return found ?? RANGES[0];
}

/** The beginning of the first step of a range. */
export function firstStep({ since, stepSeconds, steps }: Range, now: number): number {
  return since ?? stepStart(now, stepSeconds) - (steps - 1) * stepSeconds;
}

/** The end of a range in Unix seconds; undefined for one that ends now. */
export function endOf({ since, stepSeconds, steps }: Range): number | undefined {
  return since === undefined ? undefined : since + steps * stepSeconds;
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

/** A moment in UTC to the minute, as forms write it. */
export function minuteText(unixSeconds: number): string {
  return utc(unixSeconds).slice(0, 16).replace('T', ' ');
}

/** The links to all ranges of a page, and the form for another; they apply to each of its charts and tables. */
export function rangeLinks(exchange: Exchange, now: number): Html {
  const { path, query } = exchange;
  const options = RANGES.map(({ name }) => ({ value: name, label: name.replace(/\D/, ' $&') }));
  const others = [...query].filter(([name]) => !['from', 'to', 'range', 'done'].includes(name));
  const { wrong } = readSpan(query, now);
  return html`${choiceLinks(exchange, { name: 'range', label: 'Time range', options, drops: ['from', 'to'] })}
<form class="list-filters span" action="${path}" aria-label="From and to">${others.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}${spanFields(query, wrong)}<div class="row"><button>Show</button></div></form>`;
}

/** The fields of `from` and `to`, with what is wrong. */
export function spanFields(query: URLSearchParams, wrong: string | undefined): Html[] {
  return [['from', 'From (UTC)'] as const, ['to', 'To (UTC)'] as const].map(([name, label]) =>
    textField(name, label, query.get(name) ?? '', {
      placeholder: '2026-01-31 18:00',
      wrong: wrong?.startsWith(`${name} `) ? wrong : undefined,
    }),
  );
}

/** Makes the addresses of the steps of a range: the same page at finer steps, or the requests of a minute. */
export function stepLink({ path, query }: Exchange, { stepSeconds }: Range, key = ''): (at: number) => string {
  return (at) => {
    const time = { from: minuteText(at), to: minuteText(at + stepSeconds) };
    if (stepSeconds === MINUTE_SECONDS) return `/console${addressOf('/requests', { key, ...time })}`;
    return `${addressOf(path, { ...Object.fromEntries(query), range: '', done: '', ...time })}#range-links`;
  };
}
