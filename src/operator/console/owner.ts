import { CatalogError } from '../../catalog/error.ts';
import type { KeyJson } from '../../catalog/operator/json.ts';
import { quote } from '../../catalog/validate.ts';
import { html } from '../../http/html.ts';
import { listKeys, pauseKeys, resetKeys, resumeKeys, stateText } from '../api/keys.ts';
import { call, type OperatorOperation } from '../api/operation.ts';
import { getUsage } from '../api/usage.ts';
import { latestChanges } from './audit.ts';
import { formPages } from './form-pages.ts';
import { type ConsoleContext, may, onGet, type View } from './frame/context.ts';
import { count, counted, foreign } from './frame/element.ts';
import { addressOf, csvLink, searchText, wholeText } from './frame/list.ts';
import { KEYS_TABLE } from './keys.ts';
import { exportRoute, rowsTable } from './list-pages.ts';
import { usageOf } from './usage.ts';

/** The page of an owner: the keys of a customer, what they may use and used, and what changes all of them. */

const KEYS_MAX = 20;

const ofAll = (operation: OperatorOperation, verb: string, button: string, done: string) =>
  formPages(operation, {
    path: '/owner',
    verb,
    button,
    back: (context) => addressOf('/owner', { owner: ownerIn(context) }),
    done,
  });

export const ownerForms = [
  ofAll(pauseKeys, 'pause', 'Pause all keys', 'All keys were paused.'),
  ofAll(resumeKeys, 'resume', 'Resume all keys', 'All keys were resumed.'),
  ofAll(resetKeys, 'reset', 'Reset all keys', 'All keys were reset.'),
];

export const ownerRoutes = [onGet('/owner', showOwner), exportRoute(getUsage, '/usage')];

async function showOwner(context: ConsoleContext): Promise<View> {
  const { exchange, caller } = context;
  const owner = ownerIn(context);
  const query = new URLSearchParams({ owner, limit: `${KEYS_MAX}` });
  const { json, total = 0 } = await call(listKeys, caller, { query });
  const keys = json as readonly KeyJson[];
  if (keys.length === 0) throw new CatalogError('not_found', `No key has the owner ${quote(owner)}`);
  const inUse = keys.filter((key) => /^(active|banned)/.test(stateText(key, caller.now)));
  const sum = (window: 'minute' | 'day') => count(inUse.reduce((all, { limits }) => all + limits[window], 0));
  const since = searchText(exchange.query, 'since') || '2y';
  const csv = { owner, by: 'month', group: 'key', since, until: searchText(exchange.query, 'until') };
  const buttons = ownerForms.map(
    ({ pathOf }, index) =>
      html`<a class="button" href="/console${addressOf(pathOf(), { owner })}">${['Pause', 'Resume', 'Reset'][index] ?? ''} all</a>`,
  );
  const content = html`<p class="crumb"><a href="/console/keys">Keys</a></p>
<div class="heading"><h1>${foreign(owner)}</h1><div class="row">${may(context, 'keys') ? buttons : ''}${csvLink('/usage/export', csv, 'CSV by month')}</div></div>
<p><a href="/console${addressOf('/keys', { owner })}">${counted(total, 'key')} of this owner</a>${total > KEYS_MAX ? '' : html`, which may make ${sum('minute')} requests a minute and ${sum('day')} a day together`}</p>
${rowsTable(listKeys, KEYS_TABLE, { context, rows: keys })}
${await usageOf(context, ['key', 'route'], { owner })}
<h2 id="changes">Changes by these keys</h2>
${await latestChanges(context, { owner })}`;
  return { section: '/keys', title: owner, content };
}

function ownerIn({ exchange: { query } }: ConsoleContext): string {
  return wholeText(query, 'owner');
}
