import { CatalogError } from '../../../catalog/error.ts';
import { type Html, html } from '../../../http/html.ts';
import type { Exchange } from '../../../http/transport/exchange.ts';

/** Forms of the console: reads them, and shows them again with what is wrong. */

const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(;|$)/i;
const FORM_BYTES_MAX = 64 * 1024;

/** Reads a URL-encoded form. Throws `unsupported_media_type`, or as `readBody` does. */
export async function readForm(exchange: Exchange, bytesMax = FORM_BYTES_MAX): Promise<URLSearchParams> {
  const contentType = exchange.request.headers['content-type'] ?? '';
  if (!FORM_TYPE.test(contentType)) throw new CatalogError('unsupported_media_type', 'Only forms are accepted here');
  return new URLSearchParams((await exchange.readBody(bytesMax)).toString('utf8'));
}

/** The trimmed value of a form field; empty if it is missing. */
export function field(form: URLSearchParams, name: string): string {
  return form.get(name)?.trim() ?? '';
}

/** The mistakes in a form, by the name of the field; by the empty name, with the form as a whole. */
export type Mistakes = ReadonlyMap<string, string>;

export const NO_MISTAKES: Mistakes = new Map();

/** Every mistake with a link to its field, above the form; nothing without any. */
export function mistakeSummary(mistakes: Mistakes): Html {
  if (mistakes.size === 0) return html``;
  const items = [...mistakes].map(
    ([name, message]) => html`<li>${name === '' ? message : html`<a href="#${name}">${message}</a>`}</li>`,
  );
  return html`<div class="mistake" role="alert"><p>Nothing was saved.${mistakes.size > 1 ? ` ${mistakes.size} entries are not valid:` : ''}</p>
<ul>${items}</ul></div>`;
}

/** The attributes that tie a field to its hint and to its mistake. */
export function described(mistakes: Mistakes, name: string, { hasHint = false } = {}): Html {
  const ids = [...(mistakes.has(name) ? [`${name}-mistake`] : []), ...(hasHint ? [`${name}-hint`] : [])];
  return html`${mistakes.has(name) ? html` aria-invalid="true"` : ''}${ids.length > 0 ? html` aria-describedby="${ids.join(' ')}"` : ''}`;
}

/** The mistake of a field, to stand below it. */
export function fieldMistake(mistakes: Mistakes, name: string): Html {
  const message = mistakes.get(name);
  return message === undefined ? html`` : html`<p class="fault" id="${name}-mistake">${message}</p>`;
}
