import type { AnyErrorCode } from '../../catalog/error.ts';
import type { ChangeContext } from '../../catalog/operator/key-changes.ts';
import type { OperatorToken, Role } from '../../catalog/operator/token.ts';
import type { Storage } from '../../catalog/storage.ts';
import type { Operation } from '../../http/operations/operation.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import type { RecentRequests } from '../../telemetry/recent-requests.ts';

/** A request with a token whose role suffices. */
export interface ApiContext extends ChangeContext {
  readonly storage: Storage;
  readonly recent: RecentRequests;
  readonly exchange: Exchange;
  readonly token: OperatorToken;
  /** The secret of the token, as it was sent. */
  readonly secret: string;
}

/** One operation of the operator API, from which router and contract are made, as those of the public one are. */
export interface ApiOperation
  extends Pick<
    Operation,
    'id' | 'method' | 'tag' | 'summary' | 'description' | 'pathParameters' | 'queryParameters' | 'success'
  > {
  /** Relative to `API_BASE`; parameters in braces. */
  readonly path: string;
  /** The least role of the token. */
  readonly role: Role;
  readonly body?: NonNullable<Operation['body']> & { readonly isOptional?: true };
  /** An example of the answer in CSV, if `Accept: text/csv` gives it. */
  readonly csv?: string;
  /** Errors beyond those that every operation can return. */
  readonly errors: readonly AnyErrorCode[];
  handle(context: ApiContext): Answer | Promise<Answer>;
}

/** Where the operator API is served, on the operator listener alone. */
export const API_BASE = '/api/v1';
