import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TSchema } from 'typebox';
import type { Environment } from '../../catalog/api-key.ts';
import type { Operator } from '../../catalog/audit.ts';
import { type AnyErrorCode, CatalogError } from '../../catalog/error.ts';
import { includesRole, type Role } from '../../catalog/operator/access.ts';
import { type CsvRow, csvLines } from '../../catalog/operator/csv.ts';
import type { Place, Precondition } from '../../catalog/resource.ts';
import type { Storage } from '../../catalog/storage.ts';
import { type Schema, validatorOfAll } from '../../catalog/validate.ts';
import { etagOf, preconditionOf } from '../../http/operations/conditional.ts';
import type { Operation, Parameter } from '../../http/operations/operation.ts';
import { placeText, readLimit, readPlace } from '../../http/operations/paging.ts';
import { readParameter } from '../../http/operations/query.ts';
import type { RecentRequests } from '../../telemetry/recent-requests.ts';
import { assertKey, byChoice, type Filters, type Selected, select } from './filters.ts';

/** The operations of operators: the only way to list and to change what they see. Console and commands call them. */

/** Who calls, and what an operation works with. */
export interface Caller {
  readonly storage: Storage;
  readonly environment: Environment;
  /** Unix seconds. */
  readonly now: number;
  /** The actor of the audit. */
  readonly by: Operator;
  readonly role: Role;
  /** The parts of a running service; absent in a command, which has the database alone. */
  readonly service?: ServiceParts | undefined;
}

/** The parts of a running service that operations use. */
export interface ServiceParts {
  readonly recent: RecentRequests;
  /** Stores the usage that this instance has counted. */
  flushUsage(): Promise<void>;
}

/** The checked values of a call. */
export interface Call<Query = object, Body = undefined> {
  /** The parameter of the path; empty without one. */
  readonly id: string;
  readonly query: Query;
  readonly body: Body;
  /** The page of a list. */
  readonly limit: number;
  readonly behind: Place | undefined;
  readonly sort: string;
  /** Throws `precondition_failed` unless the present target is the one that the caller knows. */
  readonly precondition: Precondition<object> | undefined;
  /** The result of `prepare`. */
  readonly beside: unknown;
  /** The caller's word for a parameter, for messages. */
  nameOf(name: string): string;
}

/** The outcome of a call. */
export interface Result {
  /** As the API shows it; undefined where the answer has no body. */
  readonly json?: unknown;
  /** A new secret, which exists nowhere else. */
  readonly secret?: string;
  /** The target, which `tagged` of its operation guards. */
  readonly row?: object | undefined;
  /** The place of the last row of a page, if there are more. */
  readonly last?: Place | undefined;
  /** The number of rows that the filters select, where it is counted. */
  readonly total?: number;
  /** For people: what the change did not do. */
  readonly note?: string | undefined;
}

/** The body of an operation, from which its form and its options follow. */
export interface Body<T> {
  readonly schema: Schema & TSchema & { readonly properties: Readonly<Record<string, Schema>> };
  readonly example: unknown;
  readonly isOptional?: true;
  /** Rules of a member that its schema does not say. Each throws `validation_failed`. */
  readonly checks?: Readonly<Record<string, (value: never, now: number) => void>>;
  /** The type of the checked value. */
  readonly type?: T;
}

/** A column of a list, for tables of the command and the console. */
export interface Column {
  readonly member: string;
  readonly label: string;
  /** Writes the member of a row; as it is without it. */
  // biome-ignore lint/suspicious/noExplicitAny: the JSON of a row, whose schema its operation has.
  text?(json: any, now: number): string;
  readonly isNumber?: true;
  readonly isLong?: true;
}

interface Csv {
  readonly columns: readonly string[] | ((query: URLSearchParams | undefined) => readonly string[]);
  /** The cells of a row, where its members are not what stands in them. */
  // biome-ignore lint/suspicious/noExplicitAny: the JSON of a row, whose schema its operation has.
  row?(json: any): CsvRow;
}

interface List {
  /** One of them and several, in sentences. */
  readonly noun: readonly [string, string];
  readonly schema: TSchema;
  /** That of its schema without it. */
  readonly example?: object;
  readonly columns: readonly Column[];
  /** The orders, the usual one first. */
  readonly sorts?: readonly string[];
  readonly limitMax?: number;
  readonly limitUsual?: number;
  /** The columns in CSV, and a row of these from the JSON; none without it. */
  readonly csv?: Csv;
}

interface Described<F extends Filters, T> {
  /** The first part of the path without it. */
  readonly tag?: string;
  readonly summary: string;
  readonly description: string;
  readonly permission: Role;
  /** The id in the path without it. */
  readonly parameter?: Parameter;
  readonly filters?: F;
  readonly body?: Body<T>;
  readonly list?: List;
  readonly success?: Operation['success'];
  readonly errors?: readonly AnyErrorCode[];
  /** Filters that console and command send where the caller gives none; the API has its own defaults. */
  readonly usual?: Readonly<Record<string, string>>;
  /** The member of the answer with a new secret. */
  readonly secret?: 'key' | 'token';
  /** True if only a running service knows the answer. */
  readonly isOfService?: true;
  /** The members of the target that its validator covers; all without it. */
  tagged?(row: never): object;
  /** Reads what JSON shows beside the target: a change that is done once runs in a transaction without it. */
  prepare?(caller: Caller, id: string): Promise<unknown>;
  handle(caller: Caller, call: Call<Selected<F>, T>): Promise<Result> | Result;
}

type Route = `${'GET' | 'POST' | 'PATCH' | 'DELETE'} /${string}`;

/** One operation of operators: its route, its documentation and its handler. */
// biome-ignore lint/suspicious/noExplicitAny: each has filters and a body of its own.
export interface OperatorOperation<F extends Filters = any, T = any> extends Described<F, T> {
  /** The noun and the verb, as the audit names a change. */
  readonly name: `${string}.${string}`;
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly tag: string;
  /** Finds every wrong member of a body; compiled at its first use. */
  readonly check?: ((body: unknown) => Map<string, string>) | undefined;
}

/** Makes an operation from its name, the id in the contract, its route and the rest. */
export function operate<const F extends Filters, T = undefined>(
  name: OperatorOperation['name'],
  id: string,
  route: Route,
  rest: Described<F, T>,
): OperatorOperation<F, T> {
  const [method, path] = route.split(' ') as [OperatorOperation['method'], string];
  const [, tag = ''] = path.split('/');
  const said = { tag, ...parameterIn(path), ...rest };
  return { name, id, method, path, ...said, ...(rest.body && { check: validatorOfAll(rest.body.schema) }) };
}

function parameterIn(path: string): { parameter?: Parameter } {
  const [, name, noun] = /{((\w+)Id)}/.exec(path) ?? [];
  return name ? { parameter: { name, description: `The id of the ${noun}`, schema: { type: 'string' } } } : {};
}

/** A call as it is sent. */
export interface CallRequest {
  readonly id?: string;
  readonly query?: URLSearchParams;
  readonly body?: unknown;
  readonly ifMatch?: string | undefined;
  /** The result of `prepare`. */
  readonly beside?: unknown;
  /** The caller's word for a parameter or a member, for messages; the name itself without it. */
  nameOf?(name: string): string;
}

const NO_QUERY = new URLSearchParams();

/** The filters of an operation and the order of its list. */
export function parametersOf({ filters = {}, list }: Pick<OperatorOperation, 'filters' | 'list'>): Filters {
  if (!list?.sorts) return filters;
  const { sorts } = list;
  return { ...filters, sort: byChoice(`The order: ${sorts[0]} if it is missing`, sorts, { label: 'Order' }) };
}

/**
 * Checks a call and does it. A call in process and one over HTTP are the same. Throws `insufficient_role`,
 * `validation_failed` with each wrong member, or what the handler throws.
 */
export async function call(
  operation: OperatorOperation,
  caller: Caller,
  { id = '', query = NO_QUERY, body, ifMatch, beside, nameOf = (name) => name }: CallRequest = {},
): Promise<Result> {
  const { permission, list, tagged = (row: object) => row } = operation;
  if (!includesRole(caller.role, permission)) throw insufficientRole(permission, caller.role);
  const textOf = (name: string) => readParameter(query, name);
  const { limitMax, limitUsual } = { limitMax: 100, limitUsual: 20, ...list };
  const parameters = parametersOf(operation);
  const read = () => select(parameters, { textOf, now: caller.now, nameOf });
  const { sort = list?.sorts?.[0], ...selected } = Object.keys(parameters).length > 0 ? read() : {};
  for (const [name, key] of Object.entries(selected))
    if (parameters[name]?.isKey) await assertKey(caller, { id: `${key}`, name: nameOf(name) });
  const unmet = preconditionOf(ifMatch);
  return operation.handle(caller, {
    id,
    query: selected,
    sort: `${sort ?? ''}`,
    body: checkedBody(operation, caller, { body, nameOf }),
    limit: list ? readLimit(query, limitMax, limitUsual) : 1,
    behind: list ? readPlace(query) : undefined,
    precondition: unmet && ((row) => unmet(tagged(row as never))),
    beside,
    nameOf,
  });
}

/** The validator of a result, for `If-Match`; undefined where its operation has none. */
export function tagOf({ tagged = (row: object) => row }: OperatorOperation, { row }: Result): string | undefined {
  return row && etagOf(JSON.stringify(tagged(row as never)));
}

/** The pages of a list, each later one read when it is asked for, so that requests are served in between. */
export async function* pages(
  operation: OperatorOperation,
  caller: Caller,
  { query = NO_QUERY, ...request }: CallRequest,
): AsyncGenerator<Result> {
  const { limitMax = 100 } = operation.list ?? {};
  for (let cursor = ''; ; ) {
    const page = new URLSearchParams(query);
    page.set('limit', `${limitMax}`);
    page.delete('cursor');
    if (cursor !== '') page.set('cursor', cursor);
    const result = await call(operation, caller, { ...request, query: page });
    yield result;
    if (!result.last) return;
    cursor = placeText(result.last);
    await nextTurn();
  }
}

/** The body of a call. Throws `validation_failed` with every wrong member. */
function checkedBody(
  { body: expected, check }: OperatorOperation,
  { now }: Caller,
  { body = {}, nameOf }: { body: unknown; nameOf: (name: string) => string },
): unknown {
  if (!expected || !check) return undefined;
  const mistakes = check(body);
  // A body that is no object has one mistake, as a whole.
  for (const [name, rule] of mistakes.has('') ? [] : Object.entries(expected.checks ?? {})) {
    const value = (body as Record<string, unknown>)[name];
    try {
      if (value !== undefined && !mistakes.has(name)) rule(value as never, now);
    } catch (error) {
      if (!(error instanceof CatalogError)) throw error;
      mistakes.set(name, error.message);
    }
  }
  if (mistakes.size === 0) return body;
  const named = new Map([...mistakes].map(([name, message]) => [name, renamed(message, name, nameOf)]));
  throw new CatalogError('validation_failed', [...named.values()][0] ?? '', { mistakes: named });
}

/** A message that begins with a member or a part of it, with the caller's word for that. */
function renamed(message: string, name: string, nameOf: (name: string) => string): string {
  const [subject = ''] = message.split(' ', 1);
  const isAbout = subject === name || subject.startsWith(`${name}.`);
  return isAbout ? `${nameOf(subject)}${message.slice(subject.length)}` : message;
}

/** Makes a function that writes rows as CSV, the columns before the first; they may have more members. */
export function csvWriter({ columns, row = (json) => json }: Csv, query: URLSearchParams | undefined) {
  const names = typeof columns === 'function' ? columns(query) : columns;
  let head = `${names.join()}\n`;
  return (rows: readonly object[]): string => {
    const text = `${head}${csvLines(names, rows.map(row))}`;
    head = '';
    return text;
  };
}

/** The refusal of what needs another role. */
export function insufficientRole(needed: Role, role: Role): CatalogError {
  return new CatalogError('insufficient_role', `This needs the role ${needed}, but yours is ${role}`);
}
