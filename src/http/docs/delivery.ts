import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { shippedFile } from '../../shipped.ts';
import { memoizeAsync } from '../../stdx/one-at-a-time.ts';
import { weightsOf } from '../accept.ts';
import { etagOf, isCurrent } from '../operations/conditional.ts';
import type { PageHandler } from '../pages.ts';

/** Nearly as small as the best quality, in a tenth of the time. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };
const CODINGS = {
  br: (bytes: Buffer): Promise<Buffer> => promisify(brotliCompress)(bytes, BROTLI),
  gzip: (bytes: Buffer): Promise<Buffer> => promisify(gzip)(bytes, { level: 9 }),
  identity: async (bytes: Buffer): Promise<Buffer> => bytes,
};
type Coding = keyof typeof CODINGS;

/** A representation that does not change while the service runs. */
export interface FixedPage {
  /** Default: 200. An error has no validator. */
  readonly status?: 200 | 404;
  readonly contentType: string;
  readonly cacheControl: string;
  /** Flat: name, value, … */
  readonly headers?: readonly string[];
  /** Called on the first request; again only if it failed. */
  readonly content: () => string | Buffer | Promise<string | Buffer>;
}

/**
 * Creates a handler that makes the content once, keeps a copy for each content coding that was asked for, and gives
 * each copy its own strong validator (RFC 9110, section 8.8.3).
 */
export function fixedPage({ status = 200, contentType, cacheControl, headers = [], content }: FixedPage): PageHandler {
  const plain = memoizeAsync(async () => Buffer.from(await content()));
  const copyIn = (coding: Coding) =>
    memoizeAsync(async () => {
      const bytes = await plain();
      const [suffix, named] = coding === 'identity' ? ['', []] : [`-${coding}`, ['Content-Encoding', coding]];
      const etag = etagOf([bytes]).replace(/"$/, `${suffix}"`);
      return { body: [await CODINGS[coding](bytes)], etag, named };
    });
  const copies = { br: copyIn('br'), gzip: copyIn('gzip'), identity: copyIn('identity') };
  return async ({ request }) => {
    const { body, etag, named } = await copies[codingFor(request.headers['accept-encoding'])]();
    const vary = ['Vary', 'Accept-Encoding'];
    if (status === 404) {
      return { status, headers: [...headers, ...vary, ...named], contentType, body, code: 'not_found' };
    }
    const fresh = [...headers, 'ETag', etag, ...vary];
    if (isCurrent(request.headers['if-none-match'], etag)) return { status: 304, headers: fresh, cacheControl };
    return { status, headers: [...fresh, ...named], cacheControl, contentType, body };
  };
}

/** The best coding that the client accepts by name (RFC 9110, section 12.5.3). */
function codingFor(accepted: string | undefined): Coding {
  const weights = weightsOf(accepted);
  return (['br', 'gzip'] as const).find((coding) => (weights.get(coding) ?? 0) > 0) ?? 'identity';
}

const FOREVER = 'public, max-age=31536000, immutable';

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json',
  md: 'text/markdown; charset=utf-8',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
  yaml: 'application/yaml',
};
/** The folder that assets are read from, below `src`, and the path that they are served under. */
const DOCS = { folder: 'http/docs/assets/', path: '/docs/assets/' };

/** A static file. Its path contains a digest of its content, so caches may keep it for ever. */
export interface Asset {
  readonly path: string;
  readonly page: PageHandler;
}

/** The media type of a file, by the end of its name. */
export function mediaTypeOf(path: string): string {
  return TYPES[path.replace(/^.*\./, '')] ?? '';
}

/** Reads an asset. Throws if it is missing. */
export function readAsset(name: string, { folder, path } = DOCS): Asset {
  const bytes = shippedFile(`${folder}${name}`);
  const digest = hash('sha256', bytes).slice(0, 16);
  return {
    path: `${path}${name}`.replace(/(?=\.\w+$)/, `-${digest}`),
    page: fixedPage({ contentType: mediaTypeOf(name), cacheControl: FOREVER, content: () => bytes }),
  };
}
