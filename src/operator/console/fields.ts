import { type Schema, shortened } from '../../catalog/validate.ts';
import { type Html, html } from '../../http/html.ts';
import type { OperatorOperation } from '../api/operation.ts';
import { described, fieldMistake, type Mistakes } from './frame/form.ts';
import { type Option, optionList } from './frame/list.ts';

/** The fields of a form, made from the schema of an action's input, and the values that it sends. */

/** Adds to the schema of a member its label, its hint, and the usual values of a free text. */
export interface FieldWords {
  readonly labels?: Readonly<Record<string, string>>;
  readonly hints?: Readonly<Record<string, string>>;
  readonly options?: Readonly<Record<string, readonly Option[]>>;
}

const MOMENT_HINT = 'In UTC, such as 2030-12-31 18:00, or a duration such as 90d. Leave it empty for no end.';

/** The kind of a member, by its schema: a moment or a text may be null. */
function kindOf(schema: Schema): 'choices' | 'choice' | 'limits' | 'moment' | 'text' | 'optional text' {
  if (schema.type === 'array') return 'choices';
  if (schema.properties) return 'limits';
  if (schema.enum) return 'choice';
  const [first] = schema.anyOf ?? [];
  if (!first) return 'text';
  return 'format' in first ? 'moment' : 'optional text';
}

/** The members of a body, by their names. */
function membersOf({ body }: OperatorOperation): [string, Schema][] {
  return Object.entries(body?.schema.properties ?? {});
}

/** The body that a form sends, as the API takes it: an empty field is null where it may be, else it is missing. */
export function valuesOf(operation: OperatorOperation, form: URLSearchParams): Record<string, unknown> {
  const values = membersOf(operation).map(([name, schema]) => {
    const text = form.get(name) ?? undefined;
    switch (kindOf(schema)) {
      case 'choices':
        return [name, form.getAll(name)];
      case 'limits':
        return [name, limitsIn(form, name, schema)];
      case 'moment':
        return [name, text?.trim() || null];
      case 'optional text':
        return [name, text || null];
      default:
        return [name, text];
    }
  });
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

function limitsIn(form: URLSearchParams, name: string, { properties = {} }: Schema): object | undefined {
  const given = Object.keys(properties).map((part) => [part, form.get(`${name}.${part}`)?.trim() ?? ''] as const);
  if (given.every(([, text]) => text === '')) return undefined;
  return Object.fromEntries(given.map(([part, text]) => [part, /^\d{1,15}$/.test(text) ? Number(text) : text]));
}

/** The fields of a form, with these values, each with its mistake. */
export function fieldsOf(
  operation: OperatorOperation,
  words: FieldWords,
  { values, mistakes }: { values: object; mistakes: Mistakes },
): Html[] {
  const required = operation.body?.schema.required ?? [];
  return membersOf(operation).map(([name, schema]) => {
    const value = (values as Record<string, unknown>)[name];
    return fieldOf(words, { name, schema, value, mistakes, isRequired: required.includes(name) });
  });
}

interface Field {
  readonly name: string;
  readonly schema: Schema;
  readonly value: unknown;
  readonly mistakes: Mistakes;
  readonly isRequired: boolean;
}

function fieldOf(
  { labels = {}, hints = {}, options: offered = {} }: FieldWords,
  { name, schema, value, mistakes, isRequired }: Field,
): Html {
  const { [name]: label = labelOf(name) } = labels;
  const kind = kindOf(schema);
  const { [name]: hint = kind === 'moment' ? MOMENT_HINT : '' } = hints;
  const options = offered[name] ?? schema.enum?.map((each) => ({ value: each, label: each }));
  const about = described(mistakes, name, { hasHint: hint !== '' });
  const below = html`${hint === '' ? '' : html`<p class="hint" id="${name}-hint">${hint}</p>`}${fieldMistake(mistakes, name)}`;
  switch (kind) {
    case 'choices': {
      const chosen = Array.isArray(value) ? value : [];
      const boxes = (schema.items?.enum ?? []).map(
        (each) =>
          html`<label class="choice"><input type="checkbox" name="${name}" value="${each}"${chosen.includes(each) ? html` checked` : ''}> ${each}</label>`,
      );
      return html`<fieldset id="${name}" tabindex="-1"${about}><legend>${label}</legend><div class="choices">${boxes}</div>${below}</fieldset>`;
    }
    case 'limits':
      // A script shows them for the plan that has its own alone.
      return html`<fieldset class="pair" id="${name}" tabindex="-1" data-for-plan="enterprise"${about}><legend>${label}</legend>
${Object.entries(schema.properties ?? {}).map(([part, { description }]) => html`<div><label for="${name}.${part}">${description ?? part}</label><input id="${name}.${part}" name="${name}.${part}" inputmode="numeric" autocomplete="off" value="${textOf((value as Record<string, unknown> | undefined)?.[part])}"></div>`)}
${below}</fieldset>`;
    case 'moment':
      return html`<div><label for="${name}">${label}</label><input id="${name}" name="${name}" placeholder="2030-12-31 18:00" autocomplete="off" value="${momentText(value)}"${about}>${below}</div>`;
    default:
      if (options)
        return html`<div><label for="${name}">${label}</label><select id="${name}" name="${name}"${about}>${optionList(options, textOf(value))}</select>${below}</div>`;
      return html`<div><label for="${name}">${label}</label><input id="${name}" name="${name}" value="${textOf(value)}" maxlength="${schema.maxLength ?? schema.anyOf?.[0]?.maxLength ?? 255}"${isRequired ? html` required` : ''} autocomplete="off"${about}>${below}</div>`;
  }
}

/** The label of a member, from its name: `expiresAt` is “Expires”. */
function labelOf(name: string): string {
  const words = name.replace(/At$/, '').replaceAll(/[A-Z]/g, ' $&').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function textOf(value: unknown): string {
  return value === undefined || value === null ? '' : String(value);
}

/** A moment as forms have it: without the seconds where they are none. */
function momentText(value: unknown): string {
  return shortened(textOf(value)).replace(
    /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(:\d\d)?Z$/,
    (_, day, minute, seconds = '') => `${day} ${minute}${seconds === ':00' ? '' : seconds}`,
  );
}
