import { type ApiKey, KEY_SORTS, KEY_STATES, type KeyFilter, type KeySort } from '../../catalog/api-key.ts';
import { banAt } from '../../catalog/ban.ts';
import { keysCsv } from '../../catalog/operator/csv.ts';
import { PLAN_NAMES } from '../../catalog/plan.ts';
import { sumCounts, type UsageCounts, type UsagePoint, weightOf } from '../../catalog/usage.ts';
import { type Html, html } from '../../http/html.ts';
import type { Answer } from '../../http/transport/exchange.ts';
import { DAY_SECONDS } from '../../stdx/duration.ts';
import { type ConsoleContext, download, onGet, type View } from '../frame/context.ts';
import { cardTable, count, counted, empty, foreign, moment, onlyFor, pager, utcDay } from '../frame/element.ts';
import {
  ANY,
  addressOf,
  choiceField,
  csvLink,
  filters,
  type ListQuery,
  numberIn,
  searchText,
  textField,
  wholeText,
} from '../frame/list.ts';
import { ownerLink } from '../usage/usage.ts';

const KEYS_PER_PAGE = 50;
const STATES = [ANY, ...KEY_STATES.map((state) => ({ value: state, label: state }))];
const PLANS = [ANY, ...PLAN_NAMES.map((plan) => ({ value: plan, label: plan }))];
const EXPIRIES = [
  { value: '', label: 'any', days: undefined },
  { value: '7d', label: 'next 7 days', days: 7 },
  { value: '30d', label: 'next 30 days', days: 30 },
  { value: '90d', label: 'next 90 days', days: 90 },
] as const;
const SORT_LABELS: Readonly<Record<KeySort, string>> = {
  newest: 'newest first',
  oldest: 'oldest first',
  name: 'name',
  'last-used': 'last used',
  expiry: 'next expiry',
};
const SORTS = KEY_SORTS.map((sort) => ({ value: sort, label: SORT_LABELS[sort] }));

export const keyListRoutes = [onGet('/keys', listKeys), onGet('/keys/export', exportKeys)];

/** The selection that a request makes from the list of keys. */
interface WantedKeys {
  readonly query: ListQuery;
  readonly filter: KeyFilter;
  readonly sort: KeySort;
}

function wantedKeys({ exchange: { query }, now }: ConsoleContext): WantedKeys {
  const chosen = <T extends string>(name: string, values: readonly T[]) =>
    values.find((value) => value === query.get(name));
  const text = searchText(query, 'q');
  const owner = wholeText(query, 'owner') || undefined;
  const [state, plan] = [chosen('state', KEY_STATES), chosen('plan', PLAN_NAMES)];
  const expiry = EXPIRIES.find(({ value }) => value === query.get('expires'));
  const sort = chosen('sort', KEY_SORTS) ?? 'newest';
  const ends = expiry?.days && { expiresAfter: now, expiresBefore: now + expiry.days * DAY_SECONDS };
  return {
    query: { q: text, owner, state, plan, expires: expiry?.value, sort: sort === 'newest' ? '' : sort },
    filter: { text, owner, state, plan, ...ends },
    sort,
  };
}

async function listKeys(context: ConsoleContext): Promise<View> {
  const { storage, exchange, now } = context;
  const wanted = wantedKeys(context);
  const number = numberIn(exchange.query, 'page', 1);
  const offset = (number - 1) * KEYS_PER_PAGE;
  const { keys, count: found } = await storage.keys.search({
    ...wanted.filter,
    now,
    sort: wanted.sort,
    offset,
    limit: KEYS_PER_PAGE,
  });
  const { sort: _, ...filter } = wanted.query;
  const isFiltered = Object.values(filter).some(Boolean);
  const at = (to: number) => addressOf('/keys', { ...wanted.query, page: to > 1 ? `${to}` : '' });
  const end = offset + keys.length;
  const listed = html`<div class="heading"><p class="soft">${count(offset + 1)} to ${count(end)} of ${counted(found, 'key')}</p>${csvLink('/keys/export', filter)}</div>
${cardTable('Keys', columnsFor(wanted), await keyRows(context, keys))}
${pager(number > 1 ? at(number - 1) : undefined, end < found ? at(number + 1) : undefined)}`;
  const content = html`<div class="heading"><h1>Keys</h1>${onlyFor(context, 'keys', html`<a class="button primary" href="/console/keys/new">New key</a>`)}</div>
${found > 0 || isFiltered ? filterForm(context, wanted, isFiltered) : ''}
${keys.length === 0 ? noKeys(context, { isFiltered, found }) : listed}`;
  return { section: '/keys', title: 'Keys', content };
}

function filterForm({ exchange }: ConsoleContext, { query }: WantedKeys, isFiltered: boolean): Html {
  const asked = exchange.query;
  const fields = [
    textField('q', 'Name, owner, id or prefix', query.q, { isWide: true }),
    choiceField(asked, 'state', { label: 'State', options: STATES }),
    choiceField(asked, 'plan', { label: 'Plan', options: PLANS }),
    choiceField(asked, 'expires', { label: 'Expires', options: EXPIRIES }),
    choiceField(asked, 'sort', { label: 'Order', options: SORTS, usual: 'newest' }),
    ...(query.owner ? [textField('owner', 'Owner', query.owner)] : []),
  ];
  return filters('/keys', fields, { isFiltered });
}

/** Column headings; those of sortable columns link to that order. */
function columnsFor({ query, sort }: WantedKeys) {
  const by = (name: KeySort, order: 'ascending' | 'descending', other?: KeySort) => ({
    href: addressOf('/keys', { ...query, sort: sort === name && other ? other : name }),
    order: sort === name ? order : undefined,
  });
  const created = sort === 'oldest' ? by('oldest', 'ascending', 'newest') : by('newest', 'descending', 'oldest');
  return [
    { name: 'Key', sort: by('name', 'ascending') },
    'State',
    'Plan',
    'Owner',
    'Requests, last hour',
    { name: 'Last used', sort: by('last-used', 'descending') },
    { name: 'Created', sort: created },
  ];
}

async function keyRows({ storage, now }: ConsoleContext, keys: readonly ApiKey[]): Promise<Html[][]> {
  const keyIds = keys.map(({ id }) => id);
  const lastUses = await storage.usage.lastUses(keyIds);
  const steps = trendSteps(now);
  const used = await storage.usage.sums({ ...steps, keyIds, group: 'key', period: 'minute' });
  const trends = Map.groupBy(used, ({ id }) => id);
  return keys.map((key) => {
    const lastUsedAt = lastUses.get(key.id);
    return [
      html`<a href="/console/keys/${key.id}">${foreign(key.name)}</a><code class="under">${key.prefix}…</code>`,
      html`${stateBadge(key, now)}${ending(key, now)}`,
      html`${key.plan}`,
      ownerLink(key.owner),
      trend(trends.get(key.id) ?? [], steps.since),
      lastUsedAt === undefined ? html`<span class="soft">never</span>` : moment(lastUsedAt),
      moment(key.createdAt),
    ];
  });
}

function ending({ expiresAt, revokedAt }: ApiKey, now: number): Html {
  if (expiresAt === null || expiresAt <= now || revokedAt !== null) return html``;
  return html`<span class="under soft">until ${utcDay(expiresAt)}</span>`;
}

function noKeys(context: ConsoleContext, { isFiltered, found }: { isFiltered: boolean; found: number }): Html {
  if (found > 0) return empty('There is no such page.', html`<a href="/console/keys">Show the first page</a>`);
  if (isFiltered) {
    return empty('No key found.', html`No key fits all filters. <a href="/console/keys">Show all keys</a>`);
  }
  return noKeyYet(context);
}

/** The advice where no key is yet. */
export function noKeyYet(context: ConsoleContext): Html {
  const create = onlyFor(context, 'keys', html`<a href="/console/keys/new">Create the first key</a>`);
  return empty('There is no key yet.', html`Every request to the API needs one. ${create}`);
}

async function exportKeys(context: ConsoleContext): Promise<Answer> {
  return download('keys.csv', await keysCsv(context, wantedKeys(context).filter));
}

/** The state of a key: revoked, expired, banned or active. */
export function stateBadge(key: ApiKey, now: number): Html {
  if (key.revokedAt !== null) return html`<span class="badge">revoked</span>`;
  if (key.expiresAt !== null && key.expiresAt <= now) return html`<span class="badge">expired</span>`;
  if (banAt(key, now)) return html`<span class="badge danger">banned</span>`;
  return html`<span class="badge good">active</span>`;
}

/** The bars of a trend: the last hour, by five minutes. */
const STEP_SECONDS = 300;
const STEPS = 12;
const BAR_WIDTH = 6;
const BAR_DISTANCE = 8;
const WIDTH = STEPS * BAR_DISTANCE - (BAR_DISTANCE - BAR_WIDTH);
const HEIGHT = 22;

/** The steps of a trend that ends now. */
function trendSteps(now: number) {
  return { since: now - (now % STEP_SECONDS) - (STEPS - 1) * STEP_SECONDS, step: STEP_SECONDS };
}

/** The last hour of a key: how many requests, and bars by their outcome, drawn to the key's own scale. */
function trend(points: readonly UsagePoint[], since: number): Html {
  const sum = sumCounts(points);
  const all = weightOf(sum, 'requests');
  if (all === 0) return html`<span class="soft">none</span>`;
  const scale = HEIGHT / Math.max(...points.map((point) => weightOf(point, 'requests')));
  const layers = [
    { name: 'served', path: '', of: (point: UsagePoint) => point.served },
    { name: 'failed', path: '', of: (point: UsagePoint) => point.clientErrors + point.serverErrors },
    { name: 'refused', path: '', of: (point: UsagePoint) => point.refused },
  ];
  for (const point of points) {
    const x = Math.floor((point.at - since) / STEP_SECONDS) * BAR_DISTANCE;
    let y = HEIGHT;
    for (const layer of layers) {
      // What there is can be seen, however little.
      const height = layer.of(point) === 0 ? 0 : Math.max(1, Math.round(layer.of(point) * scale));
      if (height > 0) layer.path += `M${x} ${y}h${BAR_WIDTH}v${-height}h${-BAR_WIDTH}z`;
      y -= height;
    }
  }
  const paths = layers.map(({ name, path }) => (path ? html`<path class="${name}" d="${path}"/>` : ''));
  return html`<span class="trend"><svg role="img" viewBox="0 -2 ${WIDTH} ${HEIGHT + 2}" width="${WIDTH}" height="${HEIGHT + 2}"><title>${outcomes(sum)}</title>${paths}</svg> ${count(all)}</span>`;
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
