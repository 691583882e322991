import type { Schema } from '../../../catalog/validate.ts';
import type { Field } from './contract.ts';

/** The bounds of a value beyond its description, in words instead of a pattern, as Markdown; may be empty. */
export function boundsOf({ schema, description }: Pick<Field, 'schema' | 'description'>): string {
  const said = withoutCommas(description);
  const { default: fallback, 'x-violation': violation } = schema;
  const parts = [
    schema.enum && `one of ${schema.enum.map((value) => `\`${value}\``).join(', ')}`,
    range(schema),
    ...Object.values(violation ?? {}).map((advice) => advice.replace(/^send /, '')),
    fallback === undefined ? undefined : `default \`${fallback}\``,
  ].filter((part) => part !== undefined && !said.includes(withoutCommas(part)));
  const text = parts.join('; ');
  return text && `${text[0]?.toUpperCase()}${text.slice(1)}.`;
}

function range({ minLength, maxLength, minItems, maxItems, minimum, maximum }: Schema): string | undefined {
  if (maxItems !== undefined) return `${between(minItems, maxItems)} items`;
  if (maxLength !== undefined) return `${between(minLength, maxLength)} characters`;
  // An id has no bounds that a caller need know.
  return maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? undefined : between(minimum, maximum);
}

function between(least: number | undefined, most: number): string {
  const end = most.toLocaleString('en-US');
  return least === undefined ? `up to ${end}` : `${least.toLocaleString('en-US')} to ${end}`;
}

function withoutCommas(text: string): string {
  return text.replaceAll(',', '');
}

/** With a full stop, which most descriptions of the contract lack. */
export function ended(text: string): string {
  return text.endsWith('.') ? text : `${text}.`;
}
