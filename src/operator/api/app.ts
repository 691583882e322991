import { CatalogError } from '../../catalog/error.ts';
import { includesRole } from '../../catalog/operator/token.ts';
import { methodNotAllowed, refusal } from '../../http/errors.ts';
import { checkQuery } from '../../http/operations/paging.ts';
import { createRouter } from '../../http/router.ts';
import { readJson } from '../../http/transport/body.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import type { ConsoleOptions } from '../frame/context.ts';
import { authenticateToken, insufficientRole } from './authenticate.ts';
import { API_BASE, type ApiOperation } from './operation.ts';
import { API_OPERATIONS } from './operations.ts';

type ApiOptions = Pick<ConsoleOptions, 'storage' | 'time' | 'recent' | 'environment' | 'additions'>;

/** Creates the handler of the operator API. Its gates have the order of the public API's: token, route, role, body. */
export function createApi({
  storage,
  time,
  recent,
  environment,
  additions,
}: ApiOptions): (exchange: Exchange) => Promise<Answer> {
  const findRoute = createRouter([...API_OPERATIONS, ...(additions?.operations ?? [])], API_BASE);
  return async (exchange) => {
    exchange.isApi = false;
    const { unix: now } = time.now();
    const sent = await authenticateToken(storage, exchange.request, time.machine.now().unix);
    if (sent.refused) return sent.refused;
    const { token, secret } = sent;
    const route = findRoute(exchange);
    if (!route || Object.values(exchange.params).some((value) => value?.includes('\0'))) {
      return refusal('not_found', 'There is nothing at this address; /openapi.json lists the paths');
    }
    const { method = '' } = exchange.request;
    if (method === 'OPTIONS') return { status: 204, headers: ['Allow', route.allow] };
    const operation = route.operations[method === 'HEAD' ? 'GET' : method];
    if (!operation) return methodNotAllowed(method, route.allow);
    if (!includesRole(token.role, operation.role)) return insufficientRole(operation.role, token.role);
    checkQuery(operation, exchange.query);
    await readBody(exchange, operation);
    const by = { actor: token.name, via: 'api' } as const;
    return operation.handle({ storage, recent, exchange, token, secret, environment, now, by });
  };
}

async function readBody(exchange: Exchange, { body }: ApiOperation): Promise<void> {
  if (exchange.failure) throw exchange.failure;
  const { 'content-length': length = '0', 'transfer-encoding': coding } = exchange.request.headers;
  const isEmpty = length === '0' && coding === undefined;
  if (!body || (body.isOptional && isEmpty)) return;
  exchange.body = await readJson(exchange);
  if (exchange.body !== null && typeof exchange.body === 'object' && !Array.isArray(exchange.body)) return;
  throw new CatalogError('validation_failed', 'The body is no object; send a JSON object');
}
