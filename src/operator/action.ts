import type { TSchema } from 'typebox';
import type { Environment } from '../catalog/api-key.ts';
import type { AuditAction, Operator } from '../catalog/audit.ts';
import type { AnyErrorCode } from '../catalog/error.ts';
import type { Role, SessionStorage } from '../catalog/operator/access.ts';
import type { Precondition } from '../catalog/resource.ts';
import type { Storage } from '../catalog/storage.ts';
import type { Schema } from '../catalog/validate.ts';
import type { Html } from '../http/html.ts';
import type { Operation, Parameter } from '../http/operations/operation.ts';

/** Who acts on what, and when (Unix seconds). */
export interface ActionContext {
  readonly storage: Pick<Storage, 'keys' | 'categories' | 'tokens' | 'limits' | 'usage'>;
  readonly sessions: Pick<SessionStorage, 'list' | 'revoke' | 'revokeAll'>;
  readonly environment: Environment;
  readonly now: number;
  readonly by: Operator;
  /** The condition on the target under which it is changed; throws `precondition_failed`. */
  readonly precondition?: Precondition<object> | undefined;
}

/** The outcome of an action. */
interface Outcome<Row> {
  /** The target as it is now; undefined where it is gone. */
  readonly row: Row | undefined;
  /** A new secret, which exists nowhere else. */
  readonly secret?: string;
  /** Set if there was nothing to do: says why. */
  readonly nothing?: string;
  /** For people: what the change did not do. */
  readonly note?: string | undefined;
}

/** A noun that actions change: how one is found, guarded and shown. */
export interface Noun<Row> {
  /** Its path in the console and the API. */
  readonly path: 'keys' | 'categories' | 'tokens' | 'sessions';
  /** Its group of commands. */
  readonly group: 'keys' | 'categories' | 'operators' | 'sessions';
  readonly title: string;
  /** One of them, in sentences. */
  readonly noun: string;
  /** The name of the member with a new secret. */
  readonly secret?: 'key' | 'token';
  /** The parameter with its id in paths of the API. */
  readonly parameter: Parameter;
  /** Throws `not_found`. */
  find(context: ActionContext, id: string): Promise<Row>;
  /** The members that a validator covers. */
  guarded(row: Row): object;
  idOf(row: Row): string | number;
  nameOf(row: Row): string;
  /** Reads what JSON shows beside the row, before a transaction that has the row alone. */
  details?(context: ActionContext, id: string): Promise<unknown>;
  /** As JSON has it. */
  json(context: ActionContext, row: Row, details?: unknown): Promise<object> | object;
  /** The page to go back to. */
  back(id: string): string;
}

/** The input of an action: the schema of the API's body, from which form and options follow. */
type InputSchema = Schema & TSchema & { readonly properties: object };

interface Option {
  readonly value: string;
  readonly label: string;
}

/** One change of an operator, once for the console, the API and the commands. */
// biome-ignore lint/suspicious/noExplicitAny: each action has an input and a row of its own.
export interface Action<Input = any, Row = any> {
  /** Its name in the audit. */
  readonly name: AuditAction;
  readonly role: Role;
  readonly of: Noun<Row>;
  /** True if it makes its target. */
  readonly isNew?: true;
  readonly input?: InputSchema;
  /** The label and hint of a member in a form, and its option, where its name does not say them. */
  readonly words?: Readonly<Record<string, { label?: string; hint?: string; option?: string }>>;
  /** Throws `validation_failed` for a value that its schema allows and the domain does not. */
  readonly checks?: Readonly<Record<string, (value: never, now: number, row: Row | undefined) => void>>;
  run(context: ActionContext, id: string, input: Input): Promise<Outcome<Row>>;
  /** Does it to all of one actor; gives those that it changed. */
  runForAll?(context: ActionContext, actor: string): Promise<readonly Row[]>;
  /** None where the API has no such operation. */
  readonly api: {
    readonly id: string;
    readonly route: `${'POST' | 'PATCH' | 'DELETE'} /${string}`;
    readonly tag: string;
    readonly summary: string;
    readonly description: string;
    readonly example?: unknown;
    readonly isOptional?: true;
    readonly success: Operation['success'];
    readonly errors?: readonly AnyErrorCode[];
  };
  readonly console: {
    /** The last part of its address. */
    readonly verb: string;
    readonly title: string;
    readonly button: string;
    readonly isDangerous?: true;
    /** The question that it asks before it is done. */
    ask?(context: ActionContext, row: Row): Html | Promise<Html>;
    /** The form as it is first shown. */
    first?(row: Row | undefined): object;
    /** The usual values of a member that is otherwise free text. */
    readonly options?: Readonly<Record<string, readonly Option[]>>;
    /** Drops from the input what the form sends without need. */
    read?(body: Record<string, unknown>): object;
    /** Below a new secret. */
    after?(context: ActionContext, row: Row, input: Input): Html;
    readonly done: string;
    readonly nothing?: string;
  };
  readonly command: {
    /** Its words after the group; operands behind the id are members of the input. */
    readonly usage: string;
    readonly about: string;
    readonly isCreating?: true;
    readonly defaults?: Readonly<Record<string, string>>;
  };
}

/** Makes an action; its input is what its schema allows. */
export function action<Input, Row>(made: Action<Input, Row>): Action<Input, Row> {
  return made;
}
