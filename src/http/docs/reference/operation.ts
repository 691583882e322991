import { type Html, html } from '../../html.ts';
import { inline } from '../markdown.ts';
import { codeBlock, sampleTabs } from '../samples/block.ts';
import { highlight } from '../samples/highlight.ts';
import { LANGUAGES } from '../samples/languages.ts';
import { sampleRequest } from '../samples/request.ts';
import { boundsOf, ended } from './bounds.ts';
import type { Body, Field, OperationError, ReferenceApi, ReferenceOperation } from './contract.ts';
import { tryIt } from './try-it.ts';

const { STATUS_CODES } = process.getBuiltinModule('node:http');

/** An operation: what it does beside its samples, then a form to try it. */
export function operationSection(operation: ReferenceOperation, api: ReferenceApi): Html {
  const { id, summary } = operation;
  return html`<section id="${id}" class="operation" aria-labelledby="${id}-title">
<div class="columns">
<div class="text">
<h3 id="${id}-title"><a href="#${id}">${summary}</a></h3>
${facts(operation, api)}
${requestFields(operation)}
${response(operation)}
${operation.errors.length === 0 ? '' : html`<h4>Errors</h4>\n${errorList(operation.errors, api)}`}
</div>
<div class="code">
${samples(operation, api)}
</div>
</div>
${tryIt(operation, api)}
</section>
`;
}

function facts(operation: ReferenceOperation, { basePath, hasScopes }: ReferenceApi): Html {
  const { method, path, description, scopes, stability, sunset } = operation;
  const badges = [
    ...(stability ? [html` <a class="badge" href="/docs/versions#stability">${stability}</a>`] : []),
    ...(sunset ? [html` <a class="badge ends" href="/docs/deprecations">deprecated, ends ${sunset}</a>`] : []),
  ];
  // The badge links to what a stability means.
  const paragraphs = description.split('\n\n').filter((each) => !/^\*\*(Beta|Experimental)\*\*/.test(each));
  const needed =
    scopes.length > 0
      ? html`Needs the scope ${scopes.map((scope) => html`<code>${scope}</code>`)}.`
      : 'Any valid key may call it.';
  return html`<p class="endpoint"><span class="method ${method.toLowerCase()}">${method}</span> <code>${basePath}${path}</code>${badges}</p>
${paragraphs.map((paragraph) => html`<p>${inline(paragraph)}</p>\n`)}${hasScopes ? html`<p class="soft">${needed}</p>` : ''}`;
}

function requestFields({ id, inPath, inQuery, inHeader, body }: ReferenceOperation): Html {
  return html`${fields('Path', `${id}.path`, inPath)}
${fields('Query', `${id}.query`, inQuery)}
${fields('Headers', `${id}.header`, inHeader)}
${body ? fields('Body', `${id}.body`, body.fields) : ''}`;
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
  const bounds = isResponse && !field.schema.enum ? '' : boundsOf(field);
  const about = [field.description && ended(field.description), bounds].filter(Boolean).join(' ');
  const members = field.members.map((member) => fieldItem(member, { id: own, isResponse }));
  return html`<li id="${own}"><p class="field"><a href="#${own}"><code>${field.name}</code></a> <span class="type">${field.type}</span>${required}${optional}</p>
${about ? html`<p>${inline(about)}</p>` : ''}${members.length > 0 ? html`<ul class="fields">${members}</ul>` : ''}</li>
`;
}

function response({ id, success, conditional }: ReferenceOperation): Html {
  const { status, description, headers, body } = success;
  const type = body ? html` <span class="type">${body.type}</span>` : '';
  const items = body ? body.fields.map((field) => fieldItem(field, { id: `${id}.response`, isResponse: true })) : [];
  const named = headers.map(
    (header) => html`<li><p class="field"><code>${header.name}</code> <span class="type">header</span></p>
<p>${inline(ended(header.description))}</p></li>\n`,
  );
  return html`<h4>Response</h4>
<p><strong>${status}</strong> ${ended(description)}${type}</p>
${items.length + named.length > 0 ? html`<ul class="fields">${items}${named}</ul>` : ''}
${conditional ? html`<p><strong>304</strong> Without a body, if <code>If-None-Match</code> holds the current <code>ETag</code>.</p>` : ''}`;
}

/** Each error with what it means, and a link to its cause where that is served. */
export function errorList(listed: readonly OperationError[], { hasGuide }: Pick<ReferenceApi, 'hasGuide'>): Html {
  const items = listed.map(({ status, code, meaning }) => {
    const name = hasGuide ? html`<a href="/docs/errors#${code}"><code>${code}</code></a>` : html`<code>${code}</code>`;
    return html`<li>${name} <span class="status">${status}</span> <span class="soft">${meaning}</span></li>\n`;
  });
  return html`<ul class="errors">${items}</ul>`;
}

function samples(operation: ReferenceOperation, api: ReferenceApi): Html {
  const request = sampleRequest(operation, api);
  const written = LANGUAGES.flatMap(({ id, label, write }) => {
    const code = write(request, operation.id);
    return code === undefined ? [] : [{ language: id, label, code }];
  });
  return html`${sampleTabs(`language-${operation.id}`, written)}
${responseExample(operation.success.status, operation.success.body)}
${operation.errors.map((error) => failureExample(error, operation.id))}`;
}

/** The body of a failure, shown when it is asked for, one at a time. */
function failureExample({ status, code, message }: OperationError, id: string): Html {
  if (message === undefined) return html``;
  const body = JSON.stringify({ code, message, status: Number(status) }, null, 2);
  return html`<details class="sample failure" name="failure-${id}"><summary>${status} <code>${code}</code></summary>
<pre><code>${highlight(body, 'json')}</code></pre></details>
`;
}

function responseExample(status: string, body: Body | undefined): Html {
  const label = `${status} ${STATUS_CODES[status] ?? ''}`;
  if (!body) return html`<p class="soft">${label}, without a body</p>`;
  return codeBlock({ language: 'json', label, code: JSON.stringify(body.example, null, 2) });
}
