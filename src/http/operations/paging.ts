import { setImmediate as nextTurn } from 'node:timers/promises';
import { CatalogError } from '../../catalog/error.ts';
import type { PageQuery } from '../../catalog/page.ts';
import { quote } from '../../catalog/validate.ts';
import type { Parameter } from './operation.ts';

/** Items read or serialized between two turns of the event loop, so that other requests are served in between. */
const ITEMS_AT_ONCE = 1_000;
const CURSOR_PATTERN = /^after_([0-9a-z]{1,11})$/;

/** The parameter that bounds a page. */
export function pageLimit(limitMax: number, limitDefault?: number): Parameter {
  return {
    name: 'limit',
    description: `How many items to return, 1 to ${limitMax}`,
    schema: {
      type: 'integer',
      minimum: 1,
      maximum: limitMax,
      ...(limitDefault !== undefined && { default: limitDefault }),
      example: 20,
    },
  };
}

export const CURSOR: Parameter = {
  name: 'cursor',
  description: 'Opaque: copy it from the `Link` header of the previous page',
  schema: { type: 'string', pattern: CURSOR_PATTERN.source },
};

/**
 * Reads a whole list page by page, in ascending order of id, as JSON. Items added meanwhile may be missing. Fails as
 * `readNext` does.
 */
export async function readAll<T>(
  readNext: (page: PageQuery) => Promise<readonly T[]>,
  idOf: (item: T) => number,
): Promise<readonly Uint8Array[]> {
  const parts: Buffer[] = [];
  for (let after = 0; ; ) {
    const items = await readNext({ after, limit: ITEMS_AT_ONCE });
    const json = JSON.stringify(items).slice(1, -1);
    if (items.length > 0) parts.push(Buffer.from(`${after === 0 ? '' : ','}${json}`));
    const last = items.at(-1);
    if (items.length < ITEMS_AT_ONCE || !last) break;
    after = idOf(last);
    await nextTurn();
  }
  return [Buffer.from('['), ...parts, Buffer.from(']')];
}

/** The requested page, or undefined without `limit` and `cursor`. Throws `validation_failed`. */
export function readPage(query: URLSearchParams, limitMax: number, limitDefault = limitMax): PageQuery | undefined {
  if (query.size === 0) return undefined;
  const [limit, cursor] = [query.get('limit'), query.get('cursor')];
  if (limit === null && cursor === null) return undefined;
  return {
    limit: limit === null ? limitDefault : readLimit(limit, limitMax),
    after: cursor === null ? 0 : readCursor(cursor),
  };
}

/** The `Link` to the next page, if `found` holds an item beyond this one. Flat; empty on the last page. */
export function nextLink(
  path: string,
  page: PageQuery,
  found: readonly { id: number }[],
  filter: Record<string, string> = {},
): string[] {
  const last = found[page.limit - 1];
  if (!last || found.length <= page.limit) return [];
  const query = new URLSearchParams({ ...filter, limit: `${page.limit}`, cursor: `after_${last.id.toString(36)}` });
  return ['Link', `</v1${path}?${query}>; rel="next"`];
}

/** Parses an id from a path; undefined if it is not a possible id. */
export function readId(text: string | undefined): number | undefined {
  if (text === undefined || !/^[1-9][0-9]{0,15}$/.test(text)) return undefined;
  const id = Number(text);
  return Number.isSafeInteger(id) ? id : undefined;
}

function readLimit(text: string, limitMax: number): number {
  const limit = /^[0-9]{1,9}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= limitMax) return limit;
  throw new CatalogError('validation_failed', `limit is ${quote(text)}; send a whole number from 1 to ${limitMax}`);
}

function readCursor(text: string): number {
  const after = Number.parseInt(CURSOR_PATTERN.exec(text)?.[1] ?? '', 36);
  if (Number.isSafeInteger(after)) return after;
  throw new CatalogError(
    'validation_failed',
    `cursor is ${quote(text)}; copy it from the Link header of the previous page`,
  );
}
