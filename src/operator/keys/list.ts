import type { ApiKey } from '../../catalog/api-key.ts';
import { CatalogError } from '../../catalog/error.ts';
import type { Ban } from '../../catalog/limit.ts';
import { issueKey } from '../../catalog/operator/key-changes.ts';
import { type Html, html } from '../../http/docs/html.ts';
import type { Answer } from '../../http/transport/exchange.ts';
import {
  type ConsoleContext,
  type ConsoleRoute,
  numberIn,
  SEARCH_CHARACTERS_MAX,
  searchText,
} from '../frame/context.ts';
import { count, empty, foreign, mistake, moment, onlyFor, pager, post, table } from '../frame/element.ts';
import { page } from '../frame/layout.ts';
import { FIELDS_OF_A_NEW_KEY, type KeyFields, keyFields, readFields, wantedKey } from './form.ts';

const KEYS_PER_PAGE = 25;
const PLAN_COLUMNS = [
  { name: 'Name' },
  { name: 'State' },
  { name: 'Key' },
  { name: 'Plan' },
  { name: 'Per minute', isNumber: true },
  { name: 'Per day', isNumber: true },
  { name: 'Created' },
];

/** The list of keys, and the form for a new one. */
export const keyListRoutes: readonly ConsoleRoute[] = [
  { method: 'GET', path: '/keys', handle: listKeys },
  { method: 'GET', path: '/keys/new', role: 'keys', handle: (context) => newKeyPage(context, FIELDS_OF_A_NEW_KEY) },
  { method: 'POST', path: '/keys', role: 'keys', handle: createKey },
];

async function listKeys(context: ConsoleContext): Promise<Answer> {
  const { storage, exchange, now } = context;
  const text = searchText(exchange.query, 'q');
  const number = numberIn(exchange.query, 'page', 1);
  const offset = (number - 1) * KEYS_PER_PAGE;
  const { keys, count: found } = await storage.keys.search({ text, offset, limit: KEYS_PER_PAGE });
  const bans = new Map((await storage.limits.listBans(now)).map((ban) => [ban.keyId, ban]));
  const rows = keys.map(
    (key) => html`<tr><th scope="row"><a href="/console/keys/${key.id}">${foreign(key.name)}</a></th>
<td>${stateBadge(key, bans.get(key.id), now)}</td><td><code>${key.prefix}…</code></td><td>${key.plan}</td>
<td class="number">${count(key.limits.minute)}</td><td class="number">${count(key.limits.day)}</td><td>${moment(key.createdAt)}</td></tr>\n`,
  );
  const address = (to: number) => `/keys?${new URLSearchParams({ ...(text && { q: text }), page: `${to}` })}`;
  const none = text
    ? empty(
        'No key found.',
        html`Search for a part of its name, its id or its first characters. <a href="/console/keys">Show all keys</a>`,
      )
    : empty(
        'There is no key yet.',
        html`Every request to the API needs one. ${onlyFor(context, 'keys', html`<a href="/console/keys/new">Create the first key</a>`)}`,
      );
  const content = html`<div class="heading"><h1>Keys</h1>${onlyFor(context, 'keys', html`<a class="button primary" href="/console/keys/new">New key</a>`)}</div>
<form class="search" role="search" action="/console/keys"><label for="q">Name, id or first characters of a key</label>
<div class="row"><input id="q" name="q" type="search" value="${text}" maxlength="${SEARCH_CHARACTERS_MAX}"><button>Search</button></div></form>
${
  keys.length === 0
    ? none
    : html`<p class="soft">${count(offset + 1)} to ${count(offset + keys.length)} of ${count(found)}, newest first</p>
${table('Keys', PLAN_COLUMNS, rows)}`
}
${pager(number > 1 ? address(number - 1) : undefined, offset + keys.length < found ? address(number + 1) : undefined)}`;
  return page(context, { section: '/keys', title: 'Keys', content });
}

function newKeyPage(context: ConsoleContext, fields: KeyFields, wrong?: string): Answer {
  const content = html`<h1>New key</h1>
${mistake(wrong)}
${post(context, '/keys', html`<div class="fields">${keyFields(fields)}<div class="row"><button class="primary">Create the key</button><a class="button" href="/console/keys">Cancel</a></div></div>`)}`;
  return page(context, { section: '/keys', title: 'New key', content, status: wrong === undefined ? 200 : 400 });
}

async function createKey(context: ConsoleContext): Promise<Answer> {
  const fields = readFields(context.form);
  try {
    const { key, secret } = await issueKey(context, wantedKey(fields));
    return secretPage(context, { key, secret, title: 'Key created' });
  } catch (error) {
    if (!(error instanceof CatalogError && error.code === 'validation_failed')) throw error;
    return newKeyPage(context, fields, error.message);
  }
}

/**
 * The only page that shows a secret. A script changes its URL to that of the key, so a reload does not create another.
 */
export function secretPage(
  context: ConsoleContext,
  { key, secret, title, note }: { key: ApiKey; secret: string; title: string; note?: Html },
): Answer {
  const { url } = context;
  const content = html`<h1>${title}</h1>
<p class="lead">Copy it now: it is shown only once.</p>
<div class="secret" data-become="/console/keys/${key.id}"><label for="secret">API key of <strong>${foreign(key.name)}</strong></label>
<div class="row"><input id="secret" readonly value="${secret}" autocomplete="off" spellcheck="false"><button type="button" data-copy="secret" hidden>Copy</button></div>
<p class="hint" id="copied" role="status"></p></div>
${note ?? ''}
<h2>Try it</h2>
<pre tabindex="0"><code>curl -H 'Authorization: Bearer ${secret}' ${url()}/categories</code></pre>
<p>The request appears on the <a href="/console/keys/${key.id}">page of the key</a> and on the <a href="/console">overview</a> within seconds.</p>`;
  return page(context, { section: '/keys', title, content });
}

/** The state of a key: revoked, expired, banned or active. */
export function stateBadge(key: ApiKey, ban: Ban | undefined, now: number): Html {
  if (key.revokedAt !== null) return html`<span class="badge">revoked</span>`;
  if (key.expiresAt !== null && key.expiresAt <= now) return html`<span class="badge">expired</span>`;
  if (ban) return html`<span class="badge danger">banned</span>`;
  return html`<span class="badge good">active</span>`;
}
