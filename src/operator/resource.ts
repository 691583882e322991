import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TSchema } from 'typebox';
import { invalid } from '../catalog/error.ts';
import type { CsvRow } from '../catalog/operator/csv.ts';
import type { Place } from '../catalog/resource.ts';
import type { Storage } from '../catalog/storage.ts';
import { quote } from '../catalog/validate.ts';
import type { Html } from '../http/html.ts';
import { TEXT_CHARACTERS_MAX } from '../http/operations/query.ts';
import { parseDuration } from '../stdx/duration.ts';
import type { RecentRequests } from '../telemetry/recent-requests.ts';
import type { ActionContext } from './action.ts';
import type { ConsoleContext } from './frame/context.ts';
import { formMoment } from './frame/list.ts';

/** The context of lists, at a moment (Unix seconds). */
export interface ReadContext extends Omit<ActionContext, 'storage'> {
  readonly storage: Storage;
  /** The requests that this instance keeps. */
  readonly recent: RecentRequests;
  /** Stores the usage that this instance has counted. */
  flushUsage(): Promise<void>;
}

/** A filter of a list: a parameter of the API, a field in the console, an option of the command. */
export interface Filter<T = unknown> {
  /** The label of its field; without one it has none. */
  readonly label?: string;
  readonly about: string;
  readonly schema: TSchema;
  /** Its values, where they are few. */
  readonly values?: readonly string[];
  /** The console's own choices, where any text is possible. */
  readonly choices?: readonly { readonly value: string; readonly label: string }[];
  readonly isWide?: true;
  read(text: string, name: string, now: number): T;
}

export type Filters = Readonly<Record<string, Filter>>;
/** The values of filters; absent members select all. */
export type Selected<F extends Filters> = { readonly [Name in keyof F]?: ReturnType<F[Name]['read']> };

type Shown = Pick<Filter, 'label' | 'choices' | 'isWide'>;

/** A filter by a text. */
export function byText(about: string, shown: Shown = {}): Filter<string> {
  return {
    ...shown,
    about,
    schema: { type: 'string', maxLength: TEXT_CHARACTERS_MAX },
    read(text, name) {
      // PostgreSQL rejects NUL in text, and no value contains it.
      if ([...text].length <= TEXT_CHARACTERS_MAX && !text.includes('\0')) return text;
      throw invalid(`${name} is ${quote(text)}; send at most ${TEXT_CHARACTERS_MAX} characters`);
    },
  };
}

/** A filter by one of some values. */
export function byChoice<T extends string>(about: string, values: readonly T[], shown: Shown = {}): Filter<T> {
  return {
    ...shown,
    about,
    values,
    schema: { type: 'string', enum: [...values] },
    read(text, name) {
      const value = values.find((each) => each === text);
      if (value !== undefined) return value;
      throw invalid(`${name} is ${quote(text)}; send one of ${values.join(', ')}`);
    },
  };
}

/** A filter by a moment, in Unix seconds; a duration counts from now, into `towards`. */
export function byMoment(
  about: string,
  towards: 'past' | 'future',
  example: string,
  shown: Shown = {},
): Filter<number> {
  return {
    ...shown,
    about: `${about}; by RFC 3339, as \`2026-01-31 18:00\` or \`2026-01-31\` (UTC), or as a distance from now such as \`24h\` or \`30d\``,
    schema: { type: 'string', example },
    read(text, name, now) {
      const seconds = parseDuration(text);
      if (seconds === undefined) return formMoment(text, name);
      return towards === 'past' ? Math.max(0, now - seconds) : now + seconds;
    },
  };
}

/** A filter by a length of time, in seconds. */
export function byDuration(about: string, example: string, shown: Shown = {}): Filter<number> {
  return {
    ...shown,
    about,
    schema: { type: 'string', example },
    read(text, name) {
      const seconds = parseDuration(text);
      if (seconds !== undefined && seconds > 0) return seconds;
      throw invalid(`${name} is ${quote(text)}; send a duration such as 24h or 30d`);
    },
  };
}

/** A filter by a whole number. */
export function byNumber(
  about: string,
  { minimum, maximum }: { minimum: number; maximum: number },
  shown: Shown = {},
): Filter<number> {
  return {
    ...shown,
    about,
    schema: { type: 'integer', minimum, maximum },
    read(text, name) {
      const number = /^\s*\d{1,16}\s*$/.test(text) ? Number(text) : Number.NaN;
      if (number >= minimum && number <= maximum) return number;
      throw invalid(`${name} is ${quote(text)}; send a whole number from ${minimum} to ${maximum}`);
    },
  };
}

/** A column of a list. */
interface Column<Row> {
  readonly label: string;
  /** The member of the JSON that the command's table shows; none there without it or `text`. */
  readonly member?: string;
  // biome-ignore lint/suspicious/noExplicitAny: the JSON of a row, as the API gives it.
  text?(json: any, now: number): string;
  /** The cell of the console's table; none there without it. */
  // biome-ignore lint/suspicious/noExplicitAny: what `related` of its resource gives.
  cell?(row: Row, related: any, context: ConsoleContext): Html;
  readonly isNumber?: true;
  readonly isLong?: true;
  /** The orders that its heading leads to, the second from the first. */
  readonly sorts?: readonly [string, string?];
}

export interface Page<Row> {
  readonly rows: readonly Row[];
  /** The place of the last one, if there are more. */
  readonly last: Place | undefined;
  /** All that the filters select, where that is counted. */
  readonly total?: number;
}

export interface PageQuery {
  readonly limit: number;
  readonly behind: Place | undefined;
  readonly sort: string;
}

/** A list, once for the console, the API and the commands. */
export interface Resource<Row, F extends Filters = Filters> {
  readonly path: string;
  readonly title: string;
  /** One of them and several, in sentences. */
  readonly noun: readonly [string, string];
  /** The role that the API asks for, if another than the console: that of a viewer. */
  readonly apiRole?: 'admin';
  readonly filters: F;
  /** The first is the usual one. */
  readonly sorts?: readonly { readonly value: string; readonly label: string }[];
  page(context: ReadContext, query: PageQuery & Selected<F>): Promise<Page<Row>>;
  json(context: ReadContext, rows: readonly Row[]): Promise<readonly object[]> | readonly object[];
  readonly columns: readonly Column<Row>[];
  /** Its columns in CSV, and a row of these from the JSON; none without it. */
  readonly csv?: {
    readonly columns: readonly string[];
    // biome-ignore lint/suspicious/noExplicitAny: the JSON of a row, as the API gives it.
    row(json: any): CsvRow;
  };
  readonly api?: {
    readonly id: string;
    readonly route?: string;
    readonly tag: string;
    readonly summary: string;
    readonly description: string;
    readonly schema: TSchema;
    readonly example: object;
    readonly errors?: readonly 'not_found'[];
    readonly limitMax?: number;
    readonly limitUsual?: number;
  };
  readonly command?: {
    readonly usage: string;
    readonly about: string;
    readonly defaults?: Readonly<Record<string, string>>;
    /** Said where there is none. */
    readonly none: string;
  };
  readonly console?: {
    /** Beside the heading. */
    head?(context: ConsoleContext): Html;
    lead?(context: ConsoleContext): Html | Promise<Html>;
    /** Reads what the cells show beside the rows. */
    related?(context: ConsoleContext, rows: readonly Row[]): Promise<unknown>;
    /** Where there is none at all. */
    none(context: ConsoleContext): Html;
    foot?(context: ConsoleContext): Html;
  };
}

// biome-ignore lint/suspicious/noExplicitAny: each resource has rows and filters of its own.
export type AnyResource = Resource<any, any>;

/** Makes a resource; its filters say what its pages select by. */
export function resource<Row, F extends Filters>(made: Resource<Row, F>): Resource<Row, F> {
  return made;
}

/** Reads the values of filters from texts. Throws `validation_failed`. */
export function select(
  filters: Filters,
  {
    textOf,
    now,
    nameOf = (name) => name,
  }: { textOf: (name: string) => string | null | undefined; now: number; nameOf?: (name: string) => string },
): Selected<Filters> {
  const given = Object.entries(filters).flatMap(([name, filter]) => {
    const text = textOf(name);
    return text === null || text === undefined ? [] : [[name, filter.read(text, nameOf(name), now)]];
  });
  return Object.fromEntries(given);
}

/** A page of a list that is in memory, with the greatest place first. */
export function pageOfAll<Row>(
  all: readonly Row[],
  placeOf: (row: Row) => Place,
  { limit, behind }: Pick<PageQuery, 'limit' | 'behind'>,
): Page<Row> {
  const left = behind ? all.filter((row) => isBelow(placeOf(row), behind)) : all;
  const last = left.length > limit ? left[limit - 1] : undefined;
  return { rows: left.slice(0, limit), last: last && placeOf(last), total: all.length };
}

function isBelow(one: Place, other: Place): boolean {
  return one.number < other.number || (one.number === other.number && one.id < other.id);
}

/** The JSON of every row that is selected, some at a time, so that requests are served in between; `limit` at most. */
export async function everyRow<Row, F extends Filters>(
  resource: Resource<Row, F>,
  context: ReadContext,
  { limit, ...query }: Omit<PageQuery, 'behind'> & Selected<F>,
): Promise<object[]> {
  const all: object[] = [];
  for (let behind: Place | undefined; ; ) {
    const page = { ...query, limit: Math.min(ROWS_AT_ONCE, limit - all.length), behind } as PageQuery & Selected<F>;
    const { rows, last } = await resource.page(context, page);
    all.push(...(await resource.json(context, rows)));
    if (!last || all.length >= limit) return all;
    behind = last;
    await nextTurn();
  }
}

const ROWS_AT_ONCE = 200;
