import { type Asset, readAsset } from '../../../http/docs/delivery.ts';
import { contentPolicy, type Html, html } from '../../../http/html.ts';
import type { Answer } from '../../../http/transport/exchange.ts';
import { type ConsoleContext, may, type View } from './context.ts';
import { csrfField, foreign } from './element.ts';
import { SEARCH_CHARACTERS_MAX } from './list.ts';

/** Not `no-referrer`: browsers would then send `Origin: null` with a form, and the origin check would fail. */
const PAGE_HEADERS = [
  'Content-Security-Policy',
  contentPolicy('self'),
  'Referrer-Policy',
  'same-origin',
  'Vary',
  'Cookie',
];
const HTML_TYPE = 'text/html; charset=utf-8';

const CONSOLE = { folder: 'operator/console/frame/assets/', path: '/console/assets/' };
const DOCS = { ...CONSOLE, folder: 'http/docs/assets/' };

const icon = readAsset('icon.svg', DOCS);
const STYLES = [
  readAsset('base.css', DOCS),
  ...['console.css', 'frame.css', 'list.css', 'charts.css', 'requests.css'].map((name) => readAsset(name, CONSOLE)),
];
const SCRIPTS = ['charts.js', 'console.js'].map((name) => readAsset(name, CONSOLE));

export const CONSOLE_ASSETS: readonly Asset[] = [icon, ...STYLES, ...SCRIPTS];

const NAVIGATION = [
  { path: '', label: 'Overview' },
  { path: '/keys', label: 'Keys' },
  { path: '/requests', label: 'Requests' },
  { path: '/categories', label: 'Categories' },
  { path: '/pets', label: 'Pets' },
  { path: '/orders', label: 'Orders' },
  { path: '/audit', label: 'Audit' },
] as const;

/** Renders a page for a signed-in operator; `notices` are shown by the `done` parameter of the address. */
export function page(context: ConsoleContext, view: View, notices: ReadonlyMap<string, string>): Answer {
  const links = NAVIGATION.map(({ path, label }) => {
    const current = path === view.section ? html` aria-current="page"` : '';
    return html`<li><a href="/console${path}"${current}>${label}</a></li>`;
  });
  const notice = notices.get(context.exchange.query.get('done') ?? '');
  const body = html`<header class="side">
<a class="name" href="/console"><img src="${icon.path}" alt="" width="26" height="26">Pet Catalog</a>
<form class="look-up" role="search" aria-label="Requests, keys and orders" action="/console/requests/why">
<input name="q" type="search" aria-label="Request id, key or order" placeholder="Request, key, order" maxlength="${SEARCH_CHARACTERS_MAX}" autocomplete="off" spellcheck="false"></form>
<nav aria-label="Console"><ul>${links}</ul></nav>
<div class="who"><p class="as"><span class="soft">Signed in as</span> ${foreign(context.session.actor)} <span class="badge" title="Your role">${context.session.role}</span></p> ${may(context, 'admin') ? html`<a href="/console/sessions">Sessions</a> ` : ''}<a href="/docs">API</a>
${context.caller.by.via === 'proxy' ? '' : html`<form method="post" action="/console/logout">${csrfField(context)}<button class="quiet">Sign out</button></form>`}</div>
</header>
<main id="content" tabindex="-1">
<p id="stale" class="mistake" role="status" hidden></p>
${notice === undefined ? '' : html`<p class="notice" role="status">${notice}</p>`}
${view.content}
<footer class="soft">Times are in <span data-zone>UTC</span>.</footer>
</main>`;
  return documentOf(view, body, 'console');
}

/** Renders a page without navigation, for requests without a session. */
export function barePage(view: View): Answer {
  const body = html`<main id="content" tabindex="-1" class="card">
<p class="name"><img src="${icon.path}" alt="" width="26" height="26">Pet Catalog</p>
${view.content}
</main>`;
  return documentOf(view, body, 'bare');
}

function documentOf({ title, status = 200 }: View, body: Html, kind: string): Answer {
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title} · Pet Catalog console</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<link rel="icon" href="${icon.path}" type="image/svg+xml">
${STYLES.map((style) => html`<link rel="stylesheet" href="${style.path}">\n`)}${SCRIPTS.map((script) => html`<script src="${script.path}" defer></script>\n`)}</head>
<body class="${kind}">
<a class="skip" href="#content">Skip to the content</a>
${body}
</body>
</html>
`;
  return { status, headers: PAGE_HEADERS, contentType: HTML_TYPE, body: text };
}
