import { invalid } from '../../catalog/error.ts';
import { stepStart, USAGE_PERIODS, type UsagePeriod } from '../../catalog/usage.ts';
import { type Html, html } from '../../http/html.ts';
import type { Exchange } from '../../http/transport/exchange.ts';
import { DAY_SECONDS, HOUR_SECONDS, MINUTE_SECONDS } from '../../stdx/duration.ts';
import { utc } from '../../stdx/time.ts';
import { readMoment } from '../api/filters.ts';
import { addressOf, choiceLinks, textField } from './frame/list.ts';

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

/** A range between two moments has the finest steps of which it is at most so many. */
const STEPS_MAX = 100;
/** The parameters of time, and what releases before 0.4.0 wrote into addresses for each. */
const FORMER: Readonly<Record<'since' | 'until', readonly string[]>> = { since: ['from', 'range'], until: ['to'] };

/** The text of a parameter of time; empty without it. */
export function timeText(query: URLSearchParams, name: 'since' | 'until'): string {
  const found = [name, ...FORMER[name]].map((each) => query.get(each)?.trim()).find(Boolean);
  return found ?? '';
}

/** The range that an address asks for, by a usual period (`since=24h`) or by two moments; else the first. */
export function rangeIn(query: URLSearchParams, now: number): Range {
  const usual = RANGES.find(({ name }) => name === timeText(query, 'since') && timeText(query, 'until') === '');
  const span = usual ? undefined : spanIn(query, now);
  return usual ?? (span ? rangeOf(span, now) : RANGES[0]);
}

/** A time, in Unix seconds. */
interface Span {
  readonly since: number;
  readonly until: number;
}

/**
 * The time between `since` and `until`; undefined without both. It ends now without `until`, and lasts a day without
 * `since`. Throws `validation_failed`.
 */
function spanIn(query: URLSearchParams, now: number): Span | undefined {
  const read = (name: 'since' | 'until') => {
    const text = timeText(query, name);
    return text === '' ? undefined : readMoment(text, name, { now, towards: 'past' });
  };
  const [from, to] = [read('since'), read('until')];
  if (from === undefined && to === undefined) return undefined;
  const until = Math.min(to ?? now + 1, now + 1);
  const since = from ?? until - DAY_SECONDS;
  if (since < until) return { since, until };
  throw invalid(
    `since is ${minuteText(since)}, and not before ${to === undefined ? 'now' : `until (${minuteText(to)})`}`,
  );
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

const TIME_PARAMETERS = ['since', 'until', 'from', 'to', 'range'];

/** The links to all ranges of a page, and the form for another; they apply to each of its charts and tables. */
export function rangeLinks(exchange: Exchange, now: number): Html {
  const { path, query } = exchange;
  const options = RANGES.map(({ name }) => ({ value: name, label: name.replace(/\D/, ' $&') }));
  const others = [...query].filter(([name]) => ![...TIME_PARAMETERS, 'done'].includes(name));
  const chosen = rangeIn(query, now).name;
  return html`${choiceLinks(exchange, { name: 'since', label: 'Time range', options, chosen, drops: TIME_PARAMETERS })}
<form class="list-filters span" action="${path}" aria-label="Since and until">${others.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}${spanFields(query)}<div class="row"><button>Show</button></div></form>`;
}

/** The fields of `since` and `until`. */
function spanFields(query: URLSearchParams): Html[] {
  return [['since', 'Since (UTC)'] as const, ['until', 'Until (UTC)'] as const].map(([name, label]) =>
    textField(name, label, timeText(query, name), {
      placeholder: '2026-01-31 18:00',
    }),
  );
}

/** Makes the addresses of the steps of a range: the same page at finer steps, or the requests of a minute. */
export function stepLink({ path, query }: Exchange, { stepSeconds }: Range, key = ''): (at: number) => string {
  const others = [...query].filter(([name]) => ![...TIME_PARAMETERS, 'done'].includes(name));
  return (at) => {
    const time = { since: minuteText(at), until: minuteText(at + stepSeconds) };
    if (stepSeconds === MINUTE_SECONDS) return `/console${addressOf('/requests', { key, ...time })}`;
    return `${addressOf(path, { ...Object.fromEntries(others), ...time })}#since-links`;
  };
}
