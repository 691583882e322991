import { contentPolicy, type Html, html } from '../html.ts';
import type { PageHandler } from '../pages.ts';
import { type Asset, fixedPage, readAsset } from './delivery.ts';

/** A page with fewer chapters needs no list of them. */
const CHAPTERS_MIN = 3;

/** The time that what changes only with the service may be used from a cache. */
export const CACHED = 'public, max-age=300';

const icon = readAsset('icon.svg');
const STYLES = ['base.css', 'site.css', 'code.css'].map((name) => readAsset(name));
const SCRIPTS = [readAsset('site.js')];
const REFERENCE_STYLES = [readAsset('reference.css')];
const REFERENCE_SCRIPTS = [readAsset('try.js')];

/**
 * The pages of the guide by the names of their files in `pages/`: one line about each, for `/llms.txt` and the search,
 * with words that a reader may bring along.
 */
export const GUIDE: Readonly<Record<string, string>> = {
  'get-started': 'from a key to a category, a pet, an order and a 429; SDKs',
  authentication: 'keys, environments and scopes',
  limits: 'plans, windows, headers, bans, and the bounds of every value',
  errors: 'the body of an error, and each code with its cause and remedy',
  paging: 'how lists are paged, filtered and ordered',
  conditional: 'changes and reads that depend on what you know: If-Match (optimistic locking), If-None-Match',
  retries: 'when to retry, how long to wait (backoff), and Idempotency-Key',
  recipes: 'whole programs: import, local copy, stock, limits, and the move to production',
  browsers: 'calls from a page: CORS, preflights, and where to keep the key',
  testing: 'a sandbox of failures, and a verdict on a client',
  versions: 'what may change within /v1, stability and sunsets',
  changelog: 'what changed for callers, and what may break them',
  deprecations: 'the operations that will be removed',
};

/** The address of a page, by the name of its file. */
export function pathOf(file: string): string {
  return file === 'get-started' ? '/docs' : `/docs/${file}`;
}

/** Everything that the pages load. */
export const SITE_ASSETS: readonly Asset[] = [icon, ...STYLES, ...SCRIPTS, ...REFERENCE_STYLES, ...REFERENCE_SCRIPTS];

/** Leads from `/docs/` to the page without the slash. */
export const leadToDocs: PageHandler = () => ({ status: 308, headers: ['Location', '/docs'], cacheControl: CACHED });

/** Serves a document that `layout` makes on its first request. */
export function sitePage(content: () => string | Promise<string>, status: 200 | 404 = 200): PageHandler {
  return fixedPage({
    status,
    contentType: 'text/html; charset=utf-8',
    cacheControl: CACHED,
    headers: ['Content-Security-Policy', contentPolicy('none'), 'Referrer-Policy', 'no-referrer'],
    content,
  });
}

interface NavigationLink {
  readonly path: string;
  readonly title: string;
  readonly method?: string;
}

export interface NavigationGroup {
  readonly title: string;
  readonly links: readonly NavigationLink[];
}

/** The parts of a page around its content. */
export interface SitePage {
  /** Empty for a page without an address, which has no text as Markdown. */
  readonly path: string;
  readonly title: string;
  readonly content: Html;
  readonly navigation: readonly NavigationGroup[];
  /** One line, for search engines. */
  readonly about?: string;
  readonly chapters?: readonly NavigationLink[];
  /** The pages that are read before and after this one. */
  readonly previous?: NavigationLink | undefined;
  readonly next?: NavigationLink | undefined;
  readonly isReference?: boolean;
  /** True if it is the only page of its listener: neither a search nor a text as Markdown is served beside it. */
  readonly isAlone?: boolean;
}

/** The document around a page's content, with the navigation. */
export function layout(page: SitePage): string {
  const { path, title, about = '', content, navigation, isReference = false, isAlone = false } = page;
  const styles = isReference ? [...STYLES, ...REFERENCE_STYLES] : STYLES;
  const scripts = isReference ? [...SCRIPTS, ...REFERENCE_SCRIPTS] : SCRIPTS;
  const hasText = !isAlone && path !== '';
  const groups = navigation.map(
    (group) => html`<h2>${group.title}</h2>
<ul>${group.links.map((link) => navigationItem(link, path))}</ul>
`,
  );
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title} · Pet Catalog</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
${about ? html`<meta name="description" content="${about}">\n` : ''}<link rel="icon" href="${icon.path}" type="image/svg+xml">
${hasText ? html`<link rel="alternate" href="${path}.md" type="text/markdown">\n` : ''}${styles.map((style) => html`<link rel="stylesheet" href="${style.path}">\n`)}${scripts.map((script) => html`<script src="${script.path}" defer></script>\n`)}</head>
<body class="${isReference ? 'reference' : 'guide'}">
<a class="skip" href="#content">Skip to the content</a>
<header class="side">
<a class="name" href="/docs"><img src="${icon.path}" alt="" width="26" height="26">Pet Catalog</a>
<button class="menu quiet" type="button" popovertarget="ui-menu">Menu</button>
<div id="ui-menu" popover>
${isAlone ? '' : SEARCH}<nav aria-label="Documentation">
${groups}</nav>
</div>
</header>
<main id="content" tabindex="-1">
${onPage(page)}${content}
${beside(page)}<footer>${hasText ? html`<a href="${path}.md">This page as Markdown</a> ` : ''}<a href="/openapi.json">openapi.json</a>${isAlone ? '' : html` <a href="/openapi.yaml">openapi.yaml</a> <a href="/llms.txt">llms.txt</a>`}</footer>
</main>
</body>
</html>
`.text;
}

function onPage({ chapters = [] }: SitePage): Html {
  if (chapters.length < CHAPTERS_MIN) return html``;
  const links = chapters.map(({ path, title }) => html`<li><a href="${path}">${title}</a></li>\n`);
  return html`<nav class="on-page" aria-labelledby="ui-on-page"><h2 id="ui-on-page">On this page</h2>
<ul>${links}</ul></nav>
`;
}

function beside({ previous, next }: SitePage): Html {
  if (!previous && !next) return html``;
  return html`<p class="beside">${previous ? html`<a href="${previous.path}" rel="prev">Previous: ${previous.title}</a>` : html`<span></span>`}${next ? html` <a href="${next.path}" rel="next">Next: ${next.title}</a>` : ''}</p>
`;
}

const SEARCH = html`<div class="search scripted" role="search">
<label class="unseen" for="ui-search">Search the documentation</label>
<input id="ui-search" type="search" placeholder="Search" autocomplete="off" spellcheck="false">
<p class="unseen" id="ui-found" role="status"></p>
<ul id="ui-results" class="results" hidden></ul>
</div>
`;

function navigationItem({ path, title, method }: NavigationLink, current: string): Html {
  const mark = path === current ? html` aria-current="page"` : '';
  const verb =
    method === undefined
      ? ''
      : html` <span class="method ${method.toLowerCase()}">${method === 'DELETE' ? 'DEL' : method}</span>`;
  return html`<li><a href="${path}"${mark}><span>${title}</span>${verb}</a></li>
`;
}
