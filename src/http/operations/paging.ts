import { CatalogError } from '../../catalog/error.ts';
import type { PageQuery } from '../../catalog/page.ts';
import { inWords, nearest, quote, wholeNumber } from '../../catalog/validate.ts';
import type { Answer, Exchange } from '../transport/exchange.ts';
import { currentAnswer } from './conditional.ts';
import type { Operation, Parameter } from './operation.ts';

/** Items per page: at most, and by default. No answer grows with what is stored. */
export const PAGE_ITEMS_MAX = 100;
const PAGE_ITEMS = 20;
const CURSOR_PATTERN = /^after_([1-9a-z][0-9a-z]{0,10})$/;

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

/** The parameters of every list that is always paged. */
export const PAGE_PARAMETERS: readonly Parameter[] = [pageLimit(PAGE_ITEMS_MAX, PAGE_ITEMS), CURSOR];

/**
 * Checks that an operation has every parameter of a query: a mistyped filter must not answer with everything. Throws
 * `validation_failed` with the name, never with the value, which may be a secret.
 */
export function checkQuery(
  { id, queryParameters = [] }: Pick<Operation, 'id' | 'queryParameters'>,
  query: URLSearchParams,
): void {
  for (const name of query.keys()) {
    if (!queryParameters.some((parameter) => parameter.name === name))
      throw unknownParameter(name, id, queryParameters);
  }
}

function unknownParameter(name: string, operation: string, parameters: readonly Parameter[]): CatalogError {
  const unknown = `${/^[\w.[\]-]{1,40}$/.test(name) ? name : quote(name)} is no parameter of ${operation}`;
  const names = parameters.map((parameter) => parameter.name);
  const meant = parameters.find((parameter) => parameter.name === nearest(name, names));
  if (!meant) {
    const advice = names.length > 0 ? `it has ${names.join(', ')}` : 'it has none';
    return new CatalogError('validation_failed', `${unknown}; ${advice}`);
  }
  const isBracketed = isList(meant) && name.startsWith(`${meant.name}[`);
  const advice = isBracketed ? `send ${meant.name}=1,2` : `did you mean ${meant.name}?`;
  return new CatalogError('validation_failed', `${unknown}; ${advice}`);
}

/** Whether the parameter is a list, separated by commas or repeated. */
function isList({ schema }: Parameter): boolean {
  return 'items' in schema;
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
  readonly path: string;
  readonly limit: number;
  /** What the page holds, and one item more if there is one. */
  readonly found: readonly T[];
  readonly idOf: (item: T) => number;
  /** The filters of the list; the `Link` keeps those of the request. */
  readonly filters?: readonly Parameter[];
  /** Whether the request names a single item: the page then has the validator of that item, for `If-Match`. */
  readonly isOfOne?: boolean;
}

/** Answers with a page, and with the `Link` to the next one exactly while there is more; 304 if the client holds it. */
export function pageAnswer<T>(
  exchange: Exchange,
  { path, limit, found, idOf, filters = [], isOfOne = false }: Found<T>,
): Answer {
  const body = JSON.stringify(found.slice(0, limit));
  const last = found.length > limit ? found[limit - 1] : undefined;
  if (!last) return currentAnswer(exchange, body, [], isOfOne ? body.slice(1, -1) : body);
  const { query } = exchange;
  const kept = filters.map(({ name }) => [name, query.getAll(name).join()]).filter(([, value]) => value !== '');
  return currentAnswer(exchange, body, nextPage(path, { limit, after: idOf(last) }, kept));
}

/** The `Link` to a page, with the query that it keeps. */
export function nextPage(path: string, { limit, after }: PageQuery, kept: readonly string[][] = []): string[] {
  const next = new URLSearchParams([...kept, ['limit', `${limit}`], ['cursor', `after_${after.toString(36)}`]]);
  return ['Link', `</v1${path}?${next}>; rel="next"`];
}

/** An id in the query; undefined without it. Throws `validation_failed`, also for an id that cannot exist. */
export function readIdParameter(query: URLSearchParams, name: string): number | undefined {
  const text = readParameter(query, name);
  return text === null ? undefined : readFilterId(name, text);
}

/** Different ids in the query, separated by commas or in repeated parameters; otherwise as `readIdParameter`. */
export function readIdsParameter(query: URLSearchParams, name: string, idsMax: number): number[] | undefined {
  const texts = new Set(query.getAll(name).flatMap((text) => text.split(',')));
  if (texts.size > idsMax) {
    throw new CatalogError('validation_failed', `${name} has ${texts.size} ids; send 1 to ${idsMax}`);
  }
  return texts.size === 0 ? undefined : [...texts].map((text) => readFilterId(name, text));
}

function readFilterId(name: string, text: string): number {
  const id = readId(text);
  if (id !== undefined) return id;
  throw new CatalogError('validation_failed', `${name} has the id ${quote(text)}; send ${wholeNumber(1)}`);
}

/** Parses an id from a path; undefined if it is not a possible id. */
export function readId(text: string | undefined): number | undefined {
  if (text === undefined || !/^[1-9][0-9]{0,15}$/.test(text)) return undefined;
  const id = Number(text);
  return Number.isSafeInteger(id) ? id : undefined;
}

/** A limit as it was sent. Throws `validation_failed`. */
export function readLimit(text: string, limitMax: number): number {
  const limit = /^[1-9][0-9]{0,8}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= limitMax) return limit;
  throw new CatalogError('validation_failed', `limit is ${quote(text)}; send ${wholeNumber(1, limitMax)}`);
}

function readCursor(text: string): number {
  const after = Number.parseInt(CURSOR_PATTERN.exec(text)?.[1] ?? '', 36);
  if (Number.isSafeInteger(after)) return after;
  throw new CatalogError(
    'validation_failed',
    `cursor is ${quote(text)}; copy it from the Link header of the previous page`,
  );
}
