import { setImmediate as nextTurn } from 'node:timers/promises';
import { CatalogError } from '../../catalog/error.ts';
import { type Html, html } from '../../http/html.ts';
import type { Exchange } from '../../http/transport/exchange.ts';

/** Forms of the console: reads them, and shows them again with what is wrong. */

const FORM_TYPE = /^(application\/x-www-form-urlencoded|multipart\/form-data)\s*(;|$)/i;
/** Parsed in one go, so it is small on every page. */
const URL_ENCODED_BYTES_MAX = 64 * 1024;
const PARTS_MAX = 100;
const HEAD_BYTES_MAX = 4 * 1024;
const VALUE_BYTES_MAX = 64 * 1024;
/** The bytes of a part that are searched for its end before the event loop turns. */
const SLICE_BYTES = 64 * 1024;
/** RFC 2046, section 5.1.1. */
const BOUNDARY = /;[ \t]*boundary=(?:"([^"\r\n]{1,70})"|([^\s";,]{1,70}))/i;
const DISPOSITION = /^content-disposition:[ \t]*form-data((?:;[ \t]*[\w*-]+="[^"\r\n]*"[ \t]*)+)$/im;
const PARAMETERS = /;[ \t]*([\w*-]+)="([^"]*)"/g;
const LINE_END = '\r\n';

export interface SentFile {
  /** Empty if none was chosen. */
  readonly name: string;
  /** A view of the body, not a copy. */
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

/**
 * Reads a body of multipart/form-data (RFC 7578) as browsers write it, without a copy of the file. The event loop turns
 * after every slice. Throws `malformed_request`, also beyond the bounds of parts, of their heads and of their values.
 */
async function readMultipart(body: Buffer, contentType: string): Promise<Form> {
  const [, quoted, token] = BOUNDARY.exec(contentType) ?? [];
  const delimiter = Buffer.from(`${LINE_END}--${quoted ?? token ?? ''}`, 'latin1');
  const first = delimiter.subarray(LINE_END.length);
  if (first.length <= '--'.length || !body.subarray(0, first.length).equals(first)) throw unreadable();
  const fields = new URLSearchParams();
  let file: SentFile | undefined;
  let at = first.length;
  for (let parts = 0; textAt(body, at, 2) !== '--'; parts += 1) {
    if (parts >= PARTS_MAX || textAt(body, at, 2) !== LINE_END) throw unreadable();
    const headLength = body.subarray(at, at + HEAD_BYTES_MAX).indexOf(LINE_END + LINE_END);
    if (headLength === -1) throw unreadable();
    const { name, filename } = readHead(body.toString('utf8', at + LINE_END.length, at + headLength));
    const start = at + headLength + 2 * LINE_END.length;
    const end = await find(body, delimiter, start);
    const bytes = body.subarray(start, end);
    if (filename !== undefined) {
      if (name === 'file') file ??= { name: filename, bytes };
    } else if (bytes.length > VALUE_BYTES_MAX) throw unreadable();
    else fields.append(name, bytes.toString('utf8'));
    at = end + delimiter.length;
  }
  return { fields, file };
}

function unreadable(): CatalogError {
  return new CatalogError('malformed_request', 'The form cannot be read; send it again');
}

function textAt(body: Buffer, at: number, length: number): string {
  return body.toString('latin1', at, at + length);
}

function readHead(head: string): { name: string; filename: string | undefined } {
  const found = DISPOSITION.exec(head)?.[1] ?? '';
  const parameters = new Map(
    [...found.matchAll(PARAMETERS)].map(([, key = '', value = '']) => [key.toLowerCase(), value]),
  );
  const name = parameters.get('name');
  if (name === undefined) throw unreadable();
  return { name, filename: parameters.get('filename') };
}

/** Where the delimiter is next. Slices overlap, so that it is found on the border of two. */
async function find(body: Buffer, delimiter: Buffer, from: number): Promise<number> {
  for (let start = from; start < body.length; start += SLICE_BYTES) {
    const at = body.subarray(start, start + SLICE_BYTES + delimiter.length - 1).indexOf(delimiter);
    if (at !== -1) return start + at;
    await nextTurn();
  }
  throw unreadable();
}
