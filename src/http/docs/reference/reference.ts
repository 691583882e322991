import { type Html, html } from '../../html.ts';
import {
  type DescribedApi,
  type DescribedOperation,
  type Field,
  membersOf,
  type OperationError,
} from '../described.ts';
import { inline } from '../markdown.ts';
import { codeBlock, sampleTabs } from '../samples/block.ts';
import { inEveryLanguage, sampleQuery, sampleRequest, sampleValue } from '../samples/languages.ts';
import type { NavigationGroup } from '../site.ts';
import { aboutField, capitalized, ended, typeOf } from './words.ts';

const { STATUS_CODES } = process.getBuiltinModule('node:http');

/** The places of the fields of a request, with their headings. */
export const PLACES = [
  ['path', 'Path'],
  ['query', 'Query'],
  ['header', 'Headers'],
  ['body', 'Body'],
] as const;

/** An API with what its reference shows beside it. */
export interface ReferenceApi extends DescribedApi {
  readonly heading: string;
  /** The address in the samples, without a slash at the end. */
  readonly baseUrl: string;
  /** The path before each operation's, on the listener that serves the reference. */
  readonly basePath: string;
}

/** The reference: every operation of the contract under its tag. */
export function referenceContent(api: ReferenceApi): Html {
  const { info, servers, tags, credential } = api;
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
  return html`<h1>${api.heading} <span class="status">${info.version}</span></h1>
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
<p>The samples read the ${noun} from the environment variable <code>${variable}</code>. ${everyResponse(api)}
</div>
${groups}`;
}

/** The text on what all responses have in common, to the end of the paragraph. */
function everyResponse(api: DescribedApi): Html {
  if (api.isPublic) {
    return html`Every response carries the <a href="/docs/limits#headers">limit headers</a> and an <code>X-Request-Id</code>. Beside the errors listed, every operation can respond with <a href="/docs/errors">those that all share</a>: 400, 401, 403, 429, 500 and 503. Unknown members of a body are <a href="/docs/errors#what-is-ignored">ignored</a>, unknown query parameters are not.</p>`;
  }
  return html`Every response carries an <code>X-Request-Id</code>. Beside the errors listed, every operation can respond with these:</p>
${errorList(api.sharedErrors, api)}`;
}

/** Links to the operations in the reference at `path`, by tag. */
export function operationLinks({ tags, operations }: DescribedApi, path: string): NavigationGroup[] {
  return tags.map(({ name }) => ({
    title: capitalized(name),
    links: operations
      .filter(({ tag }) => tag === name)
      .map(({ id, summary, method }) => ({ path: `${path}#${id}`, title: summary, method })),
  }));
}

/** An operation: what it does beside its samples, then a form to try it. */
function operationSection(operation: DescribedOperation, api: ReferenceApi): Html {
  const { id, summary } = operation;
  const samples = sampleTabs(`language-${id}`, inEveryLanguage(sampleRequest(operation, api)));
  return html`<section id="${id}" class="operation" aria-labelledby="${id}-title">
<div class="columns">
<div class="text">
<h3 id="${id}-title"><a href="#${id}">${summary}</a></h3>
${facts(operation, api)}
${PLACES.map(([place, title]) => html`${fields(title, `${id}.${place}`, operation.fields[place])}\n`)}${response(operation)}
${operation.errors.length === 0 ? '' : html`<h4>Errors</h4>\n${errorList(operation.errors, api)}`}
</div>
<div class="code">
${samples}
${successExample(operation.success)}
</div>
</div>
${tryIt(operation, api)}
</section>
`;
}

function facts(operation: DescribedOperation, { basePath, isPublic }: ReferenceApi): Html {
  const { method, path, description, permission, stability, sunset } = operation;
  const badges = [
    ...(stability ? [html` <a class="badge" href="/docs/versions#stability">${stability}</a>`] : []),
    ...(sunset ? [html` <a class="badge ends" href="/docs/deprecations">deprecated, ends ${sunset}</a>`] : []),
  ];
  // The badge links to what a stability means.
  const paragraphs = description.split('\n\n').filter((each) => !/^\*\*(Beta|Experimental)\*\*/.test(each));
  const needed =
    permission === 'any' ? 'Any valid key may call it.' : html`Needs the scope <code>${permission}</code>.`;
  return html`<p class="endpoint"><span class="method ${method.toLowerCase()}">${method}</span> <code>${basePath}${path}</code>${badges}</p>
${paragraphs.map((paragraph) => html`<p>${inline(paragraph)}</p>\n`)}${isPublic ? html`<p class="soft">${needed}</p>` : ''}`;
}

function fields(title: string, id: string, listed: readonly Field[]): Html {
  if (listed.length === 0) return html``;
  return html`<h4>${title}</h4>
<ul class="fields">${listed.map((field) => fieldItem(field, { id, isResponse: false }))}</ul>`;
}

function fieldItem(field: Field, { id, isResponse }: { readonly id: string; readonly isResponse: boolean }): Html {
  const own = `${id}.${field.name}`;
  const required = isResponse ? '' : html` <strong class="required">${field.isRequired ? 'required' : ''}</strong>`;
  const optional = isResponse && !field.isRequired ? html` <span class="type">optional</span>` : '';
  const about = aboutField(field, isResponse);
  const members = membersOf(field.schema).map((member) => fieldItem(member, { id: own, isResponse }));
  return html`<li id="${own}"><p class="field"><a href="#${own}"><code>${field.name}</code></a> <span class="type">${typeOf(field.schema)}</span>${required}${optional}</p>
${about ? html`<p>${inline(about)}</p>` : ''}${members.length > 0 ? html`<ul class="fields">${members}</ul>` : ''}</li>
`;
}

function response({ id, success, conditional }: DescribedOperation): Html {
  const { status, description, headers, schema } = success;
  const type = schema ? html` <span class="type">${typeOf(schema)}</span>` : '';
  const members = schema ? membersOf(schema) : [];
  const items = members.map((field) => fieldItem(field, { id: `${id}.response`, isResponse: true }));
  const named = Object.entries(headers).map(
    ([name, about]) => html`<li><p class="field"><code>${name}</code> <span class="type">header</span></p>
<p>${inline(ended(about))}</p></li>\n`,
  );
  return html`<h4>Response</h4>
<p><strong>${status}</strong> ${ended(description)}${type}</p>
${items.length + named.length > 0 ? html`<ul class="fields">${items}${named}</ul>` : ''}
${conditional ? html`<p><strong>304</strong> Without a body, if <code>If-None-Match</code> holds the current <code>ETag</code>.</p>` : ''}`;
}

/** Each error with what it means, and a link to its cause where that is served. */
function errorList(listed: readonly OperationError[], { isPublic }: DescribedApi): Html {
  const items = listed.map(({ status, code, meaning }) => {
    const name = isPublic ? html`<a href="/docs/errors#${code}"><code>${code}</code></a>` : html`<code>${code}</code>`;
    return html`<li>${name} <span class="status">${status}</span> <span class="soft">${meaning}</span></li>\n`;
  });
  return html`<ul class="errors">${items}</ul>`;
}

function successExample({ status, schema, example }: DescribedOperation['success']): Html {
  const label = `${status} ${STATUS_CODES[status] ?? ''}`;
  if (!schema) return html`<p class="soft">${label}, without a body</p>`;
  return codeBlock({ language: 'json', label, code: JSON.stringify(example, null, 2) });
}

/** The form that sends a request of the operation to this service. The page's script sends it and shows the answer. */
function tryIt(operation: DescribedOperation, { basePath, credential }: ReferenceApi): Html {
  const { id, method, path, fields, body } = operation;
  const shown = sampleQuery(operation);
  return html`<details class="try scripted" id="try-${id}">
<summary>Try it<span class="unseen">: ${operation.summary}</span></summary>
<div class="trial">
<form data-method="${method}" data-path="${basePath}${path}" novalidate>
${credentialField(credential)}
${fields.path.map((field) => input(field, 'path', sampleValue(field)))}
${fields.query.map((field) => input(field, 'query', shown[field.name] ?? ''))}
${fields.header.map((field) => input(field, 'header', ''))}
${body ? bodyField(body.example) : ''}
<p class="send"><button type="submit">Send</button>${credential.noun === 'key' ? html` <span class="soft">It counts against the limits of the key.</span>` : ''}</p>
</form>
<div class="outcome" role="status"><p class="soft">The response appears here.</p></div>
</div>
</details>`;
}

/** A field for the key or token. All of them in a page hold the same one. */
function credentialField({ label, prefix }: DescribedApi['credential']): Html {
  return html`<label class="input"><span>${label}</span>
<input type="password" data-key-field autocomplete="off" spellcheck="false" placeholder="${prefix}…"></label>`;
}

function input({ name, isRequired, schema }: Field, place: 'path' | 'query' | 'header', value: string): Html {
  const label = html`<span><code>${name}</code> <span class="soft">${place}</span>${isRequired ? html` <strong class="required">required</strong>` : ''}</span>`;
  const named = html` name="${name}" data-in="${place}"`;
  if (schema.enum) {
    const options = ['', ...schema.enum].map((choice) => html`<option>${choice}</option>`);
    return html`<label class="input">${label}
<select${named}>${options}</select></label>
`;
  }
  return html`<label class="input">${label}
<input${named} value="${value}"${name === 'Idempotency-Key' ? html` placeholder="a new one for each request"` : ''} autocomplete="off" spellcheck="false"></label>
`;
}

function bodyField(example: unknown): Html {
  const text = JSON.stringify(example, null, 2);
  return html`<label class="input"><span>Body <span class="soft">JSON</span></span>
<textarea data-in="body" rows="${text.split('\n').length + 1}" spellcheck="false">${text}</textarea></label>
<p class="mistake" role="alert" hidden></p>`;
}
