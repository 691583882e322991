import { CatalogError } from '../../catalog/error.ts';
import { type Html, html } from '../../http/html.ts';
import { type ConsoleContext, onGet } from './frame/context.ts';
import { count } from './frame/element.ts';
import { addressOf, choiceLinks } from './frame/list.ts';
import { healthSection } from './health.ts';
import { banPanel, noKeyYet } from './keys.ts';
import { keyNames, usageOf } from './usage.ts';

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

async function bans(context: ConsoleContext): Promise<Html> {
  const { storage, now } = context;
  const all = await storage.keys.bans(now);
  const shown = all.slice(0, BANS_MAX);
  const names = await keyNames(context, shown);
  const panel = (ban: (typeof all)[number]) =>
    html`<li>${banPanel(context, ban.keyId, ban, names.get(ban.keyId) ?? ban.keyId)}</li>\n`;
  const more = all.length - BANS_MAX;
  return html`<section id="bans" data-live aria-labelledby="bans-heading">
<h2 id="bans-heading">Banned now${all.length > 0 ? html` <span class="badge danger">${count(all.length)}</span>` : ''} <small>on all instances</small></h2>
${all.length === 0 ? html`<p class="soft">No key is banned.</p>` : html`<ul class="plain">${shown.map(panel)}</ul>`}
${more > 0 ? html`<p class="soft">And ${count(more)} more, marked in the list of keys.</p>` : ''}
</section>`;
}
