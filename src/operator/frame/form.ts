import { CatalogError } from '../../catalog/error.ts';
import { readBytes } from '../../http/transport/body.ts';
import type { Exchange } from '../../http/transport/exchange.ts';

const FORM_TYPE = /^(application\/x-www-form-urlencoded|multipart\/form-data)\s*(;|$)/i;

/**
 * Reads a form, URL-encoded or multipart. Throws `unsupported_media_type`, `malformed_request`, or as `readBytes` does.
 */
export async function readForm(exchange: Exchange, bytesMax: number): Promise<FormData> {
  const contentType = exchange.request.headers['content-type'] ?? '';
  if (!FORM_TYPE.test(contentType)) throw new CatalogError('unsupported_media_type', 'Only forms are accepted here');
  exchange.continue();
  const bytes = await readBytes(exchange, bytesMax);
  try {
    return await new Response(bytes as Uint8Array<ArrayBuffer>, {
      headers: { 'content-type': contentType },
    }).formData();
  } catch {
    throw new CatalogError('malformed_request', 'The form cannot be read; send it again');
  }
}
