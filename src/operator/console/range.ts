import { invalid } from '../../catalog/error.ts';
import { stepStart, USAGE_PERIODS, type UsagePeriod } from '../../catalog/usage.ts';
import { type Html, html } from '../../http/html.ts';
import type { Exchange } from '../../http/transport/exchange.ts';
import { DAY_SECONDS, HOUR_SECONDS, MINUTE_SECONDS } from '../../stdx/duration.ts';
import { utc } from '../../stdx/time.ts';
import { readMoment } from '../api/filters.ts';
import { addressOf, choiceLinks, type ListQuery, searchText, textField } from './frame/list.ts';

/** A time range of the console, in steps that a chart draws and a table lists. */
export interface Range extends Steps {
  /** The usual period of this name, as in the address; empty for another range. */
  readonly name: string;
  readonly words: string;
  /** Unix seconds: the beginning of its first step and the end of its last. */
  readonly since: number;
  readonly until: number;
  /** The beginnings of its steps. */
  readonly starts: readonly number[];
}

interface Steps {
  /** The period of the usage that they are read from. */
  readonly period: UsagePeriod;
  readonly stepSeconds: number;
  readonly stepWords: string;
}

/** The usual periods, by the length of their steps. */
const USUAL: readonly (Steps & { readonly name: string; readonly words: string; readonly steps: number })[] = [
  { name: '1h', words: 'hour', period: 'minute', stepSeconds: MINUTE_SECONDS, steps: 60, stepWords: 'minute' },
  {
    name: '6h',
    words: '6 hours',
    period: 'minute',
    stepSeconds: 5 * MINUTE_SECONDS,
    steps: 72,
    stepWords: '5 minutes',
  },
  { name: '24h', words: '24 hours', period: 'hour', stepSeconds: HOUR_SECONDS, steps: 24, stepWords: 'hour' },
  { name: '7d', words: '7 days', period: 'hour', stepSeconds: 3 * HOUR_SECONDS, steps: 56, stepWords: '3 hours' },
  { name: '30d', words: '30 days', period: 'day', stepSeconds: DAY_SECONDS, steps: 30, stepWords: 'day' },
  { name: '1y', words: 'year', period: 'day', stepSeconds: 7 * DAY_SECONDS, steps: 53, stepWords: 'week' },
];

/** A range between two moments has the finest steps of which it is at most so many. */
const STEPS_MAX = 100;

/**
 * The range that an address asks for: a usual period (`since=24h`), which the first is without any, or the time between
 * two moments. That ends now without `until`, and lasts a day without `since`. Throws `validation_failed`.
 */
export function rangeIn(query: URLSearchParams, now: number): Range {
  const [from, to] = [searchText(query, 'since'), searchText(query, 'until')];
  const usual = to === '' && USUAL.find(({ name }, index) => name === from || (from === '' && index === 0));
  if (usual) {
    const { stepSeconds, steps, name, words } = usual;
    const since = stepStart(now, stepSeconds) - (steps - 1) * stepSeconds;
    return { ...stepped(usual, since, steps), name, words: `the last ${words}` };
  }
  const until = Math.min(to === '' ? now + 1 : readMoment(to, 'until', { now, towards: 'past' }), now + 1);
  const since = from === '' ? until - DAY_SECONDS : readMoment(from, 'since', { now, towards: 'past' });
  if (since < until) return rangeBetween(Math.max(since, now - USAGE_PERIODS.day.keptSeconds), until, now);
  const end = to === '' ? 'now' : `until (${minuteText(until)})`;
  throw invalid(`since is ${minuteText(since)}, and not before ${end}`);
}

/** The range of a time that is kept, widened to whole steps: the finest of which it has at most `STEPS_MAX`. */
function rangeBetween(since: number, until: number, now: number): Range {
  const ranges = USUAL.map((steps) => {
    const first = stepStart(since, steps.stepSeconds);
    return stepped(steps, first, Math.max(1, Math.ceil((until - first) / steps.stepSeconds)));
  });
  const isKept = ({ period, since: from }: (typeof ranges)[number]) => now - from <= USAGE_PERIODS[period].keptSeconds;
  const found = ranges.find((range) => isKept(range) && range.starts.length <= STEPS_MAX);
  const range = found ?? (ranges.at(-1) as (typeof ranges)[number]);
  return { ...range, name: '', words: `the time from ${minuteText(range.since)} to ${minuteText(range.until)} UTC` };
}

function stepped({ period, stepSeconds, stepWords }: Steps, since: number, steps: number) {
  const starts = Array.from({ length: steps }, (_, index) => since + index * stepSeconds);
  return { period, stepSeconds, stepWords, since, until: since + steps * stepSeconds, starts };
}

/** True if its steps are days or longer; those are UTC days, as quotas count them. */
export function isByDay({ stepSeconds }: Range): boolean {
  return stepSeconds >= DAY_SECONDS;
}

/** A moment in UTC to the minute, as forms write it. */
export function minuteText(unixSeconds: number): string {
  return utc(unixSeconds).slice(0, 16).replace('T', ' ');
}

const TIME_PARAMETERS = ['since', 'until'];

/** The links to the usual periods of a page, and the form for another range; they apply to each chart and table. */
export function rangeLinks(exchange: Exchange, { name: chosen }: Range): Html {
  const { path, query } = exchange;
  const options = USUAL.map(({ name }) => ({ value: name, label: name.replace(/\D/, ' $&') }));
  const hidden = othersIn(query).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`);
  const fields = (['since', 'until'] as const).map((name) =>
    textField(name, `${name === 'since' ? 'Since' : 'Until'} (UTC)`, searchText(query, name), {
      placeholder: '2026-01-31 18:00',
    }),
  );
  return html`${choiceLinks(exchange, { name: 'since', label: 'Time range', options, chosen, drops: TIME_PARAMETERS })}
<form class="list-filters span" action="${path}" aria-label="Since and until">${hidden}${fields}<div class="row"><button>Show</button></div></form>`;
}

/** The parameters of a page beside its time. */
function othersIn(query: URLSearchParams): [string, string][] {
  return [...query].filter(([name]) => ![...TIME_PARAMETERS, 'done'].includes(name));
}

/** Makes the addresses of the steps of a range: the same page at finer steps, or the requests of a minute. */
export function stepLink({ path, query }: Exchange, { stepSeconds }: Range, of: ListQuery): (at: number) => string {
  const others = othersIn(query);
  return (at) => {
    const time = { since: minuteText(at), until: minuteText(at + stepSeconds) };
    if (stepSeconds === MINUTE_SECONDS) return `/console${addressOf('/requests', { ...of, ...time })}`;
    return `${addressOf(path, { ...Object.fromEntries(others), ...time })}#since-links`;
  };
}
