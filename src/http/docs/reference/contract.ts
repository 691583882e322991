import type { AnyErrorCode } from '../../../catalog/error.ts';
import { inWords, type Schema } from '../../../catalog/validate.ts';
import { STATUS_OF } from '../../errors.ts';
import type { Parameter } from '../../operations/operation.ts';
import { type DescribedApi, type DescribedOperation, describedOperations } from '../described.ts';
import { ERROR_GUIDE } from '../error-guide.ts';

/** A parameter, or a member of a body. Its schema has its description, in Markdown. */
export interface Field {
  readonly name: string;
  readonly isRequired: boolean;
  readonly schema: Schema;
}

/** The places of the fields of a request, with their headings. */
export const PLACES = [
  ['path', 'Path'],
  ['query', 'Query'],
  ['header', 'Headers'],
  ['body', 'Body'],
] as const;

export interface OperationError {
  readonly status: number;
  readonly code: AnyErrorCode;
  readonly meaning: string;
  /** A message that the operation responds with; undefined where none is known. */
  readonly message?: string | undefined;
}

/** An operation as the reference shows it. */
export interface ReferenceOperation extends Omit<DescribedOperation, 'errors'> {
  readonly fields: Readonly<Record<(typeof PLACES)[number][0], readonly Field[]>>;
  /** Without those that `sharedErrors` gives, but for `validation_failed` where there are values. */
  readonly errors: readonly OperationError[];
}

export interface ReferenceApi {
  readonly title: string;
  readonly described: DescribedApi;
  readonly operations: readonly ReferenceOperation[];
  /** The address in the samples, without a slash at the end. */
  readonly baseUrl: string;
  /** The path before each operation's, on the listener that serves the reference. */
  readonly basePath: string;
}

/** Every operation of an API, in its order. */
export function operationsOf(api: DescribedApi): ReferenceOperation[] {
  const shared = new Set(sharedErrors(api).map(({ code }) => code));
  return describedOperations(api).map((operation) => {
    const { id, pathParameters = [], queryParameters = [], headerParameters, body, codes } = operation;
    // Every operation has no parameter but its own; those with some have values to be checked as well.
    const hasValues = body !== undefined || queryParameters.length > 0;
    const own = codes.filter((code) => !shared.has(code) || (hasValues && code === 'validation_failed'));
    const fields = {
      path: pathParameters.map((parameter) => fieldOf(parameter, true)),
      query: queryParameters.map((parameter) => fieldOf(parameter, false)),
      header: headerParameters.map((parameter) => fieldOf(parameter, false)),
      body: body ? membersOf(body.schema) : [],
    };
    const errors = own.map((code) => ({ ...errorOf(code), message: api.failures?.[id]?.[code] }));
    return { ...operation, fields, errors };
  });
}

/** The errors of every operation that needs a scope, or of every operation if none does. */
export function sharedErrors(api: DescribedApi): readonly OperationError[] {
  const [first, ...others] = describedOperations(api).filter(({ permission }) => permission !== 'any');
  const shared = first?.codes.filter((code) => others.every(({ codes }) => codes.includes(code))) ?? [];
  return shared.map(errorOf);
}

function errorOf(code: AnyErrorCode): OperationError {
  return { status: STATUS_OF[code], code, meaning: ERROR_GUIDE[code].meaning.slice(0, -1) };
}

function fieldOf({ name, description, schema }: Parameter, isRequired: boolean): Field {
  return { name, isRequired, schema: { ...schema, description } };
}

/** The members of an object, or of the items of an array. */
export function membersOf(schema: Schema): Field[] {
  return membersOfObject(schema.items ?? schema);
}

function membersOfObject({ properties, required = [], anyOf = [] }: Schema): Field[] {
  if (!properties) return anyOf.flatMap(membersOfObject);
  return Object.entries(properties).map(([name, schema]) => ({ name, isRequired: required.includes(name), schema }));
}

/** The type of a value as it is shown: `string`, `array of Category`, `object or null`. */
export function typeOf({ title, type = 'any', items, anyOf }: Schema): string {
  if (anyOf) return anyOf.map(typeOf).join(' or ');
  return items ? `array of ${typeOf(items)}` : (title ?? type);
}

/** A field in words, as Markdown: its description, and the bounds that this does not name; may be empty. */
export function aboutField({ schema }: Field, isInResponse = false): string {
  const { description = '' } = schema;
  const bounds = isInResponse && !schema.enum ? '' : boundsOf(schema, description);
  return [description && ended(description), bounds].filter(Boolean).join(' ');
}

/** Patterns are told in words. */
function boundsOf(schema: Schema, description: string): string {
  const said = withoutCommas(description);
  const { default: fallback, 'x-violation': violation } = schema;
  const parts = [
    schema.enum && `one of ${schema.enum.map((value) => `\`${value}\``).join(', ')}`,
    range(schema),
    ...Object.values(violation ?? {}).map((advice) => advice.replace(/^send /, '')),
    fallback === undefined ? undefined : `default \`${fallback}\``,
  ].filter((part) => part !== undefined && !said.includes(withoutCommas(part)));
  return parts.length > 0 ? `${capitalized(parts.join('; '))}.` : '';
}

function range({ minLength, maxLength, minItems, maxItems, minimum, maximum }: Schema): string | undefined {
  if (maxItems !== undefined) return `${between(minItems, maxItems)} items`;
  if (maxLength !== undefined) return `${between(minLength, maxLength)} characters`;
  // An id has no bounds that a caller need know.
  return maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? undefined : between(minimum, maximum);
}

function between(least: number | undefined, most: number): string {
  return `${least === undefined ? 'up' : inWords(least)} to ${inWords(most)}`;
}

function withoutCommas(text: string): string {
  return text.replaceAll(',', '');
}

/** With a full stop, which most descriptions of the contract lack. */
export function ended(text: string): string {
  return text.endsWith('.') ? text : `${text}.`;
}

/** With a capital, as a heading or a sentence begins. */
export function capitalized(text: string): string {
  return `${text[0]?.toUpperCase()}${text.slice(1)}`;
}
