import { CatalogError } from '../../catalog/error.ts';
import type { PageQuery } from '../../catalog/page.ts';
import { quote } from '../../catalog/validate.ts';
import type { Answer } from '../transport/exchange.ts';
import type { Parameter } from './operation.ts';

/** Items per page: at most, and by default. No answer grows with what is stored. */
const PAGE_ITEMS_MAX = 100;
const PAGE_ITEMS = 20;
const CURSOR_PATTERN = /^after_([1-9a-z][0-9a-z]{0,10})$/;

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

/** The parameters of every list that is always paged. */
export const PAGE_PARAMETERS: readonly Parameter[] = [pageLimit(PAGE_ITEMS_MAX, PAGE_ITEMS), CURSOR];

/** Whether the caller asks for a page, where a whole list is the default. */
export function asksForPage(query: URLSearchParams): boolean {
  return query.size > 0 && (query.has('limit') || query.has('cursor'));
}

/** The requested page, or the first. Throws `validation_failed`. */
export function readPage(query: URLSearchParams, limitMax = PAGE_ITEMS_MAX, limitDefault = PAGE_ITEMS): PageQuery {
  const [limit, cursor] = [readParameter(query, 'limit'), readParameter(query, 'cursor')];
  return {
    limit: limit === null ? limitDefault : readLimit(limit, limitMax),
    after: cursor === null ? 0 : readCursor(cursor),
  };
}

/** A query parameter, or null without it. Throws `validation_failed` if it is given twice. */
export function readParameter(query: URLSearchParams, name: string): string | null {
  const [value = null, ...more] = query.getAll(name);
  if (more.length === 0) return value;
  throw new CatalogError('validation_failed', `${name} is given ${more.length + 1} times; send it once`);
}

interface Found<T> {
  /** What the page holds, and one item more if there is one. */
  readonly found: readonly T[];
  readonly idOf: (item: T) => number;
  /** The request's filters, kept on the way to the next page. */
  readonly filter?: Readonly<Record<string, string>>;
}

/** Answers with a page, and with the `Link` to the next one exactly while there is more. */
export function pageAnswer<T>(path: string, { limit }: PageQuery, { found, idOf, filter }: Found<T>): Answer {
  const last = found.length > limit ? found[limit - 1] : undefined;
  const body = JSON.stringify(found.slice(0, limit));
  return { status: 200, headers: last ? nextPage(path, limit, idOf(last), filter) : [], body };
}

/** The `Link` to the page above an id. */
export function nextPage(path: string, limit: number, after: number, filter?: Found<unknown>['filter']): string[] {
  const next = new URLSearchParams({ ...filter, limit: `${limit}`, cursor: `after_${after.toString(36)}` });
  return ['Link', `</v1${path}?${next}>; rel="next"`];
}

/** Parses an id from a path; undefined if it is not a possible id. */
export function readId(text: string | undefined): number | undefined {
  if (text === undefined || !/^[1-9][0-9]{0,15}$/.test(text)) return undefined;
  const id = Number(text);
  return Number.isSafeInteger(id) ? id : undefined;
}

function readLimit(text: string, limitMax: number): number {
  const limit = /^[1-9][0-9]{0,8}$/.test(text) ? Number(text) : 0;
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
