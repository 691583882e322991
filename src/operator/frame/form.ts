import { MIMEType } from 'node:util';
import { CatalogError } from '../../catalog/error.ts';
import { type Html, html } from '../../http/html.ts';
import type { Exchange } from '../../http/transport/exchange.ts';

/** Forms of the console: reads them, and shows them again with what is wrong. */

const FORM_TYPE = /^(application\/x-www-form-urlencoded|multipart\/form-data)\s*(;|$)/i;
/** Parsed in one go, so it is small on every page. */
const URL_ENCODED_BYTES_MAX = 64 * 1024;
const PARTS_MAX = 100;

export interface SentFile {
  /** Empty if none was chosen. */
  readonly name: string;
  readonly bytes: Buffer;
}

interface Form {
  readonly fields: URLSearchParams;
  /** The first file of the field `file`. */
  readonly file?: SentFile | undefined;
}

/**
 * Reads a form, URL-encoded or multipart. Throws `unsupported_media_type`, `malformed_request`, or as `readBody` does.
 */
export async function readForm(exchange: Exchange, bytesMax: number): Promise<Form> {
  const contentType = exchange.request.headers['content-type'] ?? '';
  const [, type] = FORM_TYPE.exec(contentType) ?? [];
  if (!type) throw new CatalogError('unsupported_media_type', 'Only forms are accepted here');
  if (type.toLowerCase() === 'multipart/form-data') {
    return readMultipart(await exchange.readBody(bytesMax), contentType);
  }
  const bytes = await exchange.readBody(Math.min(bytesMax, URL_ENCODED_BYTES_MAX));
  return { fields: new URLSearchParams(bytes.toString('utf8')) };
}

/**
 * Reads a body of multipart/form-data. `formData` does not yield: it takes 40 ms for a file of 8 MiB, and as long for a
 * few thousand fields, so both are bounded first. Throws `malformed_request`.
 */
async function readMultipart(body: Buffer, contentType: string): Promise<Form> {
  try {
    const boundary = new MIMEType(contentType).params.get('boundary') ?? '';
    if (countUpTo(PARTS_MAX + 2, body, `--${boundary}`) > PARTS_MAX + 1) throw new Error('too many parts');
    const form = await new Response(body as Buffer<ArrayBuffer>, {
      headers: { 'content-type': contentType },
    }).formData();
    const texts = [...form].filter((entry): entry is [string, string] => typeof entry[1] === 'string');
    const file = form.getAll('file').find((value) => value instanceof File);
    const sent = file && { name: file.name, bytes: Buffer.from(await file.arrayBuffer()) };
    return { fields: new URLSearchParams(texts), file: sent };
  } catch (cause) {
    throw new CatalogError('malformed_request', 'The form cannot be read; send it again', { cause });
  }
}

function countUpTo(max: number, body: Buffer, text: string): number {
  let count = 0;
  for (let at = body.indexOf(text); at !== -1 && count < max; at = body.indexOf(text, at + 1)) count += 1;
  return count;
}

/** The trimmed value of a form field; empty if it is missing. */
export function field(form: URLSearchParams, name: string): string {
  return form.get(name)?.trim() ?? '';
}

/** The mistakes in a form, by the name of the field; by the empty name, with the form as a whole. */
export type Mistakes = ReadonlyMap<string, string>;

export const NO_MISTAKES: Mistakes = new Map();

/** The mistake in one field of a form; none without a message. */
export function mistakesIn(name: string, message: string | undefined): Mistakes {
  return message === undefined ? NO_MISTAKES : new Map([[name, message]]);
}

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
