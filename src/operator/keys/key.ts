import type { ApiKey } from '../../catalog/api-key.ts';
import type { Ban, LimiterMemory } from '../../catalog/limit.ts';
import { keyWithId } from '../../catalog/operator/key-changes.ts';
import { type Html, html } from '../../http/docs/html.ts';
import type { Answer } from '../../http/transport/exchange.ts';
import { DAY_SECONDS } from '../../stdx/duration.ts';
import { auditTable } from '../audit.ts';
import { usageChart } from '../frame/chart.ts';
import { type ConsoleContext, type ConsoleRoute, may } from '../frame/context.ts';
import { count, duration, foreign, moment, onlyFor, post, table } from '../frame/element.ts';
import { page } from '../frame/layout.ts';
import { stateBadge } from './list.ts';

const BANS_SHOWN_MAX = 20;
const AUDIT_SHOWN_MAX = 20;
/** The share of a limit above which the meter shows a warning. */
const WARNING_SHARE = 0.8;
/** The minutes and days in the charts: by default, and with `span=long`. */
const SPANS = {
  short: { minutes: 60, days: 30, labels: ['hour', '30 days'] },
  long: { minutes: 360, days: 365, labels: ['6 hours', 'year'] },
} as const;

/** The page of a key. */
export const keyRoutes: readonly ConsoleRoute[] = [{ method: 'GET', path: '/keys/:id', handle: showKey }];

/** The key in the path. Throws `not_found`. */
export function keyOf(context: ConsoleContext): Promise<ApiKey> {
  return keyWithId(context, context.exchange.params.id ?? '');
}

async function showKey(context: ConsoleContext): Promise<Answer> {
  const { storage, now, exchange } = context;
  const key = await keyOf(context);
  const memory = await storage.limits.memory(key.id);
  const ban = memory.ban && memory.ban.endsAt > now ? memory.ban : undefined;
  const isLong = exchange.query.get('span') === 'long';
  const { minutes, days, labels } = isLong ? SPANS.long : SPANS.short;
  const spans = html`<p class="spans"><span class="soft">Charts:</span> <a href="/console/keys/${key.id}"${isLong ? '' : html` aria-current="true"`}>hour and 30 days</a> <a href="/console/keys/${key.id}?span=long"${isLong ? html` aria-current="true"` : ''}>6 hours and year</a></p>`;
  const actions =
    key.revokedAt === null && may(context, 'keys')
      ? html`<div class="row"><a class="button" href="/console/keys/${key.id}/edit">Change</a><a class="button" href="/console/keys/${key.id}/rotate">Rotate</a><a class="button danger" href="/console/keys/${key.id}/revoke">Revoke</a></div>`
      : '';
  const content = html`<p class="crumb"><a href="/console/keys">Keys</a></p>
<div class="heading"><h1>${foreign(key.name)} <span id="state" data-live>${stateBadge(key, ban, now)}</span></h1>${actions}</div>
<div id="ban" data-live>${ban ? banPanel(context, key, ban) : ''}</div>
${facts(key, (await storage.usage.lastUses([key.id])).get(key.id))}
<p><a href="/console/requests?key=${key.id}">Recent requests</a> · <a href="/console/requests/why?q=${key.id}">Why was it refused?</a></p>
${windows(context, key, memory)}
${spans}
${await usageChart(context, { id: 'minutes', title: `Requests per minute, last ${labels[0]}`, period: 'minute', periods: minutes, keyId: key.id, limit: key.limits.minute })}
${await usageChart(context, { id: 'days', title: `Requests per day, last ${labels[1]}`, period: 'day', periods: days, keyId: key.id, limit: key.limits.day })}
${await banHistory(context, key)}
<section aria-labelledby="audit-heading"><h2 id="audit-heading">Changes by operators</h2>
${auditTable(await storage.audit.list({ since: 0, limit: AUDIT_SHOWN_MAX, target: key.id }), { withTarget: false })}
</section>`;
  return page(context, { section: '/keys', title: key.name, content });
}

/** The ban that is on, with the button that lifts it. */
export function banPanel(context: ConsoleContext, key: ApiKey, ban: Ban): Html {
  const { now } = context;
  return html`<div class="panel danger"><div><p><strong>Banned for another ${duration(ban.endsAt - now)}</strong>, until ${moment(ban.endsAt)}</p>
<p>It was ${ban.reason}. This is ban number ${ban.level} in a row; each lasts longer than the one before, until a day passes without a ban.</p></div>
${onlyFor(context, 'keys', post(context, `/keys/${key.id}/unban`, html`<button class="primary">Lift the ban</button>`))}</div>`;
}

function facts(key: ApiKey, lastUsedAt: number | undefined): Html {
  return html`<dl class="facts">
<dt>Key</dt><dd><code>${key.prefix}…</code></dd>
<dt>Id</dt><dd><code>${key.id}</code></dd>
<dt>Plan</dt><dd>${key.plan}: ${count(key.limits.minute)} a minute, ${count(key.limits.day)} a day</dd>
<dt>Scopes</dt><dd>${key.scopes.join(', ')}</dd>
<dt>Environment</dt><dd>${key.environment}</dd>
<dt>Owner</dt><dd>${key.owner === null ? html`<span class="soft">none</span>` : foreign(key.owner)}</dd>
<dt>Created</dt><dd>${moment(key.createdAt)}</dd>
<dt>Last used</dt><dd>${lastUsedAt === undefined ? html`<span class="soft">never</span>` : moment(lastUsedAt)}</dd>
<dt>Expires</dt><dd>${key.expiresAt === null ? 'never' : moment(key.expiresAt)}</dd>
${key.revokedAt === null ? '' : html`<dt>Revoked</dt><dd>${moment(key.revokedAt)}</dd>`}
</dl>`;
}

/** The use of both windows as last saved, at most half a second ago. */
function windows({ now }: ConsoleContext, { limits }: ApiKey, { counts }: LimiterMemory): Html {
  const minuteUsed = counts && counts.minuteEnds > now ? counts.minuteUsed : 0;
  const dayUsed = counts && counts.day >= Math.floor(now / DAY_SECONDS) ? counts.dayUsed : 0;
  const window = (
    id: string,
    label: string,
    used: number,
    limit: number,
  ) => html`<div class="tile"><dt id="${id}-label">${label}</dt>
<dd>${count(used)} <span class="soft">of ${count(limit)}</span> <meter aria-labelledby="${id}-label" min="0" max="${limit}" optimum="0" low="${limit * WARNING_SHARE}" high="${limit * 0.999}" value="${Math.min(used, limit)}"></meter></dd></div>`;
  return html`<dl class="tiles" id="spent" data-live>
${window('minute', 'Used this minute', minuteUsed, limits.minute)}
${window('day', 'Used today (UTC)', dayUsed, limits.day)}
</dl>`;
}

/** The latest bans of a key. */
export async function banHistory({ storage, now }: ConsoleContext, key: ApiKey): Promise<Html> {
  const bans = await storage.limits.banHistory(key.id, BANS_SHOWN_MAX);
  const end = ({ endsAt, liftedAt }: (typeof bans)[number]) => {
    if (liftedAt !== null) return html`${moment(liftedAt)} <span class="badge">lifted</span>`;
    return endsAt > now ? html`${moment(endsAt)} <span class="badge danger">active</span>` : moment(endsAt);
  };
  const rows = bans.map(
    (ban) =>
      html`<tr><th scope="row">${moment(ban.startedAt)}</th><td>${end(ban)}</td><td class="number">${ban.level}</td><td class="long">${ban.reason}</td></tr>\n`,
  );
  const columns = [{ name: 'Start' }, { name: 'End' }, { name: 'In a row', isNumber: true }, { name: 'Reason' }];
  return html`<section id="history" data-live aria-labelledby="history-heading"><h2 id="history-heading">Bans</h2>
${bans.length === 0 ? html`<p class="soft">The key was never banned.</p>` : table('Bans of the key', columns, rows)}</section>`;
}
