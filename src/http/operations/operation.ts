import type { TSchema } from 'typebox';
import type { Scope } from '../../catalog/api-key.ts';
import type { CategoryList } from '../../catalog/category-list.ts';
import type { ErrorCode } from '../../catalog/error.ts';
import type { Storage } from '../../catalog/storage.ts';
import type { Answer, Exchange } from '../transport/exchange.ts';

/** What the handlers of operations work with. */
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

/**
 * One operation of the interface: its route, its documentation and its handler. The router and the contract are both
 * generated from a list of these, so they cannot differ.
 */
export interface Operation {
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Relative to the base address; parameters in braces. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  /** The scope that the key needs. */
  readonly scope: Scope | 'any';
  readonly stability?: 'beta' | 'experimental';
  /** Deprecation and sunset in Unix seconds, and the path to use instead, with the path's id in its query. */
  readonly deprecation?: { readonly since: number; readonly sunset: number; readonly successor: string };
  /** Does not count against the limits; served even over the limit and during a ban. */
  readonly free?: true;
  readonly pathParameters?: readonly Parameter[];
  readonly queryParameters?: readonly Parameter[];
  readonly body?: { readonly schema: TSchema; readonly example: unknown };
  readonly success: {
    readonly status: 200 | 201 | 204;
    readonly description: string;
    readonly schema?: TSchema;
    readonly example?: unknown;
    readonly headers?: Readonly<Record<string, string>>;
  };
  /** Supports `If-None-Match` and 304. */
  readonly conditional?: true;
  /** Errors beyond those that every operation can return. */
  readonly errors: readonly ErrorCode[];
  handle(catalog: Catalog, exchange: Exchange): Answer | Promise<Answer>;
}
