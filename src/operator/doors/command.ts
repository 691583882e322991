import type { Command } from 'commander';
import { CatalogError, invalid } from '../../catalog/error.ts';
import { objectOf, type Schema, validator } from '../../catalog/validate.ts';
import { parseDuration } from '../../stdx/duration.ts';
import { utc } from '../../stdx/time.ts';
import type { Action } from '../action.ts';
import { type AnyResource, byNumber, everyRow, type ReadContext, select } from '../resource.ts';
import { kindOf, membersOf } from './fields.ts';
import { parametersOf, sortOf } from './lists.ts';
import { table } from './table.ts';

/** A command's context: that of its action, and its options by their names. */
export interface CommandContext extends ReadContext {
  readonly options: Readonly<Record<string, string | true | undefined>>;
}

/** The result of a command: for programs, or for people, with a note on stderr. */
export interface Printed {
  readonly json?: unknown;
  readonly text: string;
  readonly note?: string | undefined;
  /** Told with `--json` too. */
  readonly told?: string | undefined;
}

/** Adds a command that works on the database. */
export type AddCommand = (
  usage: string,
  about: string,
  purpose: 'read' | 'create' | 'change',
  work: (context: CommandContext, ...operands: string[]) => Promise<Printed>,
) => Command;

const NO_INPUT = objectOf('Nothing', 'No options', { additionalProperties: false, properties: {} });

/** Adds the command of an action, with an option for each member of its input that is no operand. */
export function addAction(
  add: AddCommand,
  action: Action,
  as: Pick<Action['command'], 'usage' | 'about'> = action.command,
): Command {
  const {
    input = NO_INPUT,
    command: { isCreating, defaults = {} },
    isNew,
  } = action;
  const [, ...operands] = [...`${isNew ? '<id> ' : ''}${as.usage}`.matchAll(/<([\w-]+)>/g)].map(
    ([, name = '']) => name,
  );
  const options = membersOf({ input }).filter(([name]) => !operands.includes(name));
  const check = validator(input);
  const isOfMany = as.usage.endsWith('[id]');
  const command = add(as.usage, as.about, isCreating ? 'create' : 'change', async (context, ...words) => {
    const [id = '', ...rest] = isNew ? ['', ...words] : words;
    const { actor } = context.options;
    if (isOfMany && id !== '' && actor !== undefined) throw invalid('Name either an id or --actor, not both');
    if (isOfMany && typeof actor === 'string') return doneForAll(action, context, actor);
    if (isOfMany && id === '') throw invalid('Name an id, or all of one --actor');
    const given = Object.fromEntries(operands.map((name, index) => [name, rest[index]]));
    for (const [name, schema] of options) given[name] = readOption(context, action, { name, schema }) as string;
    const known = Object.entries(given).filter(([, value]) => value !== undefined);
    return printed(
      action,
      context,
      await run(action, context, { id, input: checked(check, action, Object.fromEntries(known)) }),
    );
  });
  for (const [name, schema] of options) addOption(command, action, { name, schema, usual: defaults[name] });
  if (isOfMany) command.option('--actor <name>', 'all of this actor');
  return command;
}

/** Does an action on every target of one actor that it changes something of. */
async function doneForAll(action: Action, context: CommandContext, actor: string): Promise<Printed> {
  const { of } = action;
  const all = (await action.runForAll?.(context, actor)) ?? [];
  const json = await Promise.all(all.map((row) => of.json(context, row)));
  return { json, text: '', told: `${all.length} of ${actor}: ${all.map(of.idOf).join(', ') || 'none'}` };
}

function run(action: Action, context: CommandContext, { id, input }: { id: string; input: object }) {
  return action.run(context, id, input);
}

async function printed(
  { of }: Action,
  context: CommandContext,
  { row, secret, nothing, note }: Awaited<ReturnType<Action['run']>>,
): Promise<Printed> {
  const notes = [nothing, note].filter((each) => each !== undefined).join('\n');
  if (row === undefined) return { json: {}, text: '', told: notes };
  const json = { ...(await of.json(context, row)), ...(secret && { [of.secret ?? '']: secret }) };
  return { json, text: secret ?? JSON.stringify(json, null, 2), told: notes };
}

interface Member {
  readonly name: string;
  readonly schema: Schema;
}

function addOption(
  command: Command,
  { input, words }: Action,
  { name, schema, usual }: Member & { usual: string | undefined },
): void {
  const flag = flagOf(name);
  const { option = schema.anyOf?.[0]?.description ?? schema.description ?? '' } = words?.[name] ?? {};
  const isRequired = input?.required?.includes(name) && usual === undefined;
  const add = (flags: string, about: string) =>
    isRequired ? command.requiredOption(flags, about) : command.option(flags, about, usual);
  switch (kindOf(schema)) {
    case 'limits':
      for (const [part, { description = '' }] of Object.entries(schema.properties ?? {}))
        command.option(`--per-${part} <count>`, `${description.toLowerCase()}, for the enterprise plan`);
      return;
    case 'choices':
      command.option(`${flag} <${name}>`, `some of ${schema.items?.enum?.join(',')} (default: all)`);
      return;
    case 'choice':
      add(`${flag} <${name}>`, (schema.enum ?? []).join(', '));
      return;
    case 'moment':
      command.option(`${flag} <when>`, 'a duration from now such as 90d, a moment, or never');
      return;
    default:
      add(`${flag} <${name === 'name' ? 'name' : name === 'grace' ? 'duration' : 'text'}>`, option);
  }
}

function readOption({ options, now }: CommandContext, _action: Action, { name, schema }: Member): unknown {
  const kind = kindOf(schema);
  if (kind === 'limits') return readLimits(options, Object.keys(schema.properties ?? {}));
  const text = options[flagOf(name).slice(2)];
  if (typeof text !== 'string') return undefined;
  if (kind === 'choices') return text.split(',').map((each) => each.trim());
  if (kind === 'optional text') return text === '' ? null : text;
  if (kind !== 'moment') return text;
  if (text === 'never') return null;
  const seconds = parseDuration(text);
  if (seconds !== undefined && seconds <= LIFE_MAX_SECONDS) return utc(now + seconds);
  if (seconds !== undefined) throw invalid(`${flagOf(name)} is "${text}"; at most 100 years are possible`);
  if (/^\d{4}-/.test(text)) return text;
  throw invalid(`${flagOf(name)} is "${text}"; write a duration such as 90s, 10m, 24h or 30d`);
}

function readLimits(options: CommandContext['options'], parts: readonly string[]): object | undefined {
  const given = parts.map((part) => [part, options[`per${part.charAt(0).toUpperCase()}${part.slice(1)}`]] as const);
  if (given.every(([, text]) => text === undefined)) return undefined;
  if (given.some(([, text]) => text === undefined)) throw invalid('--per-minute and --per-day go together');
  return Object.fromEntries(
    given.map(([part, text]) => {
      if (/^\d{1,10}$/.test(`${text}`)) return [part, Number(text)];
      throw invalid(`--per-${part} is "${text}"; write a whole number`);
    }),
  );
}

/** Checks an input, and names the option in place of the member. */
function checked<T>(check: (value: unknown) => T, action: Action, input: object): T {
  try {
    return check(input);
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error;
    const [name = ''] = /^\w+/.exec(error.message) ?? [];
    if (!(name in (action.input?.properties ?? {}))) throw error;
    throw invalid(
      error.message.replace(name, name in input && action.command.usage.includes(`<${name}>`) ? name : flagOf(name)),
    );
  }
}

/** Adds the command that lists a resource, with an option for each filter. */
export function addList(add: AddCommand, resource: AnyResource): Command | undefined {
  const { command: about } = resource;
  if (!about) return undefined;
  const command = add(about.usage, about.about, 'read', async (context) => {
    const rows = await everyRow(resource, context, selectedBy(resource, context));
    const isFiltered = Object.keys(resource.filters).some(
      (name) => context.options[name] !== undefined && about.defaults?.[name] === undefined,
    );
    if (rows.length === 0 && isFiltered) return { json: rows, text: '', note: `No ${resource.noun[0]} matches` };
    return listed(resource, rows, context.now);
  });
  return withFilters(command, resource);
}

/** The part of a resource that selects. */
type Filtered = Pick<AnyResource, 'filters' | 'sorts' | 'command'>;

/** Reads the filters, order and limit of a list from options. Throws `validation_failed`. */
export function selectedBy(resource: Filtered, { options, now }: Pick<CommandContext, 'options' | 'now'>) {
  const textOf = (name: string) => options[name] as string | undefined;
  const { sort = sortOf(resource), ...selected } = select(parametersOf(resource), { textOf, now, nameOf: optionOf });
  const limit = options.limit === undefined ? Number.POSITIVE_INFINITY : LIMIT.read(`${options.limit}`, '--limit', now);
  return { ...selected, sort: `${sort}`, limit };
}

/** Adds the options of the filters of a resource. */
export function withFilters(command: Command, resource: Filtered): Command {
  for (const [name, { about, values, schema }] of Object.entries(parametersOf(resource))) {
    const operand = values ? name : 'minimum' in schema ? 'number' : 'example' in schema ? 'when' : 'text';
    const text = values && values.length < 12 ? `${about}: ${values.join(', ')}` : about;
    command.option(`${optionOf(name)} <${operand}>`, text, resource.command?.defaults?.[name]);
  }
  return command.option('--limit <count>', 'at most so many');
}

/** Rows as JSON, and as a table. */
export function listed({ columns, command }: AnyResource, rows: readonly object[], now: number): Printed {
  if (rows.length === 0) return { json: rows, text: '', note: command?.none };
  const shown = columns.filter(({ member, text }) => member ?? text);
  const cells = rows.map((row) =>
    shown.map(({ member = '', text }) => text?.(row, now) ?? String((row as Record<string, unknown>)[member] ?? '')),
  );
  return {
    json: rows,
    text: table(
      shown.map(({ label }) => label.toUpperCase()),
      cells,
    ),
  };
}

/** The longest life of a key or a token. */
const LIFE_MAX_SECONDS = 100 * 366 * 86_400;
const LIMIT = byNumber('At most so many', { minimum: 1, maximum: 1_000_000 });

/** The option of a parameter: `expiresBefore` is `--expires-before`. */
function optionOf(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** The option of a member: `expiresAt` is `--expires`. */
function flagOf(name: string): string {
  return `--${name.replace(/At$/, '')}`;
}
