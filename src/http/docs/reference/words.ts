import { inWords, type Schema } from '../../../catalog/validate.ts';
import type { Field } from '../described.ts';

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

/** Describes the bounds of a field in prose; a pattern by its `x-violation`. */
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
