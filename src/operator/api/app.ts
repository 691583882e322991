import { includesRole } from '../../catalog/operator/token.ts';
import { createApi } from '../../http/gates.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import type { ConsoleOptions } from '../frame/context.ts';
import { authenticateToken, insufficientRole } from './authenticate.ts';
import { API_BASE } from './operation.ts';
import { API_OPERATIONS } from './operations.ts';

type OperatorApiOptions = Pick<
  ConsoleOptions,
  'storage' | 'time' | 'recent' | 'flushUsage' | 'environment' | 'additions'
>;

/** Creates the handler of the operator API: the token of a request, then the gates of both APIs. */
export function createOperatorApi(options: OperatorApiOptions): (exchange: Exchange) => Promise<Answer> {
  const { storage, time, recent, flushUsage, environment, additions } = options;
  const { find, operate } = createApi({
    base: API_BASE,
    operations: [...API_OPERATIONS, ...(additions?.operations ?? [])],
    forbid: (role, _exchange, { token }) =>
      includesRole(token.role, role) ? undefined : insufficientRole(role, token.role),
  });
  return async (exchange) => {
    const { unix: now } = time.now();
    const { token, secret, refused } = await authenticateToken(storage, exchange.request, time.machine.now().unix);
    if (refused) return refused;
    const by = { actor: token.name, via: 'api' } as const;
    return operate(find(exchange), { storage, recent, flushUsage, token, secret, environment, now, by });
  };
}
