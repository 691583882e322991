import { CatalogError, invalid } from '../../catalog/error.ts';
import { nearest } from '../../catalog/nearest-name.ts';
import { quote, wholeNumber } from '../../catalog/validate.ts';
import type { Described, Parameter } from './operation.ts';

/** The longest text that selects, in code points. */
export const TEXT_CHARACTERS_MAX = 255;

/**
 * Checks that an operation has every parameter of a query: a mistyped filter must not answer with everything. Throws
 * `validation_failed` with the name, never with the value, which may be a secret.
 */
export function checkQuery(
  { id, queryParameters = [] }: Pick<Described, 'id' | 'queryParameters'>,
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
    return invalid(`${unknown}; ${advice}`);
  }
  // A list is separated by commas or repeated.
  const isBracketed = 'items' in meant.schema && name.startsWith(`${meant.name}[`);
  const advice = isBracketed ? `send ${meant.name}=1,2` : `did you mean ${meant.name}?`;
  return invalid(`${unknown}; ${advice}`);
}

/** A query parameter, or null without it. Throws `validation_failed` if it is given twice. */
export function readParameter(query: URLSearchParams, name: string): string | null {
  const [value = null, ...more] = query.getAll(name);
  if (more.length === 0) return value;
  throw invalid(`${name} is given ${more.length + 1} times; send it once`);
}

/** A value of a closed set, undefined without it. Throws `validation_failed`. */
export function choiceIn<T extends string>(query: URLSearchParams, name: string, values: readonly T[]): T | undefined {
  const text = readParameter(query, name);
  const value = values.find((each) => each === text);
  if (value !== undefined || text === null) return value;
  throw invalid(`${name} is ${quote(text)}; send one of ${values.join(', ')}`);
}

/** An id in the query; undefined without it. Throws `validation_failed`, also for an id that cannot exist. */
export function readIdParameter(query: URLSearchParams, name: string): number | undefined {
  const text = readParameter(query, name);
  return text === null ? undefined : readFilterId(`${name} is`, text);
}

/** Different ids in the query, separated by commas or in repeated parameters; otherwise as `readIdParameter`. */
export function readIdsParameter(query: URLSearchParams, name: string, idsMax: number): number[] | undefined {
  const texts = new Set(query.getAll(name).flatMap((text) => text.split(',')));
  if (texts.size > idsMax) throw invalid(`${name} has ${texts.size} ids; send 1 to ${idsMax}`);
  return texts.size === 0 ? undefined : [...texts].map((text) => readFilterId(`${name} has`, text));
}

function readFilterId(said: string, text: string): number {
  const id = readId(text);
  if (id !== undefined) return id;
  throw invalid(`${said} ${quote(text)}; send ${wholeNumber(1)}`);
}

/** Finds what an id in a path names. Throws the error of `none` if that is nothing. */
export async function findById<T>(
  text: string | undefined,
  none: (text: string | undefined) => CatalogError,
  find: (id: number) => Promise<T | undefined>,
): Promise<T> {
  const id = readId(text);
  const found = id === undefined ? undefined : await find(id);
  if (found === undefined) throw none(text);
  return found;
}

/** Makes the error for an id in a path that names nothing. */
export function notFound(kind: string, advice: string): (id: string | undefined) => CatalogError {
  return (id) => new CatalogError('not_found', `There is no ${kind} ${quote(id)}; ${advice}`);
}

/** Parses an id from a path; undefined if it is not a possible id. */
export function readId(text: string | undefined): number | undefined {
  if (text === undefined || !/^[1-9][0-9]{0,15}$/.test(text)) return undefined;
  const id = Number(text);
  return Number.isSafeInteger(id) ? id : undefined;
}
