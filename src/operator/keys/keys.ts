import { type ApiKey, type Grace, KEY_SORTS, KEY_STATES, type KeyFilter, type KeySort } from '../../catalog/api-key.ts';
import type { AuditEntry } from '../../catalog/audit.ts';
import { BAN_SECONDS, type Ban, banAt } from '../../catalog/ban.ts';
import { keyWithId } from '../../catalog/operator/changes.ts';
import { keysCsv } from '../../catalog/operator/csv.ts';
import { PLAN_NAMES } from '../../catalog/plan.ts';
import { refusedUntil } from '../../catalog/window-counts.ts';
import { type Html, html } from '../../http/html.ts';
import type { Answer } from '../../http/transport/exchange.ts';
import { DAY_SECONDS } from '../../stdx/duration.ts';
import { latestChanges, operatorLink } from '../audit.ts';
import { type ConsoleContext, download, may, onGet, type View } from '../frame/context.ts';
import {
  cardTable,
  count,
  counted,
  duration,
  empty,
  foreign,
  long,
  moment,
  numeric,
  pager,
  post,
  secondOf,
  utcDay,
} from '../frame/element.ts';
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
import { trend, trendSteps } from '../usage/chart.ts';
import { ownerLink, usageOf } from '../usage/usage.ts';

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
const BANS_SHOWN_MAX = 20;
/** The share of a limit above which the meter shows a warning. */
const WARNING_SHARE = 0.8;

/** The list of keys, and the page of each. */
export const keyRoutes = [onGet('/keys', listKeys), onGet('/keys/export', exportKeys), onGet('/keys/:id', showKey)];

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
  const content = html`<div class="heading"><h1>Keys</h1>${may(context, 'keys') ? html`<a class="button primary" href="/console/keys/new">New key</a>` : ''}</div>
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
  const create = may(context, 'keys') ? html`<a href="/console/keys/new">Create the first key</a>` : '';
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

async function showKey(context: ConsoleContext): Promise<View> {
  const { storage, now } = context;
  const key = await keyWithId(context, context.id);
  const ban = banAt(key, now);
  const [creation] = await storage.audit.list({ since: 0, limit: 1, target: key.id, action: 'key.create' });
  const lastUsedAt = (await storage.usage.lastUses([key.id])).get(key.id);
  const content = html`<p class="crumb"><a href="/console/keys">Keys</a></p>
<div class="heading"><h1>${foreign(key.name)} <span id="state" data-live>${stateBadge(key, now)}</span></h1>${keyActions(context, key)}</div>
<div id="ban" data-live>${ban ? banPanel(context, key, ban) : ''}</div>
<div id="graces" data-live>${((await storage.keys.graces([key.id], now)).get(key.id) ?? []).map((grace) => gracePanel(context, key, grace))}</div>
${facts(key, lastUsedAt, creation)}
<p><a href="/console/requests?key=${key.id}">Recent requests</a> · <a href="/console/requests/why?q=${key.id}">Why was it refused?</a></p>
${await windows(context, key)}
${lastUsedAt === undefined ? noRequests(context) : html`<div id="traffic">${await usageOf(context, ['route'], { keyId: key.id, limits: key.limits })}</div>`}
${await banHistory(context, key)}
<section aria-labelledby="audit-heading"><h2 id="audit-heading">Changes by operators</h2>
${await latestChanges(context, key.id)}
</section>`;
  return { section: '/keys', title: key.name, content };
}

function noRequests({ url }: ConsoleContext): Html {
  const none = empty(
    'No requests yet.',
    html`The first one appears here within seconds: <code>curl -H 'Authorization: Bearer YOUR_KEY' ${url()}/categories</code>`,
  );
  return html`<div id="traffic" data-live>${none}</div>`;
}

/** A rotated secret that still works. */
function gracePanel(context: ConsoleContext, { id }: ApiKey, { prefix, endsAt }: Grace): Html {
  return html`<div class="panel warning"><div><p><strong>The old secret ends ${moment(endsAt)}</strong>, in ${duration(endsAt - context.now)}</p>
<p>The key was rotated. <code>${prefix}…</code> works until then, and both secrets share one quota.</p></div>
${may(context, 'keys') ? post(context, `/keys/${id}/end-graces`, html`<button>End it now</button>`) : ''}</div>`;
}

/** The ban that is on, with the button that lifts it. */
export function banPanel(context: ConsoleContext, key: ApiKey, ban: Ban): Html {
  const { now } = context;
  return html`<div class="panel danger"><div><p><strong>Banned for another ${duration(ban.endsAt - now)}</strong>, until ${moment(ban.endsAt)}</p>
<p>It was ${ban.reason}. Its level is ${ban.level} of ${BAN_SECONDS.length}: each ban in a row lasts longer than the one before, ${duration(BAN_SECONDS.at(-1) ?? 0)} at most, until a day passes without one.</p></div>
${may(context, 'keys') ? post(context, `/keys/${key.id}/unban`, html`<button class="primary">Lift the ban</button>`) : ''}</div>`;
}

/** The buttons that change a key; none for a revoked one, or a session that may not. */
export function keyActions(context: ConsoleContext, { id, revokedAt }: ApiKey): Html {
  if (revokedAt !== null || !may(context, 'keys')) return html``;
  return html`<div class="row"><a class="button" href="/console/keys/${id}/edit">Change</a><a class="button" href="/console/keys/${id}/rotate">Rotate</a><a class="button danger" href="/console/keys/${id}/revoke">Revoke</a></div>`;
}

function facts(key: ApiKey, lastUsedAt: number | undefined, creation: AuditEntry | undefined): Html {
  return html`<dl class="facts" id="facts" data-live>
<dt>Key</dt><dd><code>${key.prefix}…</code></dd>
<dt>Id</dt><dd><code>${key.id}</code></dd>
<dt>Plan</dt><dd>${key.plan}: ${count(key.limits.minute)} a minute, ${count(key.limits.day)} a day</dd>
<dt>Scopes</dt><dd>${key.scopes.join(', ')}</dd>
<dt>Environment</dt><dd>${key.environment}</dd>
<dt>Owner</dt><dd>${ownerLink(key.owner)}</dd>
<dt>Created</dt><dd>${moment(key.createdAt)}${creation ? html` by ${operatorLink(creation.operator)}` : ''}</dd>
<dt>Last used</dt><dd>${lastUsedAt === undefined ? html`<span class="soft">never</span>` : moment(lastUsedAt)}</dd>
<dt>Expires</dt><dd>${key.expiresAt === null ? 'never' : moment(key.expiresAt)}</dd>
${key.revokedAt === null ? '' : html`<dt>Revoked</dt><dd>${moment(key.revokedAt)}</dd>`}
</dl>`;
}

/** The use of both windows as last saved, at most half a second ago. */
export async function windows({ storage, now }: ConsoleContext, { id, limits }: ApiKey): Promise<Html> {
  const counts = await storage.limits.counts(id);
  const minuteUsed = counts && counts.minuteEnds > now ? counts.minuteUsed : 0;
  const dayUsed = counts && counts.day >= Math.floor(now / DAY_SECONDS) ? counts.dayUsed : 0;
  const window = (
    id: string,
    label: string,
    used: number,
    limit: number,
  ) => html`<div class="tile"><dt id="${id}-label">${label}</dt>
<dd>${count(used)} <span class="soft">of ${count(limit)}</span> <meter aria-labelledby="${id}-label" min="0" max="${limit}" optimum="0" low="${limit * WARNING_SHARE}" high="${limit * 0.999}" value="${Math.min(used, limit)}"></meter></dd></div>`;
  const until = refusedUntil(counts, limits, now);
  return html`<div id="spent" data-live><dl class="tiles">
${window('minute', 'Used this minute', minuteUsed, limits.minute)}
${window('day', 'Used today (UTC)', dayUsed, limits.day)}
</dl>${until === undefined ? '' : html`<p class="soft">Its limit is used up: requests are refused until ${moment(until)}.</p>`}</div>`;
}

/** The latest bans of a key. */
export async function banHistory({ storage, now }: ConsoleContext, key: ApiKey): Promise<Html> {
  const bans = await storage.keys.banHistory(key.id, BANS_SHOWN_MAX);
  const end = ({ endsAt, liftedAt }: (typeof bans)[number]) => {
    if (liftedAt !== null) return html`${secondOf(liftedAt)} <span class="badge">lifted</span>`;
    return endsAt > now ? html`${secondOf(endsAt)} <span class="badge danger">active</span>` : secondOf(endsAt);
  };
  const rows = bans.map((ban) => [secondOf(ban.startedAt), html`${end(ban)}`, html`${ban.level}`, html`${ban.reason}`]);
  const columns = ['Start', 'End', numeric('In a row'), long('Reason')];
  return html`<section id="history" data-live aria-labelledby="history-heading"><h2 id="history-heading">Bans</h2>
${bans.length === 0 ? html`<p class="soft">The key was never banned.</p>` : cardTable('Bans of the key', columns, rows)}</section>`;
}
