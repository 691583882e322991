import type { Limits } from '../../catalog/plan.ts';
import {
  mostOf,
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
import { OPERATIONS } from '../../http/operations.ts';
import { chart, OUTCOMES } from './chart.ts';
import type { ConsoleContext } from './frame/context.ts';
import { cardTable, count, foreign, moment, numeric } from './frame/element.ts';
import { addressOf, choiceLinks, csvLink } from './frame/list.ts';
import { minuteText, type Range, rangeIn, rangeLinks, stepLink } from './range.ts';

/** The routes of deprecated operations, as usage names them. */
const DEPRECATED = new Set(OPERATIONS.flatMap((each) => (each.deprecation ? [`${each.method} /v1${each.path}`] : [])));
const SHOWN_MAX = 20;
const COUNTED = ['Requests', ...OUTCOMES.slice(1).map(({ label }) => label)].map(numeric);
const SORT_LABELS: Readonly<Record<UsageSort, string>> = {
  requests: 'most requests',
  refused: 'most refusals',
  errors: 'most errors',
};

/** The requests with a key, with those of an owner, or with any: a chart by outcome, and tables by group. */
export async function usageOf(
  context: ConsoleContext,
  groups: readonly UsageGroup[],
  { limits, choices, ...selection }: Selection & { readonly limits?: Limits; readonly choices?: Html },
): Promise<Html> {
  const { storage, exchange, now } = context;
  const range = rangeIn(exchange.query, now);
  const { period, since, until, stepSeconds: step, stepWords } = range;
  const points = await storage.usage.sums({ ...selection, group: 'all', period, step, since, until });
  const limit = stepWords === 'minute' ? limits?.minute : stepWords === 'day' ? limits?.day : undefined;
  const link = stepLink(exchange, range, { key: selection.keyId, owner: selection.owner });
  const sorts = USAGE_SORTS.map((sort) => ({ value: sort, label: SORT_LABELS[sort] }));
  const tables: Html[] = [];
  for (const group of groups) tables.push(html`\n${await sumsSection(context, { group, range, ...selection })}`);
  return html`${rangeLinks(exchange, range)}
${chart({ range, points, limit, link })}
${choiceLinks(exchange, { name: 'sort', label: 'Order of the tables', options: sorts })}${choices ?? ''}${tables}`;
}

type Selection = Pick<UsageQuery, 'keyId' | 'owner'>;

/** A section with the keys, owners or routes that have the most requests, refusals or errors in a range. */
async function sumsSection(
  { storage, exchange }: ConsoleContext,
  { group, range, ...selection }: Selection & { readonly group: UsageGroup; readonly range: Range },
): Promise<Html> {
  const { since, until, words } = range;
  // Minutes know no routes.
  const period = group === 'route' && range.period === 'minute' ? 'hour' : range.period;
  const sort = USAGE_SORTS.find((each) => each === exchange.query.get('sort')) ?? 'requests';
  const most = mostOf(await storage.usage.sums({ ...selection, group, period, since, until }), sort);
  const { keyId: key, owner } = selection;
  const all = { key, owner, group, sort, since: minuteText(since), until: minuteText(until) };
  const rows = sumsTable(group, most.slice(0, SHOWN_MAX), { withOwner: group === 'key' && owner === undefined });
  return html`<section id="${group}s" data-live aria-labelledby="${group}s-heading">
<h2 id="${group}s-heading">${group.charAt(0).toUpperCase()}${group.slice(1)}s with ${SORT_LABELS[sort]} <small>in ${words}${period === range.period ? '' : ', whole hours'}</small></h2>
${most.length === 0 ? html`<p class="soft">None in ${words}.</p>` : html`${rows}${csvLink('/usage/export', all, most.length > SHOWN_MAX ? `CSV of all ${count(most.length)}` : 'CSV')}`}
</section>`;
}

/** Keys, owners or routes with their usage; keys of several owners with these. */
function sumsTable(group: UsageGroup, sums: readonly UsageSum[], { withOwner = false } = {}): Html {
  const columns = [
    { key: 'Key', owner: 'Owner', route: 'Route' }[group],
    ...(withOwner ? ['Owner'] : []),
    ...COUNTED,
    'Last request',
  ];
  const rows = sums.map((sum) => [
    {
      key: keyLink(sum.id, sum.name ?? sum.id),
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

function routeName(name: string): Html {
  const [method = '', route = UNMATCHED] = name === UNMATCHED ? [] : name.split(' ');
  return html`${routeOf({ method, route })}${DEPRECATED.has(name) ? html` <span class="badge warning">deprecated</span>` : ''}`;
}

/** The method and route of a request. */
export function routeOf({ method, route }: { readonly method: string; readonly route: string }): Html {
  const name = route === UNMATCHED ? html`<span class="soft">no such address</span>` : html`<code>${route}</code>`;
  return html`<span class="method">${method}</span> ${name}`;
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
export function keyLink(id: string, name = id): Html {
  return html`<a href="/console/keys/${id}">${foreign(name)}</a>`;
}
