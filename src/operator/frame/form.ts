import { CatalogError } from '../../catalog/error.ts';
import type { Exchange } from '../../http/transport/exchange.ts';
import { readBytes } from '../../http/transport/request.ts';
import { type Form, readMultipart } from './multipart.ts';

const FORM_TYPE = /^(application\/x-www-form-urlencoded|multipart\/form-data)\s*(;|$)/i;
/** Parsed in one go, so it is small on every page. */
const URL_ENCODED_BYTES_MAX = 64 * 1024;

/**
 * Reads a form, URL-encoded or multipart. Throws `unsupported_media_type`, `malformed_request`, or as `readBytes` does.
 */
export async function readForm(exchange: Exchange, bytesMax: number): Promise<Form> {
  const contentType = exchange.request.headers['content-type'] ?? '';
  const [, type] = FORM_TYPE.exec(contentType) ?? [];
  if (!type) throw new CatalogError('unsupported_media_type', 'Only forms are accepted here');
  exchange.continue();
  if (type.toLowerCase() === 'multipart/form-data') {
    return readMultipart(await readBytes(exchange, bytesMax), contentType);
  }
  const bytes = await readBytes(exchange, Math.min(bytesMax, URL_ENCODED_BYTES_MAX));
  return { fields: new URLSearchParams(bytes.toString('utf8')) };
}

/** The trimmed value of a form field; empty if it is missing. */
export function field(form: URLSearchParams, name: string): string {
  return form.get(name)?.trim() ?? '';
}
