import type { Command } from 'commander';
import { invalid } from '../../catalog/error.ts';
import type { Schema } from '../../catalog/validate.ts';
import { byNumber, select } from '../api/filters.ts';
import {
  type CallRequest,
  type Column,
  csvWriter,
  type OperatorOperation,
  parametersOf,
  type Result,
} from '../api/operation.ts';
import { addMember, memberOption, readMember } from './members.ts';
import { table } from './table.ts';
import { WORDS, type Words } from './words.ts';

/** The commands of operators, made from operations: a command is a call, its options are query and body. */

/** The calls of a command: in process on the database, or of the running service over HTTP. */
export interface CommandContext {
  /** The options of the command, by their names. */
  readonly options: Readonly<Record<string, string | true | undefined>>;
  /** Unix seconds. */
  readonly now: number;
  call(operation: OperatorOperation, request: CallRequest): Promise<Result>;
  pages(operation: OperatorOperation, request: CallRequest): AsyncIterable<Result>;
}

/** The result of a command: for programs, or for people, with a note on stderr. */
export interface Printed {
  readonly json?: unknown;
  readonly text: string;
  readonly note?: string | undefined;
  /** Told with `--json` too. */
  readonly told?: string | undefined;
}

/** Adds a command that works on the database for a purpose, or asks the running service. */
export type AddCommand = (
  usage: string,
  about: string,
  purpose: 'read' | 'create' | 'change' | 'ask',
  work: (context: CommandContext, ...operands: string[]) => Promise<Printed>,
) => Command;

const LIMIT = byNumber('At most so many', { minimum: 1, maximum: 1_000_000 });

/** Adds a command for each operation. */
export function addOperations(add: AddCommand, operations: readonly OperatorOperation[]): void {
  for (const operation of operations) addOperation(add, operation);
}

/** Adds the command of an operation; `other` does it where the operand of the path is missing, or is there. */
export function addOperation(
  add: AddCommand,
  operation: OperatorOperation,
  { other, ...words }: Words & { readonly other?: OperatorOperation } = {},
): void {
  const { usage, about, none = `No ${operation.list?.noun[1]} yet` }: Words = { ...WORDS[operation.id], ...words };
  const [, verb = ''] = operation.name.split('.');
  const written = usage ?? `${verb}${operation.parameter ? ' <id>' : ''}`;
  const work = async (context: CommandContext, ...given: string[]): Promise<Printed> => {
    const texts = Object.fromEntries(operands.map((name, index) => [name, given[index]]));
    const done = other && (given[0] !== undefined) !== (operation.parameter !== undefined) ? other : operation;
    if (other) checkEither(done === other ? operation : other, context, given[0]);
    const request = requestOf(done, context, texts);
    // A service would name the parameter, not the option.
    if (done.isOfService)
      select(parametersOf(done), { textOf: (name) => request.query?.get(name), ...context, ...request });
    if (done.list) return listed(done, context, { request, none });
    const printed = await called(done, context, request);
    // One of a list is a row of its table.
    return operation.list ? { ...printed, text: tableOf(operation, [printed.json as object], context.now) } : printed;
  };
  const command = add(written, about ?? operation.summary, purposeOf(operation), work);
  const operands = command.registeredArguments.map((argument) => argument.name());
  for (const each of other ? [operation, other] : [operation]) addOptions(command, each, operands);
}

/** Refuses the options of the operation that is not meant: an id names one, a filter all that it selects. */
function checkEither(unmeant: OperatorOperation, { options }: CommandContext, id: string | undefined): void {
  const given = Object.keys(parametersOf(unmeant)).find((name) => options[name] !== undefined);
  if (id !== undefined && given !== undefined) throw invalid(`Name either an id or ${optionOf(given)}, not both`);
}

function purposeOf({ id, method, isOfService }: OperatorOperation) {
  if (isOfService) return 'ask';
  if (method === 'GET') return 'read';
  return WORDS[id]?.begins ? 'create' : 'change';
}

/** The options of an operation: its filters, the members of its body, and those of a list. */
function addOptions(command: Command, operation: OperatorOperation, operands: readonly string[]): void {
  const { list, body, usual = {} } = operation;
  for (const [name, { about, values, schema }] of Object.entries(parametersOf(operation))) {
    if (operands.includes(name)) continue;
    if (values?.[0] === 'true') {
      command.option(optionOf(name), about);
      continue;
    }
    const operand = values ? name : 'minimum' in schema ? 'number' : 'example' in schema ? 'when' : 'text';
    const text = values && values.length < 12 ? `${about}: ${values.join(', ')}` : about;
    command.option(`${optionOf(name)} <${operand}>`, text, usual[name]);
  }
  for (const [name, schema] of Object.entries(body?.schema.properties ?? {})) {
    const isRequired = body?.schema.required?.includes(name) ?? false;
    if (!operands.includes(name)) addMember(command, { name, schema, isRequired, usual: usual[name] });
  }
  if (list) command.option('--limit <count>', 'at most so many');
  if (list?.csv) command.option('--csv', 'print CSV');
}

/** The call that operands and options ask for. */
function requestOf(
  operation: OperatorOperation,
  { options }: CommandContext,
  operands: Readonly<Record<string, string | undefined>>,
): CallRequest {
  const { body, parameter } = operation;
  const query = new URLSearchParams();
  for (const name of Object.keys(parametersOf(operation))) {
    const text = operands[name] ?? options[name];
    if (text !== undefined) query.set(name, `${text}`);
  }
  const members = Object.entries(body?.schema.properties ?? {}).map(
    ([name, schema]) => [name, operands[name] ?? readMember(options, name, schema as Schema)] as const,
  );
  const given = Object.fromEntries(members.filter(([, value]) => value !== undefined));
  const [first = ''] = Object.values(operands);
  return {
    ...(parameter && { id: first }),
    query,
    ...(body && { body: given }),
    nameOf: (name) => (operands[name] === undefined ? (body ? memberOption(name) : optionOf(name)) : name),
  };
}

async function called(operation: OperatorOperation, context: CommandContext, request: CallRequest): Promise<Printed> {
  const { json, secret, note } = await context.call(operation, request);
  if (json === undefined) return { json: {}, text: '', told: note };
  const shown = secret === undefined ? json : { ...(json as object), [operation.secret ?? '']: secret };
  return {
    json: shown,
    text: secret ?? WORDS[operation.id]?.text?.(json) ?? JSON.stringify(json, null, 2),
    told: note,
  };
}

async function listed(
  operation: OperatorOperation,
  context: CommandContext,
  { request, none }: { request: CallRequest; none: string },
): Promise<Printed> {
  const { list, usual = {} } = operation;
  const { limit, csv } = context.options;
  const most = limit === undefined ? Number.POSITIVE_INFINITY : LIMIT.read(`${limit}`, '--limit', context.now);
  const rows: object[] = [];
  for await (const page of context.pages(operation, request)) {
    rows.push(...(page.json as object[]).slice(0, most - rows.length));
    if (rows.length >= most) break;
  }
  if (csv && list?.csv) return { text: csvWriter(list.csv, request.query)(rows).trimEnd() };
  if (rows.length > 0) return { json: rows, text: tableOf(operation, rows, context.now) };
  const isFiltered = [...(request.query ?? [])].some(([name, text]) => text !== usual[name]);
  return { json: rows, text: '', note: isFiltered ? `No ${list?.noun[0]} matches` : none };
}

function tableOf({ list }: OperatorOperation, rows: readonly object[], now: number): string {
  const members = Object.keys(rows[0] ?? {});
  const columns = list?.columns.length
    ? list.columns
    : members.map((member) => ({ member, label: member.replaceAll(/[A-Z]/g, ' $&') }));
  const cells = rows.map((row) =>
    columns.map(({ member, text }: Column) => text?.(row, now) ?? `${(row as Record<string, unknown>)[member] ?? ''}`),
  );
  return table(
    columns.map(({ label }) => label.toUpperCase()),
    cells,
  );
}

/** The option of a parameter: `expiresBefore` is `--expires-before`. */
function optionOf(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
