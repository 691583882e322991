import { usageCsv } from '../../catalog/operator/csv.ts';
import { allUsageRows, usageSteps } from '../../catalog/operator/usage-rows.ts';
import { html } from '../../http/html.ts';
import type { Answer } from '../../http/transport/exchange.ts';
import { rangeIn, rangeLinks } from '../charts/range.ts';
import { usageChart } from '../charts/usage.ts';
import { type ConsoleContext, download, nothingHere, onGet } from '../frame/context.ts';
import { counted, foreign } from '../frame/element.ts';
import { page } from '../frame/layout.ts';
import { addressOf, csvLink, wholeText } from '../frame/list.ts';
import { sortLinks, sumsSection } from './sums.ts';

/** The page of an owner: what all keys of a customer used. */
export const ownerRoutes = [onGet('/owner', showOwner), onGet('/owner/export', exportMonths)];

async function showOwner(context: ConsoleContext): Promise<Answer> {
  const { storage, exchange, now } = context;
  const owner = wholeText(exchange.query, 'owner');
  const { count: keys } = await storage.keys.search({ text: '', owner, now, offset: 0, limit: 1 });
  if (keys === 0) throw nothingHere('owner');
  const range = rangeIn(exchange.query);
  const content = html`<p class="crumb"><a href="/console/keys">Keys</a></p>
<div class="heading"><h1>${foreign(owner)}</h1>${csvLink('/owner/export', { owner }, 'CSV by month')}</div>
<p><a href="/console${addressOf('/keys', { owner })}">${counted(keys, 'key')} of this owner</a></p>
${rangeLinks('/owner', exchange.query)}
${await usageChart(context, { owner, range })}
${sortLinks('/owner', exchange.query)}
${await sumsSection(context, { group: 'key', owner, range })}
${await sumsSection(context, { group: 'route', owner, range })}`;
  return page(context, { section: '/keys', title: owner, content });
}

/** The usage of each key of an owner in each month, as far as usage is kept. */
async function exportMonths(context: ConsoleContext): Promise<Answer> {
  const { exchange, now } = context;
  await context.flushUsage();
  const steps = usageSteps('month', { since: 0, until: now + 1, now });
  const rows = await allUsageRows(context, { group: 'key', owner: wholeText(exchange.query, 'owner'), steps });
  return download('usage.csv', usageCsv(rows, 'key', true));
}
