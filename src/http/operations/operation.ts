import type { TSchema } from 'typebox';
import type { Scope } from '../../catalog/api-key.ts';
import type { CategoryList } from '../../catalog/category-list.ts';
import type { ErrorCode } from '../../catalog/error.ts';
import type { Storage } from '../../catalog/storage.ts';
import type { Answer, Exchange } from '../transport/exchange.ts';

/** What operations work on. */
export interface Catalog {
  readonly storage: Storage;
  readonly categories: CategoryList;
  /** Adds to the list what was stored without its knowing. Rejects if that cannot be read now. */
  catchUp(): Promise<void>;
}

export interface Parameter {
  readonly name: string;
  readonly description: string;
  readonly schema: TSchema;
}

/**
 * One operation of the interface: how it is reached, what the contract says of it, and what it does. The router and
 * the contract are both made from a list of these, so that neither can know one that the other does not.
 */
export interface Operation {
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Relative to the base address, parameters in braces. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  /** The scope that a key needs. */
  readonly scope: Scope | 'any';
  readonly stability?: 'beta' | 'experimental';
  /** When it was deprecated and when it ends, in Unix seconds, and the path that takes its place. */
  readonly deprecation?: { readonly since: number; readonly sunset: number; readonly successor: string };
  /** Answered without spending anything, even over the limit and during a ban. */
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
  /** Whether a conditional request can be answered with 304. */
  readonly conditional?: true;
  /** The failures that are particular to it. */
  readonly errors: readonly ErrorCode[];
  handle(catalog: Catalog, exchange: Exchange): Answer | Promise<Answer>;
}
