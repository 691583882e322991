import type { Limits } from '../../catalog/plan.ts';
import {
  mostOf,
  type Outcome,
  sumCounts,
  UNKNOWN_ROUTE,
  UNMATCHED,
  USAGE_SORTS,
  type UsageCounts,
  type UsageGroup,
  type UsagePoint,
  type UsageQuery,
  type UsageSort,
  type UsageSum,
  weightOf,
} from '../../catalog/usage.ts';
import { type Html, html } from '../../http/html.ts';
import { OPERATIONS } from '../../http/operations.ts';
import type { Exchange } from '../../http/transport/exchange.ts';
import { type ChartOptions, chart } from './chart.ts';
import type { ConsoleContext } from './frame/context.ts';
import { cardTable, count, foreign, moment, numeric } from './frame/element.ts';
import { addressOf, choiceLinks } from './frame/list.ts';
import { endOf, firstStep, type Range, rangeIn, rangeLinks, stepLink, stepsOf } from './range.ts';

/** The names of outcomes in the console of requests, in the order of charts and tables. */
export const OUTCOMES: readonly { readonly outcome: Outcome; readonly name: string; readonly label: string }[] = [
  { outcome: 'served', name: 'served', label: 'Served' },
  { outcome: 'clientErrors', name: 'client', label: 'Client errors' },
  { outcome: 'refused', name: 'refused', label: 'Refused' },
  { outcome: 'serverErrors', name: 'server', label: 'Server errors' },
];

/** The routes of deprecated operations, as usage names them. */
const DEPRECATED = new Set(OPERATIONS.flatMap((each) => (each.deprecation ? [`${each.method} /v1${each.path}`] : [])));
const SHOWN_MAX = 100;
const COUNTED = ['Requests', ...OUTCOMES.slice(1).map(({ label }) => label)].map(numeric);
const SORT_LABELS: Readonly<Record<UsageSort, string>> = {
  requests: 'most requests',
  refused: 'most refused',
  errors: 'most errors',
};
const HEADINGS: Readonly<Record<UsageSort, string>> = {
  requests: 'Busiest',
  refused: 'Most refused',
  errors: 'Most failing',
};
const KEPT = 'Of all instances, within a minute. Minutes are kept for 2 days, hours for 62, days for two years.';

/** The requests with a key, with those of an owner, or with any: a chart by outcome, and tables by group. */
export async function usageOf(
  context: ConsoleContext,
  groups: readonly ('key' | 'route')[],
  { limits, ...selection }: { keyId?: string; owner?: string; limits?: Limits },
): Promise<Html> {
  const { storage, exchange, now } = context;
  const range = rangeIn(exchange.query, now);
  const { period, stepSeconds: step, stepWords } = range;
  const points = await storage.usage.sums({
    ...selection,
    group: 'all',
    period,
    step,
    since: firstStep(range, now),
    until: endOf(range),
  });
  const limit = stepWords === 'minute' ? limits?.minute : stepWords === 'day' ? limits?.day : undefined;
  const tables: Html[] = [];
  for (const group of groups) tables.push(html`\n${await sumsSection(context, { group, range, ...selection })}`);
  return html`${rangeLinks(exchange, now)}
${outcomeChart({ range, now, points, limit, scope: KEPT, link: stepLink(exchange, range, selection.keyId ?? selection.owner) })}
${sortLinks(exchange)}${tables}`;
}

interface OutcomeChart extends Pick<ChartOptions, 'range' | 'now' | 'scope' | 'limit' | 'link'> {
  readonly points: readonly UsagePoint[];
}

function outcomeChart({ points, ...options }: OutcomeChart): Html {
  const { range, now } = options;
  const byStep = Map.groupBy(points, ({ at }) => at);
  const steps = stepsOf(range, now).map((at) => sumCounts(byStep.get(at) ?? []));
  const sums = sumCounts(points);
  const series = OUTCOMES.map(({ outcome, name, label }) => {
    const total = `${count(sums[outcome])} ${label.toLowerCase()}`;
    return { name, label, total, values: steps.map((step) => step[outcome]) };
  });
  const unit = `requests per ${range.stepWords}`;
  return chart({ ...options, id: 'requests', title: 'Requests', unit, series });
}

/** The order that an address asks for. */
export function sortIn(query: URLSearchParams): UsageSort {
  return USAGE_SORTS.find((sort) => sort === query.get('sort')) ?? 'requests';
}

/** Links that order every table of usage on a page. */
function sortLinks(exchange: Exchange): Html {
  const options = USAGE_SORTS.map((sort) => ({ value: sort, label: SORT_LABELS[sort] }));
  return choiceLinks(exchange, { name: 'sort', label: 'Order of the tables', options });
}

/** The heading above a table of usage. */
export function heading(group: UsageGroup, sort: UsageSort): string {
  return `${HEADINGS[sort]} ${group}s`;
}

/** A section with the usage of a key or an owner in a range, added up and sorted. */
async function sumsSection(
  { storage, exchange, now }: ConsoleContext,
  { group, range, ...selection }: { group: 'key' | 'route'; range: Range } & Pick<UsageQuery, 'keyId' | 'owner'>,
): Promise<Html> {
  // Minutes know no routes.
  const period = group === 'route' && range.period === 'minute' ? 'hour' : range.period;
  const sort = sortIn(exchange.query);
  const sums = await storage.usage.sums({
    period,
    since: firstStep(range, now),
    until: endOf(range),
    group,
    ...selection,
  });
  const most = mostOf(sums, sort).slice(0, SHOWN_MAX);
  return html`<section id="${group}s" data-live aria-labelledby="${group}s-heading">
<h2 id="${group}s-heading">${heading(group, sort)} <small>in ${range.words}${period === range.period ? '' : ', whole hours'}</small></h2>
${most.length === 0 ? html`<p class="soft">None in ${range.words}.</p>` : sumsTable(group, most, { withOwner: group === 'key' && selection.owner === undefined })}
${group === 'route' ? html`<p class="scope">Requests with a key, of all instances, within a minute.</p>` : ''}
</section>`;
}

/** Keys, owners or routes with their usage; keys of several owners with these. */
export function sumsTable(group: UsageGroup, sums: readonly UsageSum[], { withOwner = false } = {}): Html {
  const columns = [
    { key: 'Key', owner: 'Owner', route: 'Route' }[group],
    ...(withOwner ? ['Owner'] : []),
    ...COUNTED,
    'Last request',
  ];
  const rows = sums.map((sum) => [
    {
      key: keyLink(sum.id, new Map([[sum.id, sum.name ?? sum.id]])),
      owner: ownerLink(sum.id),
      route: routeName(sum.id),
    }[group],
    ...(withOwner ? [ownerLink(sum.owner)] : []),
    ...countsOf(sum),
    moment(sum.last),
  ]);
  return cardTable(`Usage by ${group}`, columns, rows);
}

/** All requests and those of each bad outcome; quiet where there are none. */
function countsOf(sum: UsageCounts): Html[] {
  const counts = [weightOf(sum, 'requests'), ...OUTCOMES.slice(1).map(({ outcome }) => sum[outcome])];
  return counts.map((counted) => (counted === 0 ? html`<span class="soft">0</span>` : html`${count(counted)}`));
}

function routeName(route: string): Html {
  if (route === UNMATCHED || route === UNKNOWN_ROUTE)
    return html`<span class="soft">${route === UNMATCHED ? 'no such address' : 'counted before routes were'}</span>`;
  const [method = '', template = ''] = route.split(' ');
  const ends = DEPRECATED.has(route) ? html` <span class="badge warning">deprecated</span>` : '';
  return html`<span class="method">${method}</span> <code>${template}</code>${ends}`;
}

/** A link to the page of an owner. */
export function ownerLink(owner: string | null): Html {
  if (!owner) return html`<span class="soft">none</span>`;
  return html`<a class="plain-link owner" title="${owner}" href="/console${addressOf('/owner', { owner })}">${foreign(owner)}</a>`;
}

/** The names of the keys that these are of, by id. */
export async function keyNames(
  { storage }: ConsoleContext,
  named: readonly { readonly keyId: string }[],
): Promise<Map<string, string>> {
  const ids = new Set(named.map(({ keyId }) => keyId));
  const keys = await Promise.all([...ids].map((id) => storage.keys.find(id)));
  return new Map(keys.flatMap((key) => (key ? [[key.id, key.name]] : [])));
}

/** A link to the page of a key, with its name. */
export function keyLink(id: string, names: ReadonlyMap<string, string>): Html {
  return html`<a href="/console/keys/${id}">${foreign(names.get(id) ?? id)}</a>`;
}
