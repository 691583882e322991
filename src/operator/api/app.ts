import { hashSecret } from '../../catalog/api-key.ts';
import { couldBeToken, includesRole, isTokenUsable } from '../../catalog/operator/access.ts';
import { bearerToken, usesBearer } from '../../http/authenticate.ts';
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
import { GET_KEY } from './keys.ts';
import { API_BASE, type ApiOperation } from './operation.ts';
import { GET_USAGE } from './usage.ts';

const REALM = 'Bearer realm="pet-catalog-operator"';

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

/** Creates the handler of the operator API: the token of a request, then the gates of both APIs. */
export function createOperatorApi(options: ConsoleOptions): (exchange: Exchange) => Promise<Answer> {
  const { storage, time, recent, flushUsage, environment } = options;
  const { find, operate } = createApi({
    base: API_BASE,
    operations: API_OPERATIONS,
    forbid: (role, _exchange, { token }) =>
      includesRole(token.role, role) ? undefined : insufficientRole(role, token.role),
  });
  return async (exchange) => {
    const { authorization = '' } = exchange.request.headers;
    const secret = bearerToken(authorization);
    if (secret === undefined && !usesBearer(authorization)) {
      const message = 'No token was sent; send it as `Authorization: Bearer <TOKEN>`';
      return refusal('missing_token', message, ['WWW-Authenticate', REALM]);
    }
    // Read from storage each time, so that a revoked one ends at once.
    const token = secret !== undefined && couldBeToken(secret) && (await storage.tokens.find(hashSecret(secret)));
    if (!token || !isTokenUsable(token, time.now().unix)) {
      const message = 'The token is not valid; check it, or issue another with `pet-catalog operators create`';
      return refusal('invalid_token', message, ['WWW-Authenticate', `${REALM}, error="invalid_token"`]);
    }
    const { unix: now } = time.now();
    const by = { actor: token.name, via: 'api' } as const;
    const { sessions } = storage;
    const context = { storage, sessions, recent, flushUsage, token, secret, environment, now, by };
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
