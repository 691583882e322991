import { createHash } from 'node:crypto';
import type { PageHandler } from '../pages.ts';
import { type Asset, readAsset } from './asset.ts';
import { type Html, html } from './html.ts';

/** Allows only resources of this origin; no inline script or style, no framing, no forms. */
const BASE_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'; form-action 'none'";
const SCRIPT_POLICY = `${BASE_POLICY}; script-src 'self'; font-src 'self' data:; connect-src 'self'`;

const CSS = 'text/css; charset=utf-8';

const NAVIGATION = [
  { path: '/docs', label: 'Reference' },
  { path: '/docs/errors', label: 'Errors' },
  { path: '/docs/limits', label: 'Limits' },
  { path: '/docs/deprecations', label: 'Deprecations' },
  { path: '/openapi.json', label: 'openapi.json' },
];

const icon = readAsset('icon.svg', 'image/svg+xml');
const baseStyle = readAsset('base.css', CSS);
const siteStyle = readAsset('site.css', CSS);

/** The assets of every page. */
export const SITE_ASSETS: readonly Asset[] = [icon, baseStyle, siteStyle];

/** A page of the documentation. Its scripts are deferred. */
export interface SitePage {
  readonly path: string;
  readonly title: string;
  readonly content: () => Html;
  readonly styles?: readonly Asset[];
  readonly scripts?: readonly Asset[];
}

/** Creates a handler that renders the page on the first request and caches the result. */
export function sitePage(page: SitePage): [string, PageHandler] {
  const policy = page.scripts ? SCRIPT_POLICY : BASE_POLICY;
  let rendered: { text: string; etag: string } | undefined;
  return [
    page.path,
    ({ request }) => {
      rendered ??= render(page);
      const { text, etag } = rendered;
      const headers = ['ETag', etag, 'Content-Security-Policy', policy, 'Referrer-Policy', 'no-referrer'];
      const answer = { headers, cacheControl: 'public, max-age=300' };
      if (request.headers['if-none-match']?.includes(etag)) return { ...answer, status: 304 };
      return { ...answer, status: 200, contentType: 'text/html; charset=utf-8', body: text };
    },
  ];
}

function render(page: SitePage): { text: string; etag: string } {
  const { text } = layout(page);
  return { text, etag: `"${createHash('sha256').update(text).digest('base64url').slice(0, 22)}"` };
}

function layout({ path, title, content, styles = [], scripts = [] }: SitePage): Html {
  const links = NAVIGATION.map(({ path: target, label }) => {
    const current = target === path ? html` aria-current="page"` : '';
    return html`<li><a href="${target}"${current}>${label}</a></li>`;
  });
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${title} · Pet Catalog</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="${icon.path}" type="image/svg+xml">
${[...styles, baseStyle, siteStyle].map((style) => html`<link rel="stylesheet" href="${style.path}">\n`)}${scripts.map((script) => html`<script src="${script.path}" defer></script>\n`)}</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="site">
<a class="name" href="/docs"><img src="${icon.path}" alt="" width="24" height="24">Pet Catalog</a>
<nav aria-label="Documentation"><ul>${links}</ul></nav>
</header>
<main id="content" tabindex="-1">
${content()}
</main>
</body>
</html>
`;
}
