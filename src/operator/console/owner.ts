import { CatalogError } from '../../catalog/error.ts';
import { quote } from '../../catalog/validate.ts';
import { html } from '../../http/html.ts';
import { getUsage } from '../api/usage.ts';
import { type ConsoleContext, onGet, type View } from './frame/context.ts';
import { counted, foreign } from './frame/element.ts';
import { addressOf, csvLink, wholeText } from './frame/list.ts';
import { exportRoute } from './list-pages.ts';
import { timeText } from './range.ts';
import { usageOf } from './usage.ts';

/** The page of an owner: what all keys of a customer used, and the CSV of usage. */
export const ownerRoutes = [onGet('/owner', showOwner), exportRoute(getUsage, '/usage')];

async function showOwner(context: ConsoleContext): Promise<View> {
  const { storage, exchange, now } = context;
  const owner = wholeText(exchange.query, 'owner');
  const keys = await storage.keys.count({ owner, now });
  if (keys === 0) throw new CatalogError('not_found', `No key has the owner ${quote(owner)}`);
  const since = timeText(exchange.query, 'since') || '2y';
  const csv = { owner, by: 'month', group: 'key', since, until: timeText(exchange.query, 'until') };
  const content = html`<p class="crumb"><a href="/console/keys">Keys</a></p>
<div class="heading"><h1>${foreign(owner)}</h1>${csvLink('/usage/export', csv, 'CSV by month')}</div>
<p><a href="/console${addressOf('/keys', { owner })}">${counted(keys, 'key')} of this owner</a></p>
${await usageOf(context, ['key', 'route'], { owner })}`;
  return { section: '/keys', title: owner, content };
}
