import type { TSchema } from 'typebox';
import { withoutSecret } from '../../catalog/api-key.ts';
import { invalid } from '../../catalog/error.ts';
import { nearest } from '../../catalog/nearest-name.ts';
import type { Place } from '../../catalog/resource.ts';
import type { Storage } from '../../catalog/storage.ts';
import { quote } from '../../catalog/validate.ts';
import { TEXT_CHARACTERS_MAX } from '../../http/operations/query.ts';
import { parseDuration } from '../../stdx/duration.ts';
import { utc } from '../../stdx/time.ts';

/** The query parameters of operations: how each is read, documented, and offered in a form. */

/** RFC 3339, section 5.6. */
const DATE_TIME = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/i;
/** Some milliseconds of comparisons. */
const KEYS_COMPARED_MAX = 100;

/** A filter of a list: a parameter of the API, a field in the console, an option of the command. */
export interface Filter<T = unknown> {
  /** The label of its field; without one it has none. */
  readonly label?: string;
  readonly about: string;
  readonly schema: TSchema;
  /** Its values, where they are few. */
  readonly values?: readonly string[];
  /** The console's own choices, where any text is possible. */
  readonly choices?: readonly string[];
  readonly isWide?: true;
  readonly isRequired?: true;
  /** True of the id of a key, which there must be. */
  readonly isKey?: true;
  read(text: string, name: string, now: number): T;
}

export type Filters = Readonly<Record<string, Filter>>;
/** The values of filters; absent members select all. */
export type Selected<F extends Filters> = { readonly [Name in keyof F]?: ReturnType<F[Name]['read']> };

type Shown = Pick<Filter, 'label' | 'choices' | 'isWide' | 'isRequired'>;

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
      const usual = shown.choices ?? values;
      throw invalid(
        `${name} is ${quote(text)}; ${didYouMean(nearest(text, values)) ?? `send one of ${usual.join(', ')}`}`,
      );
    },
  };
}

/** A filter by the id of a key, which a call looks up with `assertKey`. */
export function byKey(about: string, shown: Shown = {}): Filter<string> {
  return { ...byText(about, shown), schema: { type: 'string' }, isKey: true };
}

/**
 * Throws `validation_failed` unless there is a key of this id, with the one that a name, a secret or an id with a
 * wrong letter means: that leaves one of its halves as it is.
 */
export async function assertKey(
  { storage, now }: { readonly storage: Pick<Storage, 'keys'>; readonly now: number },
  { id, name }: { readonly id: string; readonly name: string },
): Promise<void> {
  if (await storage.keys.find(id)) return;
  const text = withoutSecret(id);
  const half = Math.ceil(text.length / 2);
  const parts = [text, text.slice(0, half), text.slice(half)];
  const found = parts.map((part) => storage.keys.list({ text: part, now, limit: KEYS_COMPARED_MAX }));
  const [like = [], ...others] = (await Promise.all(found)).map(({ keys }) => keys.map((key) => key.id));
  const advice = didYouMean(like[0] ?? nearest(text, others.flat())) ?? 'the list of keys shows them all';
  throw invalid(`${name} is ${quote(text)}; ${advice}`);
}

function didYouMean(name: string | undefined): string | undefined {
  return name && `did you mean ${name}?`;
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
      return readMoment(text, name, { now, towards });
    },
  };
}

/**
 * Reads a moment, in Unix seconds: a duration from now (`90s`, `24h`, `30d`, `1w`, `1y`) into `towards`, a day or a
 * day and time in UTC (`2027-01-31 18:00`), or RFC 3339. Throws `validation_failed`.
 */
export function readMoment(
  text: string,
  name: string,
  { now, towards = 'future' }: { now: number; towards?: 'past' | 'future' },
): number {
  const seconds = parseDuration(text);
  if (seconds !== undefined) return towards === 'past' ? Math.max(0, now - seconds) : now + seconds;
  const written = text
    .trim()
    .replace(/^([-\d]{10})(?: (\d\d:\d\d)(:\d\d)?)?$/, (_, day, time = '00:00', s = ':00') => `${day}T${time}${s}Z`);
  const [, day = ''] = DATE_TIME.exec(written) ?? [];
  const ms = Date.parse(written.toUpperCase());
  // `Date` would silently turn 30 February into 2 March.
  if (day !== '' && !Number.isNaN(ms) && new Date(`${day}T00:00:00Z`).toISOString().startsWith(day))
    return Math.floor(ms / 1_000);
  throw invalid(`${name} is ${quote(text)}; send ${MOMENTS}`, name);
}

/** A moment of a body, in Unix seconds; null for none. Throws `validation_failed`. */
export function readExpiry(text: string | null, now: number): number | null {
  return text === null ? null : readMoment(text, 'expiresAt', { now });
}

/** The forms of a moment, in words. */
const MOMENTS = 'a date and time such as 2027-01-31 18:00 (UTC), a date, RFC 3339, or a duration such as 90s or 30d';

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
    if (text !== null && text !== undefined) return [[name, filter.read(text, nameOf(name), now)]];
    if (filter.isRequired) throw invalid(`${nameOf(name)} is missing; it names what is meant`);
    return [];
  });
  const selected: { readonly since?: number; readonly until?: number } = Object.fromEntries(given);
  const { since = 0, until = since } = selected;
  if (until < since)
    throw invalid(`${nameOf('until')} is ${utc(until)}, before ${nameOf('since')} (${utc(since)}); send a later one`);
  return selected;
}

/** A page of a list that is in memory, with the greatest place first. */
export function pageOfAll<Row>(
  all: readonly Row[],
  { placeOf, json }: { placeOf(row: Row): Place; json(row: Row): object },
  { limit, behind }: { readonly limit: number; readonly behind: Place | undefined },
) {
  const left = behind ? all.filter((row) => isBelow(placeOf(row), behind)) : all;
  const last = left.length > limit ? left[limit - 1] : undefined;
  return { json: left.slice(0, limit).map(json), last: last && placeOf(last), total: all.length };
}

function isBelow(one: Place, other: Place): boolean {
  return one.number < other.number || (one.number === other.number && one.id < other.id);
}
