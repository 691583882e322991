import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import type { PageHandler } from '../pages.ts';
import { fixedPage } from './delivery.ts';

const FOREVER = 'public, max-age=31536000, immutable';

/** The folder that assets are read from, and the path that they are served under. */
interface AssetPlace {
  readonly folder: URL;
  readonly path: string;
}

const DOCS: AssetPlace = { folder: new URL('./assets/', import.meta.url), path: '/docs/assets/' };

/** A static file. Its path contains a digest of its content, so caches may keep it for ever. */
export interface Asset {
  readonly path: string;
  readonly page: PageHandler;
}

/** Reads an asset from the source tree. Throws if it is missing. */
export function readAsset(name: string, contentType: string, place = DOCS): Asset {
  return assetAt(new URL(name, place.folder), `${place.path}${name}`, contentType);
}

/** Reads an asset of a dependency: the copy bundled by packing or, in a checkout, the file in node_modules. */
export function readPackagedAsset(specifier: string, contentType: string, place = DOCS): Asset {
  const packed = new URL(specifier, place.folder);
  const file = existsSync(packed) ? packed : new URL(import.meta.resolve(specifier));
  return assetAt(file, `${place.path}${specifier.replace(/^.*\//, '')}`, contentType);
}

function assetAt(file: URL, plainPath: string, contentType: string): Asset {
  const bytes = readFileSync(file);
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  const path = plainPath.replace(/(?=\.\w+$)/, `-${digest}`);
  return { path, page: fixedPage({ contentType, cacheControl: FOREVER, content: () => bytes }) };
}
