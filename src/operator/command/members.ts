import type { Command } from 'commander';
import { invalid } from '../../catalog/error.ts';
import type { Schema } from '../../catalog/validate.ts';

/** The members of a body as options: `expiresAt` is `--expires`, `limits` are `--per-minute` and `--per-day`. */

interface Member {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
  readonly usual: string | undefined;
}

/** The option of a member. */
export function memberOption(name: string): string {
  const [member = '', part] = name.split('.');
  if (member === 'limits' && part !== undefined) return `--per-${part}`;
  return `--${member.replace(/At$/, '')}${part === undefined ? '' : `.${part}`}`;
}

/** Adds the option of a member; a part of it each where it has parts. */
export function addMember(command: Command, { name, schema, isRequired, usual }: Member): void {
  const flag = memberOption(name);
  const { description = '' } = schema.anyOf?.[0]?.description ? schema.anyOf[0] : schema;
  for (const [part, { description: of = '' }] of Object.entries(schema.properties ?? {}))
    command.option(`--per-${part} <count>`, `${of.toLowerCase()}, for the enterprise plan`);
  if (schema.properties) return;
  const about = schema.items?.enum
    ? `some of ${schema.items.enum.join(',')} (default: all)`
    : (schema.enum?.join(', ') ?? description.replace('null for none', 'empty for none'));
  const isMoment = schema.anyOf?.some(({ format }) => format === 'date-time');
  const flags = `${flag} <${isMoment ? 'when' : name === 'grace' ? 'duration' : name}>`;
  const text = isMoment ? 'a duration from now such as 90d, a moment such as 2027-01-31, or never' : about;
  if (isRequired && usual === undefined) command.requiredOption(flags, text);
  else command.option(flags, text, usual);
}

/** The member that options give, as the API takes it; undefined without it. */
export function readMember(
  options: Readonly<Record<string, string | true | undefined>>,
  name: string,
  schema: Schema,
): unknown {
  if (schema.properties) return readParts(options, Object.keys(schema.properties));
  const text = options[memberOption(name).slice(2)];
  if (typeof text !== 'string') return undefined;
  if (schema.type === 'array') return text.split(',').map((each) => each.trim());
  const kinds = schema.anyOf?.map(({ type, format }) => format ?? type) ?? [];
  const isNone = text === '' || (text === 'never' && kinds.includes('date-time'));
  return isNone && kinds.includes('null') ? null : text;
}

function readParts(options: Readonly<Record<string, string | true | undefined>>, parts: readonly string[]) {
  const given = parts.map((part) => [part, options[`per${part.charAt(0).toUpperCase()}${part.slice(1)}`]] as const);
  if (given.every(([, text]) => text === undefined)) return undefined;
  if (given.some(([, text]) => text === undefined)) throw invalid('--per-minute and --per-day go together');
  return Object.fromEntries(given.map(([part, text]) => [part, /^\d{1,10}$/.test(`${text}`) ? Number(text) : text]));
}
