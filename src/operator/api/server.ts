import type { Environment } from '../../catalog/api-key.ts';
import { includesRole } from '../../catalog/operator/access.ts';
import type { Storage } from '../../catalog/storage.ts';
import { refusal } from '../../http/errors.ts';
import { createApi } from '../../http/gates.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import type { Time } from '../../stdx/time.ts';
import { findCaller, REALM } from '../session/caller.ts';
import { CsvExports } from './csv.ts';
import { API_BASE, type ApiOperation, overHttp } from './http.ts';
import type { ServiceParts } from './operation.ts';
import { OPERATOR_OPERATIONS } from './operations.ts';

/** The operations as the operator API serves them. */
export const API_OPERATIONS: readonly ApiOperation[] = OPERATOR_OPERATIONS.map(overHttp);

/** Creates the handler of the operator API: the caller of a request, then the gates of both APIs. */
export function createOperatorApi({
  storage,
  localSecret,
  time,
  environment,
  service,
}: {
  readonly storage: Storage;
  readonly localSecret: string;
  readonly time: Time;
  readonly environment: Environment;
  readonly service: ServiceParts;
}): (exchange: Exchange) => Promise<Answer> {
  const exports = new CsvExports();
  const { find, operate } = createApi({
    base: API_BASE,
    operations: API_OPERATIONS,
    forbid: (role, _exchange, { token }) =>
      includesRole(token.role, role) ? undefined : insufficientRole(role, token.role),
  });
  return async (exchange) => {
    const { unix: now } = time.now();
    const found = await findCaller(exchange.request, { storage, localSecret, now });
    if ('refused' in found) return found.refused;
    const { token, secret, by } = found;
    const caller = { storage, environment, now, by, role: token.role, service };
    return operate(exchange, find(exchange), { caller, token, secret, exports });
  };
}

/** The 403 for a token whose role does not suffice (RFC 6750, section 3.1). */
function insufficientRole(needed: string, role: string): Answer {
  return refusal('insufficient_role', `This needs the role ${needed}; the token has the role ${role}`, [
    'WWW-Authenticate',
    `${REALM}, error="insufficient_scope", scope="${needed}"`,
  ]);
}
