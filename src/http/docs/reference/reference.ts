import { type Html, html } from '../../html.ts';
import type { DescribedApi } from '../described.ts';
import { inline } from '../markdown.ts';
import type { NavigationGroup } from '../site.ts';
import { capitalized, type ReferenceApi, sharedErrors } from './contract.ts';
import { credentialField, errorList, operationSection } from './operation.ts';

/** The reference: every operation of the contract under its tag. */
export function referenceContent(api: ReferenceApi): Html {
  const { info, servers, tags, credential } = api.described;
  const { noun, variable } = credential;
  const groups = tags.map(
    ({ name, description }) => html`<section class="group" id="${name}" aria-labelledby="${name}-title">
<h2 id="${name}-title"><a href="#${name}">${capitalized(name)}</a></h2>
<p class="lead">${description}.</p>
${api.operations.filter(({ tag }) => tag === name).map((operation) => operationSection(operation, api))}
</section>
`,
  );
  const addresses = servers.map(({ description, url }) => html`<dt>${description}</dt><dd><code>${url}</code></dd>`);
  return html`<h1>${api.title} <span class="status">${info.version}</span></h1>
<div class="intro">
<p class="lead">${inline(info.description)}</p>
<dl class="addresses">${addresses}</dl>
<section class="key scripted" aria-labelledby="key-heading" data-key-pattern="${credential.format}" data-key-noun="${noun}" data-key-variable="${variable}">
<h2 id="key-heading">Your ${noun}</h2>
<form>
${credentialField(credential)}
</form>
<p class="soft" role="status" data-key-state>Paste a ${noun} to fill it into the samples and to try the operations. It stays in this tab.</p>
<button type="button" class="quiet" data-key-forget hidden>Forget the ${noun}</button>
</section>
<noscript><p class="note">Without scripts the operations cannot be tried from this page. Copy a sample instead.</p></noscript>
<p>The samples read the ${noun} from the environment variable <code>${variable}</code>. ${everyResponse(api.described)}
</div>
${groups}`;
}

/** The text on what all responses have in common, to the end of the paragraph. */
function everyResponse(described: DescribedApi): Html {
  if (described.isPublic) {
    return html`Every response carries the <a href="/docs/limits#headers">limit headers</a> and an <code>X-Request-Id</code>. Beside the errors listed, every operation can respond with <a href="/docs/errors">those that all share</a>: 400, 401, 403, 429, 500 and 503. Unknown members of a body are <a href="/docs/errors#what-is-ignored">ignored</a>, unknown query parameters are not.</p>`;
  }
  return html`Every response carries an <code>X-Request-Id</code>. Beside the errors listed, every operation can respond with these:</p>
${errorList(sharedErrors(described), described)}`;
}

/** Links to the operations in the reference at `path`, by tag. */
export function operationLinks({ described, operations }: ReferenceApi, path: string): NavigationGroup[] {
  return described.tags.map(({ name }) => ({
    title: capitalized(name),
    links: operations
      .filter(({ tag }) => tag === name)
      .map(({ id, summary, method }) => ({ path: `${path}#${id}`, title: summary, method })),
  }));
}
