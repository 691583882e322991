import { createHash } from 'node:crypto';
import { packagedFile, shippedFile } from '../../shipped.ts';
import type { PageHandler } from '../pages.ts';
import { fixedPage } from './delivery.ts';

const FOREVER = 'public, max-age=31536000, immutable';

/** The folder that assets are read from, below `src`, and the path that they are served under. */
interface AssetPlace {
  readonly folder: string;
  readonly path: string;
}

const DOCS: AssetPlace = { folder: 'http/docs/assets/', path: '/docs/assets/' };

/** A static file. Its path contains a digest of its content, so caches may keep it for ever. */
export interface Asset {
  readonly path: string;
  readonly page: PageHandler;
}

/** Reads an asset from the source tree. Throws if it is missing. */
export function readAsset(name: string, contentType: string, place = DOCS): Asset {
  return assetOf(shippedFile(`${place.folder}${name}`), `${place.path}${name}`, contentType);
}

/** Reads an asset of a dependency: the copy bundled by packing or, in a checkout, the file in node_modules. */
export function readPackagedAsset(specifier: string, contentType: string, place = DOCS): Asset {
  const bytes = packagedFile(`${place.folder}${specifier}`, specifier);
  return assetOf(bytes, `${place.path}${specifier.replace(/^.*\//, '')}`, contentType);
}

function assetOf(bytes: Buffer, plainPath: string, contentType: string): Asset {
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  const path = plainPath.replace(/(?=\.\w+$)/, `-${digest}`);
  return { path, page: fixedPage({ contentType, cacheControl: FOREVER, content: () => bytes }) };
}
