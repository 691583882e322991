import type { TSchema } from 'typebox';
import type { Scope } from '../../catalog/api-key.ts';
import type { CategoryList } from '../../catalog/category-list.ts';
import type { AnyErrorCode } from '../../catalog/error.ts';
import type { Storage } from '../../catalog/storage.ts';
import type { AdmittedExchange, Answer, Exchange } from '../transport/exchange.ts';

/** The context of the handlers of operations. */
export interface Catalog {
  readonly storage: Storage;
  readonly categories: CategoryList;
  /** Updates the list with changes that other instances made. Rejects if storage cannot be read. */
  catchUp(): Promise<void>;
}

export interface Parameter {
  readonly name: string;
  readonly description: string;
  readonly schema: TSchema;
}

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/**
 * One operation of an API: its route, its documentation and its handler. Router, contract and reference of each API
 * are made from a list of these, so they cannot differ. `Permission` is what callers of that API may have, `Context`
 * what its handlers work with, `Request` the exchange as its gates leave it.
 */
export interface Operation<
  Context = Catalog,
  Permission extends string = Scope | 'any',
  Request extends Exchange = AdmittedExchange,
> {
  readonly id: string;
  readonly method: Method;
  /** Relative to the base address; parameters in braces. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  /** The scope that the key needs, or the least role of the token. */
  readonly permission: Permission;
  readonly stability?: 'beta' | 'experimental';
  /** Deprecation and sunset in Unix seconds, and the path to use instead, with the path's id in its query. */
  readonly deprecation?: { readonly since: number; readonly sunset: number; readonly successor: string };
  /** Does not count against the limits; served even over the limit and during a ban. */
  readonly free?: true;
  readonly pathParameters?: readonly Parameter[];
  readonly queryParameters?: readonly Parameter[];
  readonly body?: { readonly schema: TSchema; readonly example: unknown; readonly isOptional?: true };
  readonly success: {
    readonly status: 200 | 201 | 204;
    readonly description: string;
    readonly schema?: TSchema;
    readonly example?: unknown;
    /** An example in CSV, if `Accept: text/csv` gives it. */
    readonly csv?: string;
    readonly headers?: Readonly<Record<string, string>>;
  };
  /** Supports `If-None-Match` and 304. */
  readonly conditional?: true;
  /** Errors beyond those that every operation of its API can return; `precondition_failed` if `If-Match` guards it. */
  readonly errors?: readonly AnyErrorCode[];
  handle(context: Context, exchange: Request): Answer | Promise<Answer>;
}

/** Makes an operation of the public API from its id, its route such as `GET /pets/{petId}`, and the rest. */
export function operation(
  id: string,
  route: `${Method} /${string}`,
  rest: Omit<Operation, 'id' | 'method' | 'path'>,
): Operation {
  const [method, path] = route.split(' ') as [Method, string];
  return { id, method, path, ...rest };
}

/** The part that router and contract need of an operation of any API. */
export type Described = Omit<Operation<never, string>, 'handle'>;
