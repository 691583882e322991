import type { Ban } from '../../catalog/ban.ts';
import { CatalogError } from '../../catalog/error.ts';
import type { UsageSort } from '../../catalog/usage.ts';
import { type Html, html } from '../../http/html.ts';
import { type ConsoleContext, may, onGet } from './frame/context.ts';
import { count, duration, moment } from './frame/element.ts';
import { addressOf, choiceLinks } from './frame/list.ts';
import { healthSection } from './health.ts';
import { banLift } from './key-forms.ts';
import { noKeyYet } from './keys.ts';
import type { Rates } from './rates.ts';
import { keyLink, keyNames, usageOf } from './usage.ts';

const BANS_MAX = 10;
const GROUPS = [
  { value: '', label: 'by key' },
  { value: 'owner', label: 'by owner' },
];

/** The overview page. A script refreshes the elements with `data-live`. */
export const overviewRoutes = [
  onGet('', async (context) => {
    const { query } = context.exchange;
    const reload = addressOf('', { ...Object.fromEntries(query), done: '' });
    const content = html`<div class="heading"><h1>Overview</h1><p class="soft" data-refreshing><a href="/console${reload}">Reload</a></p></div>
${await healthSection(context)}
${tiles(context.rates)}
${await stored(context)}`;
    return { section: '', title: 'Overview', content };
  }),
];

/** The part that the database tells, or that it cannot be read. */
async function stored(context: ConsoleContext): Promise<Html> {
  const { storage, exchange, now } = context;
  try {
    if ((await storage.keys.count({ now })) === 0) return noKeyYet(context);
    const choices = choiceLinks(exchange, { name: 'by', label: 'Keys or owners', options: GROUPS });
    const group = exchange.query.get('by') === 'owner' ? 'owner' : 'key';
    return html`${await bans(context)}
${await usageOf(context, [group, 'route'], { choices })}`;
  } catch (error) {
    if (!(error instanceof CatalogError) || error.code !== 'unavailable') throw error;
    return html`<p class="mistake" role="alert">The database cannot be read: ${error.message}.</p>`;
  }
}

function tiles(rates: Rates): Html {
  const { served, clientErrors, refused, serverErrors, p50, p99 } = rates.recent();
  const tile = (label: string, value: Html | string, tone = '') =>
    html`<div class="tile${tone && ` ${tone}`}"><dt>${label}</dt><dd>${value}</dd></div>`;
  /** Leads to the keys and routes that have the most of it. */
  const perSecond = (label: string, per: number, sort: UsageSort, tone = '') =>
    tile(label, html`<a href="/console?sort=${sort}#sort-links">${rate(per)}</a>`, per > 0 ? tone : '');
  return html`<section aria-labelledby="now-heading"><h2 id="now-heading">Now <small>on this instance: per second in the last 10 s, durations in the last minute</small></h2>
<dl class="tiles" id="tiles" data-live>
${perSecond('Served /s', served, 'requests')}
${perSecond('Client errors (4xx) /s', clientErrors, 'errors')}
${perSecond('Refused (429) /s', refused, 'refused', 'warning')}
${perSecond('Server errors (5xx) /s', serverErrors, 'errors', 'danger')}
${tile('Median (p50)', milliseconds(p50))}
${tile('99 of 100 within (p99)', milliseconds(p99))}
</dl></section>`;
}

async function bans(context: ConsoleContext): Promise<Html> {
  const { storage, now } = context;
  const all = await storage.keys.bans(now);
  const shown = all.slice(0, BANS_MAX);
  const names = await keyNames(context, shown);
  const panel = (ban: Ban & { readonly keyId: string }) => html`<li class="panel danger"><div>
<p>${keyLink(ban.keyId, names.get(ban.keyId))} is banned for another <strong>${duration(ban.endsAt - now)}</strong>, until ${moment(ban.endsAt)}</p>
<p>It was ${ban.reason}. <a href="/console/requests/why?q=${ban.keyId}">Why was it refused?</a></p></div>
${may(context, 'keys') ? banLift.button(context, { id: ban.keyId, about: `Lift the ban of ${names.get(ban.keyId) ?? ban.keyId}` }) : ''}</li>\n`;
  const more = all.length - BANS_MAX;
  return html`<section id="bans" data-live aria-labelledby="bans-heading">
<h2 id="bans-heading">Banned now${all.length > 0 ? html` <span class="badge danger">${count(all.length)}</span>` : ''} <small>on all instances</small></h2>
${all.length === 0 ? html`<p class="soft">No key is banned.</p>` : html`<ul class="plain">${shown.map(panel)}</ul>`}
${more > 0 ? html`<p class="soft">And ${count(more)} more, marked in the list of keys.</p>` : ''}
</section>`;
}

/** To two digits: more would be made up, since durations are counted in buckets. */
function milliseconds(seconds: number | undefined): string {
  if (seconds === undefined) return '–';
  return `${Number((seconds * 1_000).toPrecision(2)).toLocaleString('en-US', { maximumSignificantDigits: 3 })} ms`;
}

function rate(perSecond: number): string {
  return perSecond > 0 && perSecond < 10 ? perSecond.toFixed(1) : count(Math.round(perSecond));
}
