import type { ApiKey, Grace } from '../../catalog/api-key.ts';
import { BAN_SECONDS, type Ban, banAt } from '../../catalog/ban.ts';
import { type KeyJson, keyJson } from '../../catalog/operator/json.ts';
import { NEAR_LIMIT_PERCENT, refusedUntil } from '../../catalog/window-counts.ts';
import { type Html, html } from '../../http/html.ts';
import { DAY_SECONDS } from '../../stdx/duration.ts';
import { findKey, listKeys, stateText } from '../api/keys.ts';
import { latestFailure } from '../api/why.ts';
import { latestChanges } from './audit.ts';
import { type ConsoleContext, may, onGet, type View } from './frame/context.ts';
import { cardTable, count, duration, empty, foreign, long, moment, numeric, secondOf } from './frame/element.ts';
import { addressOf } from './frame/list.ts';
import { banLift, graceEnd, pause as pausing, reset, resume } from './key-forms.ts';
import { isoMoment, listPages, stateCell } from './list-pages.ts';
import { verdict } from './requests.ts';
import { keyLink, ownerLink, usageOf } from './usage.ts';

const BANS_SHOWN_MAX = 20;

/** A table of the keys of one owner. */
export const KEYS_TABLE = {
  path: '/keys',
  title: 'Keys',
  columns: ['name', 'state', 'plan', 'usedToday', 'lastUsedAt'],
  cells: {
    name: ({ id, name, prefix }: KeyJson) =>
      html`<a href="/console/keys/${id}">${foreign(name)}</a><code class="under">${prefix}…</code>`,
    state: (key: KeyJson, { now }: ConsoleContext) => stateCell(stateText(key, now)),
    owner: ({ owner }: KeyJson) => ownerLink(owner),
    usedToday: ({ usedToday, limits }: KeyJson) => html`${Math.floor((100 * usedToday) / limits.day)} %`,
  },
};

/** The list of keys, and the page of one. */
export const keyRoutes = [
  ...listPages(listKeys, {
    ...KEYS_TABLE,
    columns: [
      'name',
      'state',
      'plan',
      'owner',
      'usedToday',
      'lastUsedAt',
      { label: 'Created', cell: ({ createdAt }: KeyJson) => isoMoment(createdAt) },
    ],
    head: (context) =>
      may(context, 'keys') ? html`<a class="button primary" href="/console/keys/new">New key</a>` : html``,
    none: noKeyYet,
  }),
  onGet('/keys/:id', showKey),
];

/** The advice where no key is yet. */
export function noKeyYet(context: ConsoleContext): Html {
  const create = may(context, 'keys') ? html`<a href="/console/keys/new">Create the first key</a>` : '';
  return empty('There is no key yet.', html`Every request to the API needs one. ${create}`);
}

/** The state of a key: revoked, expired, paused, banned or active. */
export function stateBadge(key: ApiKey, now: number): Html {
  const [state = ''] = stateText(keyJson(key, { now }), now).split(' ');
  return stateCell(state);
}

async function showKey(context: ConsoleContext): Promise<View> {
  const { storage, now } = context;
  const key = await findKey(context.caller, context.id);
  const ban = banAt(key, now);
  const lastUsedAt = (await storage.usage.lastUses([key.id])).get(key.id);
  const content = html`<p class="crumb"><a href="/console/keys">Keys</a></p>
<div class="heading"><h1>${foreign(key.name)} <span id="state" data-live>${stateBadge(key, now)}</span></h1>${keyActions(context, key)}</div>
<div id="ban" data-live>${ban ? banPanel(context, key.id, ban) : ''}</div>
<div id="graces" data-live>${((await storage.keys.graces([key.id], now)).get(key.id) ?? []).map((grace) => gracePanel(context, key, grace))}</div>
${facts(key, lastUsedAt)}
${refusals(context, key)}
${await windows(context, key)}
${await usageOf(context, ['route'], { keyId: key.id, limits: key.limits })}
${await banHistory(context, key)}
<section aria-labelledby="audit-heading"><h2 id="audit-heading">Changes by operators</h2>
${await latestChanges(context, { target: key.id })}
<p><a href="/console${addressOf('/audit', { key: key.id })}">What this key changed</a>, <a href="/console${addressOf('/orders', { key: key.id })}">its orders</a></p></section>`;
  return { section: '/keys', title: key.name, content };
}

/** Why the key is refused, or was the last time. */
function refusals({ service }: ConsoleContext, key: ApiKey): Html {
  const latest = latestFailure(service.recent, key.id);
  const last = latest
    ? html`<p class="soft">The latest ${latest.status === 429 ? 'refusal' : 'error'}, <a href="/console${addressOf('/requests/why', { q: latest.requestId })}">one request</a> of ${secondOf(latest.at)}:</p>${verdict(latest, key)}`
    : html`<p class="soft" role="status">This instance keeps no refused or failed request of this key.</p>`;
  return html`<div id="why" data-live>${last}<p><a href="/console/requests?key=${key.id}">Recent requests of the key</a></p></div>`;
}

/** A rotated secret that still works. */
function gracePanel(context: ConsoleContext, { id }: ApiKey, { prefix, endsAt }: Grace): Html {
  return html`<div class="panel warning"><div><p><strong>The old secret ends ${moment(endsAt)}</strong>, in ${duration(endsAt - context.now)}</p>
<p>The key was rotated. <code>${prefix}…</code> works until then, and both secrets share one quota.</p></div>
${may(context, 'keys') ? graceEnd.button(context, { id }) : ''}</div>`;
}

/** The ban that is on, with the button that lifts it; with the name of the key where that is not above it. */
export function banPanel(context: ConsoleContext, id: string, ban: Ban, name?: string): Html {
  const { now } = context;
  const of = name === undefined ? '' : html`${keyLink(id, name)}: `;
  const about = `Lift the ban of ${name ?? id}`;
  return html`<div class="panel danger"><div><p>${of}<strong>Banned for another ${duration(ban.endsAt - now)}</strong>, until ${moment(ban.endsAt)}</p>
<p>It was ${ban.reason}. Its level is ${ban.level} of ${BAN_SECONDS.length}: each ban in a row lasts longer than the one before, ${duration(BAN_SECONDS.at(-1) ?? 0)} at most, until a day passes without one.</p></div>
${may(context, 'keys') ? banLift.button(context, { id, about }) : ''}</div>`;
}

/** The buttons that change a key; none for a revoked one, or a session that may not. */
export function keyActions(context: ConsoleContext, { id, revokedAt, pausedAt }: ApiKey): Html {
  if (revokedAt !== null || !may(context, 'keys')) return html``;
  const pause = html`<a class="button" href="/console${(pausedAt === null ? pausing : resume).pathOf(id)}">${pausedAt === null ? 'Pause' : 'Resume'}</a>`;
  return html`<div class="row"><a class="button" href="/console/keys/${id}/edit">Change</a><a class="button" href="/console/keys/${id}/rotate">Rotate</a>${pause}<a class="button" href="/console${reset.pathOf(id)}">Reset</a><a class="button danger" href="/console/keys/${id}/revoke">Revoke</a></div>`;
}

function facts(key: ApiKey, lastUsedAt: number | undefined): Html {
  return html`<dl class="facts" id="facts" data-live>
<dt>Key</dt><dd><code>${key.prefix}…</code></dd>
<dt>Id</dt><dd><code>${key.id}</code></dd>
<dt>Plan</dt><dd>${key.plan}: ${count(key.limits.minute)} a minute, ${count(key.limits.day)} a day</dd>
<dt>Scopes</dt><dd>${key.scopes.join(', ')}</dd>
<dt>Environment</dt><dd>${key.environment}</dd>
<dt>Owner</dt><dd>${ownerLink(key.owner)}</dd>
<dt>Created</dt><dd>${moment(key.createdAt)}</dd>
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
  const tile = (name: 'minute' | 'day', label: string, used: number) => {
    const limit = limits[name];
    return html`<div class="tile"><dt id="${name}-label">${label}</dt>
<dd>${count(used)} <span class="soft">of ${count(limit)}</span> <meter aria-labelledby="${name}-label" min="0" max="${limit}" optimum="0" low="${(limit * NEAR_LIMIT_PERCENT) / 100}" high="${limit * 0.999}" value="${Math.min(used, limit)}"></meter></dd></div>`;
  };
  const until = refusedUntil(counts, limits, now);
  return html`<div id="spent" data-live><dl class="tiles">
${tile('minute', 'Used this minute', minuteUsed)}
${tile('day', 'Used today (UTC)', dayUsed)}
</dl>${until === undefined ? '' : html`<p class="soft">Its limit is used up: requests are refused until ${secondOf(until)}.</p>`}</div>`;
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
