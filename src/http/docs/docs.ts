import type { Operation } from '../operations/operation.ts';
import type { PageHandler } from '../pages.ts';
import { readAsset, readPackagedAsset } from './asset.ts';
import { errorsContent } from './errors-page.ts';
import { type Html, html } from './html.ts';
import { limitsContent } from './limits-page.ts';
import { type ContractServer, dateOf, INTERFACE_VERSION } from './openapi.ts';
import { SITE_ASSETS, sitePage } from './site.ts';

const JAVASCRIPT = 'text/javascript; charset=utf-8';
const CSS = 'text/css; charset=utf-8';

export interface DocsOptions {
  readonly operations: readonly Operation[];
  readonly servers: readonly ContractServer[];
  readonly banAfterRefusals: number;
}

/** The documentation pages (reference, errors, limits, deprecations) and their assets. */
export function docsPages({ operations, servers, banAfterRefusals }: DocsOptions): [string, PageHandler][] {
  const styles = [readPackagedAsset('swagger-ui-dist/swagger-ui.css', CSS), readAsset('reference.css', CSS)];
  const scripts = [
    readPackagedAsset('swagger-ui-dist/swagger-ui-bundle.js', JAVASCRIPT),
    readAsset('reference.js', JAVASCRIPT),
  ];
  const assets = [...SITE_ASSETS, ...styles, ...scripts];
  return [
    sitePage({ path: '/docs', title: 'Reference', content: () => referenceContent(servers), styles, scripts }),
    sitePage({ path: '/docs/errors', title: 'Errors', content: errorsContent }),
    sitePage({ path: '/docs/limits', title: 'Limits', content: () => limitsContent(banAfterRefusals) }),
    sitePage({ path: '/docs/deprecations', title: 'Deprecations', content: () => deprecationsContent(operations) }),
    ...assets.map(({ path, page }): [string, PageHandler] => [path, page]),
  ];
}

function referenceContent(servers: readonly ContractServer[]): Html {
  const addresses = servers.map(({ description, url }) => html`<dt>${description}</dt><dd><code>${url}</code></dd>`);
  return html`<h1>Reference <span class="status">${INTERFACE_VERSION}</span></h1>
<p class="lead">Pet categories, pets and orders over HTTP with JSON bodies.</p>
<dl class="addresses">${addresses}</dl>
<section class="key" aria-labelledby="key-heading">
<h2 id="key-heading">Try it</h2>
<p>Paste an API key, open an operation and press “Execute”. The request goes to this service and counts against the limits of the key.</p>
<label for="key">API key</label>
<input id="key" type="password" autocomplete="off" spellcheck="false" placeholder="petcat_…" aria-describedby="key-state">
<p id="key-state" role="status">The key stays in this tab until you leave the page.</p>
</section>
<p>Every operation can also answer <code>401</code>, <code>403</code>, <code>429</code>, <code>500</code> and <code>503</code>, which the <a href="/docs/errors">errors</a> page explains. Every response carries the <a href="/docs/limits#headers">limit headers</a>.</p>
<noscript><p class="note">The reference needs JavaScript. The contract is also available as <a href="/openapi.json">openapi.json</a> and <a href="/openapi.yaml">openapi.yaml</a>.</p></noscript>
<div id="reference"></div>`;
}

function deprecationsContent(operations: readonly Operation[]): Html {
  const deprecated = operations.filter(({ deprecation }) => deprecation);
  return html`<h1>Deprecations</h1>
<p class="lead">Published operations are removed only after an announcement. This page lists those that will be removed, with their last day.</p>
<h2 id="policy">Policy</h2>
<ul>
<li>Within <code>/v1</code>, operations, fields and headers may be added, but are removed only as described below.</li>
<li>An operation that will be removed is marked <code>deprecated</code> in the contract. Its responses carry the headers <code>Deprecation</code> (since when), <code>Sunset</code> (until when) and <code>Link</code> (what to use instead).</li>
<li>The sunset is at least twelve months after the deprecation. From the sunset on, the response is <code>410</code> <a href="/docs/errors#gone"><code>gone</code></a>.</li>
<li><strong>Beta</strong> operations may change with 30 days’ notice, <strong>experimental</strong> ones at any time. The reference marks both.</li>
</ul>
<h2 id="deprecated">Deprecated operations</h2>
${deprecated.length > 0 ? deprecated.map(describeDeprecation) : html`<p>No operation is deprecated.</p>`}`;
}

function describeDeprecation({ id, method, path, summary, deprecation }: Operation): Html {
  if (!deprecation) return html``;
  const [since, sunset] = [dateOf(deprecation.since), dateOf(deprecation.sunset)];
  return html`<section id="${id}" aria-labelledby="${id}-heading" class="entry">
<h3 id="${id}-heading"><code>${id}</code></h3>
<p>${summary}: <code>${method} /v1${path}</code></p>
<dl>
<dt>Deprecated since</dt><dd><time datetime="${since}">${since}</time></dd>
<dt>Sunset</dt><dd><time datetime="${sunset}">${sunset}</time>, 00:00 UTC</dd>
<dt>Use instead</dt><dd><code>/v1${deprecation.successor}</code></dd>
</dl>
</section>
`;
}
