import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import type { Page } from './app.ts';

const FOREVER = 'public, max-age=31536000, immutable';
const FOLDER = new URL('./assets/', import.meta.url);

/** A file that pages refer to. Its path holds a digest of its content, so that it can be kept for ever. */
export interface Asset {
  readonly path: string;
  readonly page: Page;
}

/** Reads an asset of the service's own. Throws if it is not there. */
export function readAsset(name: string, contentType: string): Asset {
  return assetAt(new URL(name, FOLDER), name, contentType);
}

/** Reads an asset that a package brings: from where packing put a copy of it, in a checkout from the package itself. */
export function readPackagedAsset(specifier: string, contentType: string): Asset {
  const packed = new URL(specifier, FOLDER);
  const file = existsSync(packed) ? packed : new URL(import.meta.resolve(specifier));
  return assetAt(file, specifier.replace(/^.*\//, ''), contentType);
}

function assetAt(file: URL, name: string, contentType: string): Asset {
  const bytes = readFileSync(file);
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  const path = `/docs/assets/${name.replace(/(?=\.\w+$)/, `-${digest}`)}`;
  return { path, page: () => ({ status: 200, contentType, cacheControl: FOREVER, body: [bytes] }) };
}
