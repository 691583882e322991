import { createHash } from 'node:crypto';
import { shippedFile } from '../../shipped.ts';
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

/** Reads an asset. Throws if it is missing. */
export function readAsset(name: string, contentType: string, { folder, path } = DOCS): Asset {
  const bytes = shippedFile(`${folder}${name}`);
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  return {
    path: `${path}${name}`.replace(/(?=\.\w+$)/, `-${digest}`),
    page: fixedPage({ contentType, cacheControl: FOREVER, content: () => bytes }),
  };
}
