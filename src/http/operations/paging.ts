import type { TSchema } from 'typebox';
import { type CatalogError, invalid } from '../../catalog/error.ts';
import type { PageQuery, Place } from '../../catalog/resource.ts';
import { inWords, quote, wholeNumber } from '../../catalog/validate.ts';
import type { Answer, Exchange } from '../transport/exchange.ts';
import { currentAnswer } from './conditional.ts';
import type { Operation, Parameter } from './operation.ts';
import { readParameter } from './query.ts';

/** Items per page: at most, and by default. No answer grows with what is stored. */
export const PAGE_ITEMS_MAX = 100;
const PAGE_ITEMS = 20;
const CURSOR_PATTERN = /^after_([1-9a-z][0-9a-z]{0,10})$/;
/** The place in a list of the operator API, which is ordered by a number and an id. */
const PLACE_PATTERN = /^([0-9a-z]{1,10})\.([\w-]{0,1400})$/;

/** The parameter that bounds a page. */
export function pageLimit(limitMax: number, limitDefault?: number): Parameter {
  return {
    name: 'limit',
    description: `How many items to return, 1 to ${inWords(limitMax)}`,
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

/** The success of a list, with examples of its items. */
export function pageOf(items: TSchema, description: string, ...example: readonly object[]): Operation['success'] {
  const headers = { Link: 'The next page; absent on the last' };
  return { status: 200, description, schema: { type: 'array', items }, example, headers };
}

/** The parameters of every list that is always paged. */
export const PAGE_PARAMETERS: readonly Parameter[] = [pageLimit(PAGE_ITEMS_MAX, PAGE_ITEMS), CURSOR];

/** The cursor of the operator API. */
export const PLACE: Parameter = { name: CURSOR.name, description: CURSOR.description, schema: { type: 'string' } };

/** The requested page, or the first. Throws `validation_failed`. */
export function readPage(query: URLSearchParams, limitMax = PAGE_ITEMS_MAX, limitDefault = PAGE_ITEMS): PageQuery {
  const cursor = readCursor(query, CURSOR_PATTERN);
  const after = cursor ? Number.parseInt(cursor[1] ?? '', 36) : 0;
  if (!Number.isSafeInteger(after)) throw notACursor(cursor?.input);
  return { limit: readLimit(query, limitMax, limitDefault), after };
}

/** The number of items that the request wants. Throws `validation_failed`. */
export function readLimit(query: URLSearchParams, limitMax = PAGE_ITEMS_MAX, limitDefault = PAGE_ITEMS): number {
  const text = readParameter(query, 'limit');
  if (text === null) return limitDefault;
  const limit = /^[1-9][0-9]{0,8}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= limitMax) return limit;
  throw invalid(`limit is ${quote(text)}; send ${wholeNumber(1, limitMax)}`);
}

/** The place after which a page begins; undefined for the first. Throws `validation_failed`. */
export function readPlace(query: URLSearchParams): Place | undefined {
  const [, number = '', id = ''] = readCursor(query, PLACE_PATTERN) ?? [];
  return number === '' ? undefined : { number: Number.parseInt(number, 36), id };
}

/** The cursor of a place. */
export function placeText({ number, id }: Place): string {
  return `${number.toString(36)}.${id}`;
}

function readCursor(query: URLSearchParams, pattern: RegExp): RegExpExecArray | undefined {
  const text = readParameter(query, 'cursor');
  if (text === null) return undefined;
  const cursor = pattern.exec(text);
  if (!cursor) throw notACursor(text);
  return cursor;
}

function notACursor(text: string | undefined): CatalogError {
  return invalid(`cursor is ${quote(text)}; copy it from the Link header of the previous page`);
}

interface Found<T> {
  readonly limit: number;
  /** The items of the page, and one item more if there is one. */
  readonly found: readonly T[];
  readonly idOf: (item: T) => number;
  /** True if the request names a single item: the page then has the validator of that item, for `If-Match`. */
  readonly isOfOne?: boolean;
}

/** Answers with a page, and with the `Link` to the next one exactly while there is more; 304 if the client holds it. */
export function pageAnswer<T>(exchange: Exchange, { limit, found, idOf, isOfOne = false }: Found<T>): Answer {
  const body = JSON.stringify(found.slice(0, limit));
  const last = found.length > limit ? found[limit - 1] : undefined;
  if (!last) return currentAnswer(exchange, body, [], isOfOne ? body.slice(1, -1) : body);
  return currentAnswer(exchange, body, nextPage(exchange, { limit, after: idOf(last) }));
}

/** Answers with a page of the operator API, and with the `Link` to the next one if there is more after the last. */
export function placeAnswer(exchange: Exchange, items: readonly unknown[], last: Place | undefined): Answer {
  const headers = last ? nextLink(exchange, { cursor: placeText(last) }) : [];
  return { status: 200, headers, body: JSON.stringify(items) };
}

/** The `Link` to the page after an id. */
export function nextPage(exchange: Exchange, { limit, after }: PageQuery): string[] {
  return nextLink(exchange, { limit: `${limit}`, cursor: `after_${after.toString(36)}` });
}

/** The `Link` to a page, which keeps the filters of the request. */
function nextLink({ path, query }: Exchange, page: Readonly<Record<string, string>>): string[] {
  const kept = [...query].filter(([name]) => !(name in page));
  return ['Link', `<${path}?${new URLSearchParams([...kept, ...Object.entries(page)])}>; rel="next"`];
}
