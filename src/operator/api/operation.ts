import type { OperatorToken, Role } from '../../catalog/operator/access.ts';
import { type Operation, operation } from '../../http/operations/operation.ts';
import type { Exchange } from '../../http/transport/exchange.ts';
import type { ReadContext } from '../resource.ts';

/** A request with a token whose role suffices. */
export interface ApiContext extends ReadContext {
  readonly token: Pick<OperatorToken, 'id' | 'role'>;
  /** The secret of the token, as it was sent. */
  readonly secret: string;
}

/** One operation of the operator API; its permission is the least role of the token. */
export type ApiOperation = Operation<ApiContext, Role, Exchange>;

/** Makes an operation of the operator API. */
export const apiOperation = operation<ApiContext, Role, Exchange>;

/** Where the operator API is served, on the operator listener alone. */
export const API_BASE = '/api/v1';
