import { CatalogError } from '../../catalog/error.ts';
import { quote } from '../../catalog/validate.ts';
import type { Parameter } from '../../http/operations/operation.ts';
import { pageLimit, readLimit, readParameter } from '../../http/operations/paging.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import { parseDuration } from '../../stdx/duration.ts';

const PAGE_ITEMS_MAX = 100;
const PAGE_ITEMS = 20;
const TEXT_CHARACTERS_MAX = 255;
/** RFC 3339, section 5.6. */
const DATE_TIME = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/i;

/** The parameters of every list that comes in pages. */
export const PAGE_PARAMETERS: readonly Parameter[] = [
  pageLimit(PAGE_ITEMS_MAX, PAGE_ITEMS),
  {
    name: 'cursor',
    description: 'Opaque: copy it from the `Link` header of the previous page',
    schema: { type: 'string' },
  },
];

/** A parameter that selects by a text. */
export function textParameter(name: string, description: string): Parameter {
  return { name, description, schema: { type: 'string', maxLength: TEXT_CHARACTERS_MAX } };
}

/** A parameter with a closed set of values. */
export function choice(name: string, description: string, values: readonly string[]): Parameter {
  return { name, description, schema: { type: 'string', enum: [...values] } };
}

/** A parameter with a moment. */
export function momentParameter(name: string, description: string, example: string): Parameter {
  const form = 'by RFC 3339, or as a distance from now such as `24h` or `30d`';
  return { name, description: `${description}; ${form}`, schema: { type: 'string', example } };
}

/** How many items the request wants. Throws `validation_failed`. */
export function limitIn(query: URLSearchParams, max = PAGE_ITEMS_MAX, unlessGiven = PAGE_ITEMS): number {
  const text = readParameter(query, 'limit');
  return text === null ? unlessGiven : readLimit(text, max);
}

/** A text that selects, undefined without it. Throws `validation_failed`. */
export function textIn(query: URLSearchParams, name: string): string | undefined {
  const text = readParameter(query, name) ?? undefined;
  // PostgreSQL rejects NUL in text, and no value contains it.
  if (text === undefined || (text.length <= TEXT_CHARACTERS_MAX && !text.includes('\0'))) return text;
  throw new CatalogError(
    'validation_failed',
    `${name} is ${quote(text)}; send at most ${TEXT_CHARACTERS_MAX} characters`,
  );
}

/** A value of a closed set, undefined without it. Throws `validation_failed`. */
export function choiceIn<T extends string>(query: URLSearchParams, name: string, values: readonly T[]): T | undefined {
  const text = readParameter(query, name);
  const value = values.find((each) => each === text);
  if (value !== undefined || text === null) return value;
  throw new CatalogError('validation_failed', `${name} is ${quote(text)}; send one of ${values.join(', ')}`);
}

/** A moment in Unix seconds, undefined without it; a duration counts from now, into `towards`. */
export function momentIn(
  query: URLSearchParams,
  name: string,
  { now, towards }: { now: number; towards: 'past' | 'future' },
): number | undefined {
  const text = readParameter(query, name);
  if (text === null) return undefined;
  const seconds = parseDuration(text);
  if (seconds !== undefined) return towards === 'past' ? Math.max(0, now - seconds) : now + seconds;
  return momentOf(text, name);
}

/** Reads a moment by RFC 3339, in Unix seconds. Throws `validation_failed`. */
export function momentOf(text: string, name: string): number {
  const [, day] = DATE_TIME.exec(text) ?? [];
  const ms = day === undefined ? Number.NaN : Date.parse(text.toUpperCase());
  // `Date` would silently turn 30 February into 2 March.
  if (!Number.isNaN(ms) && new Date(`${day}T00:00:00Z`).toISOString().startsWith(day ?? ''))
    return Math.floor(ms / 1_000);
  throw new CatalogError(
    'validation_failed',
    `${name} is ${quote(text)}; send a date and time such as 2026-01-01T12:00:00Z`,
  );
}

/** A place in a list that is ordered by a number and an id, out of the cursor; undefined on the first page. */
export function cursorIn(query: URLSearchParams): { number: number; id: string } | undefined {
  const text = readParameter(query, 'cursor');
  if (text === null) return undefined;
  const [, number = '', id = ''] = /^([0-9a-z]{1,10})\.([\w-]{0,64})$/.exec(text) ?? [];
  if (number !== '') return { number: Number.parseInt(number, 36), id };
  throw new CatalogError(
    'validation_failed',
    `cursor is ${quote(text)}; copy it from the Link header of the previous page`,
  );
}

/** Answers with a page, and with the `Link` to the next one if there is more. */
export function pageAnswer(
  { path, query }: Exchange,
  items: readonly unknown[],
  last: { readonly number: number; readonly id: string } | undefined,
): Answer {
  const headers = last ? ['Link', `<${linkBehind(path, query, last)}>; rel="next"`] : [];
  return { status: 200, headers, body: JSON.stringify(items) };
}

function linkBehind(path: string, query: URLSearchParams, { number, id }: { number: number; id: string }): string {
  const next = new URLSearchParams(query);
  next.set('cursor', `${number.toString(36)}.${id}`);
  return `${path}?${next}`;
}
