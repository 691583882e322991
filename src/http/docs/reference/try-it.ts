import { type Html, html } from '../../html.ts';
import { exampleOf, sampleQuery } from '../samples/request.ts';
import type { Field, ReferenceApi, ReferenceOperation } from './contract.ts';

/** The form that sends a request of the operation to this service. The page's script sends it and shows the answer. */
export function tryIt(operation: ReferenceOperation, { basePath, credential }: ReferenceApi): Html {
  const { id, method, path, inPath, inQuery, inHeader, body } = operation;
  const shown = sampleQuery(operation);
  return html`<details class="try scripted" id="try-${id}">
<summary>Try it<span class="unseen">: ${operation.summary}</span></summary>
<div class="trial">
<form data-method="${method}" data-path="${basePath}${path}" novalidate>
${credentialField(credential)}
${inPath.map((field) => input(field, 'path', exampleOf(field)))}
${inQuery.map((field) => input(field, 'query', shown[field.name] ?? ''))}
${inHeader.map((field) => input(field, 'header', ''))}
${body ? bodyField(body.example) : ''}
<p class="send"><button type="submit">Send</button>${credential.noun === 'key' ? html` <span class="soft">It counts against the limits of the key.</span>` : ''}</p>
</form>
<div class="outcome" role="status"><p class="soft">The response appears here.</p></div>
</div>
</details>`;
}

/** A field for the key or token. All of them in a page hold the same one. */
export function credentialField({ label, prefix }: ReferenceApi['credential']): Html {
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
