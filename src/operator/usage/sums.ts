import {
  durationWithin,
  mostOf,
  type RoutePoint,
  sumCounts,
  sumDurations,
  UNKNOWN_ROUTE,
  UNMATCHED,
  USAGE_SORTS,
  type UsageCounts,
  type UsageGroup,
  type UsageQuery,
  type UsageSort,
  type UsageSum,
  weightOf,
} from '../../catalog/usage.ts';
import { type Html, html } from '../../http/html.ts';
import { firstStep, type Range } from '../charts/range.ts';
import { milliseconds, OUTCOMES } from '../charts/usage.ts';
import type { ConsoleContext } from '../frame/context.ts';
import { cardTable, count, foreign, moment, numeric } from '../frame/element.ts';
import { addressOf, choiceLinks } from '../frame/list.ts';

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

/** The order that an address asks for. */
export function sortIn(query: URLSearchParams): UsageSort {
  return USAGE_SORTS.find((sort) => sort === query.get('sort')) ?? 'requests';
}

/** Links that order every table of usage on a page. */
export function sortLinks(path: string, query: URLSearchParams): Html {
  const options = USAGE_SORTS.map((sort) => ({ value: sort, label: SORT_LABELS[sort] }));
  return choiceLinks({ path, query, name: 'sort', label: 'Order of the tables', options, chosen: sortIn(query) });
}

/** The heading above a table of usage. */
export function heading(group: UsageGroup, sort: UsageSort): string {
  return `${HEADINGS[sort]} ${group}s`;
}

/** A section with the usage of a key or an owner in a range, added up and sorted. */
export async function sumsSection(
  { storage, exchange, now }: ConsoleContext,
  { group, range, ...selection }: { group: 'key' | 'route'; range: Range } & Pick<UsageQuery, 'keyId' | 'owner'>,
): Promise<Html> {
  // Minutes know no routes.
  const period = group === 'route' && range.period === 'minute' ? 'hour' : range.period;
  const sort = sortIn(exchange.query);
  const sums = await storage.usage.sums({ period, since: firstStep(range, now), group, ...selection });
  const most = mostOf(sums, sort).slice(0, SHOWN_MAX);
  return html`<section id="${group}s" data-live aria-labelledby="${group}s-heading">
<h2 id="${group}s-heading">${heading(group, sort)} <small>in ${range.words}${period === range.period ? '' : ', whole hours'}</small></h2>
${most.length === 0 ? html`<p class="soft">None in ${range.words}.</p>` : sumsTable(group, most)}
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

/** The usage of each route in a range, with and without a key, and how long it took. */
export function routesSection(points: readonly RoutePoint[], range: Range, sort: UsageSort): Html {
  const routes = [...Map.groupBy(points, ({ route }) => route)].map(([id, all]) => {
    const durations = sumDurations(all.map((point) => point.durations));
    return { id, durations, ...sumCounts(all) };
  });
  const columns = ['Route', ...COUNTED, numeric('p50'), numeric('p99')];
  const rows = mostOf(routes, sort).map((sum) => [
    routeName(sum.id),
    ...countsOf(sum),
    ...[0.5, 0.99].map((share) => html`${milliseconds(durationWithin(sum.durations, share))}`),
  ]);
  return html`<section id="routes" data-live aria-labelledby="routes-heading">
<h2 id="routes-heading">${heading('route', sort)} <small>in ${range.words}</small></h2>
${rows.length === 0 ? html`<p class="soft">None in ${range.words}.</p>` : cardTable('Usage by route', columns, rows)}
<p class="scope">Of all instances, with and without a key.</p>
</section>`;
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
  return html`<span class="method">${method}</span> <code>${template}</code>`;
}

/** A link to the page of an owner. */
export function ownerLink(owner: string | null): Html {
  if (!owner) return html`<span class="soft">none</span>`;
  return html`<a class="plain-link owner" href="/console${addressOf('/owner', { owner })}">${foreign(owner)}</a>`;
}

/** The names of keys, by id. */
export async function keyNames(
  { storage }: Pick<ConsoleContext, 'storage'>,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const keys = await Promise.all([...new Set(ids)].map((id) => storage.keys.find(id)));
  return new Map(keys.flatMap((key) => (key ? [[key.id, key.name]] : [])));
}

/** A link to the page of a key, with its name. */
export function keyLink(id: string, names: ReadonlyMap<string, string>): Html {
  return html`<a href="/console/keys/${id}">${foreign(names.get(id) ?? id)}</a>`;
}
