import { type Html, html } from '../html.ts';
import type { Contract, ReferenceOperation } from './contract.ts';
import { operationSection } from './operation.ts';
import { KEY_FIELD } from './try-it.ts';

/** The reference: every operation of the contract under its tag. */
export function referenceContent(contract: Contract, operations: readonly ReferenceOperation[]): Html {
  const { info, servers, tags } = contract;
  const [scheme] = Object.values(contract.components.securitySchemes);
  const groups = tags.map(
    ({ name, description }) => html`<section class="group" id="${name}" aria-labelledby="${name}-title">
<h2 id="${name}-title"><a href="#${name}">${titleOf(name)}</a></h2>
<p class="lead">${description}.</p>
${operations.filter(({ tag }) => tag === name).map((operation) => operationSection(operation, servers[0]?.url ?? ''))}
</section>
`,
  );
  const addresses = servers.map(({ description, url }) => html`<dt>${description}</dt><dd><code>${url}</code></dd>`);
  return html`<h1>Reference <span class="status">${info.version}</span></h1>
<div class="intro">
<p class="lead">${info.description}</p>
<dl class="addresses">${addresses}</dl>
<section class="key scripted" aria-labelledby="key-heading" data-key-pattern="${scheme?.bearerFormat ?? ''}">
<h2 id="key-heading">Your key</h2>
<form>
${KEY_FIELD}
</form>
<p class="soft" role="status" data-key-state>Paste a key to fill it into the samples and to try the operations. It stays in this tab.</p>
<button type="button" class="quiet" data-key-forget hidden>Forget the key</button>
</section>
<noscript><p class="note">Without scripts the operations cannot be tried from this page. Copy a sample instead.</p></noscript>
<p>The samples read the key from the environment variable <code>PET_CATALOG_KEY</code>. Every answer carries the <a href="/docs/limits#headers">limit headers</a> and an <code>X-Request-Id</code>. Beside the errors listed, every operation can answer with <a href="/docs/errors">those that all share</a>: 401, 403, 429, 500 and 503.</p>
</div>
${groups}`;
}

/** The heading of a tag. */
export function titleOf(tag: string): string {
  return `${tag[0]?.toUpperCase() ?? ''}${tag.slice(1)}`;
}
