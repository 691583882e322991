import { includesRole } from '../../catalog/operator/access.ts';
import { refusal } from '../../http/errors.ts';
import { createApi } from '../../http/gates.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import { ACTIONS } from '../actions.ts';
import { RECORDED, recordedOperation } from '../catalog/history.ts';
import { operationOf } from '../doors/api-actions.ts';
import { listOperation } from '../doors/lists.ts';
import type { ConsoleOptions } from '../frame/context.ts';
import { requestOperations } from '../requests/resource.ts';
import { WHY_REFUSED } from '../requests/why.ts';
import { RESOURCES } from '../resources.ts';
import { findCaller, REALM } from '../session/caller.ts';
import { GET_KEY } from './keys.ts';
import { API_BASE, type ApiOperation } from './operation.ts';
import { GET_USAGE } from './usage.ts';

/** Every operation of the operator API. Its router and its contract are both made from this list. */
export const API_OPERATIONS: readonly ApiOperation[] = [
  ...RESOURCES.filter(({ api }) => api).map(listOperation),
  GET_KEY,
  ...RECORDED.map(recordedOperation),
  ...ACTIONS.map(operationOf),
  ...requestOperations,
  WHY_REFUSED,
  GET_USAGE,
];

/** Creates the handler of the operator API: the caller of a request, then the gates of both APIs. */
export function createOperatorApi(options: ConsoleOptions): (exchange: Exchange) => Promise<Answer> {
  const { storage, localSecret, time, recent, flushUsage, environment } = options;
  const { find, operate } = createApi({
    base: API_BASE,
    operations: API_OPERATIONS,
    forbid: (role, _exchange, { token }) =>
      includesRole(token.role, role) ? undefined : insufficientRole(role, token.role),
  });
  return async (exchange) => {
    const { unix: now } = time.now();
    const caller = await findCaller(exchange.request, { storage, localSecret, now });
    if ('refused' in caller) return caller.refused;
    const context = { ...caller, storage, sessions: storage.sessions, recent, flushUsage, environment, now };
    return operate(exchange, find(exchange), context);
  };
}

/** The 403 for a token whose role does not suffice (RFC 6750, section 3.1). */
function insufficientRole(needed: string, role: string): Answer {
  return refusal('insufficient_role', `This needs the role ${needed}; the token has the role ${role}`, [
    'WWW-Authenticate',
    `${REALM}, error="insufficient_scope", scope="${needed}"`,
  ]);
}
