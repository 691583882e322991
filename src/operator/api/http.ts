import { seal, unseal } from '../../catalog/idempotency.ts';
import type { OperatorToken, Role } from '../../catalog/operator/access.ts';
import { weightsOf } from '../../http/accept.ts';
import { exampleOf } from '../../http/docs/described.ts';
import { onceIdOf } from '../../http/operations/conditional.ts';
import type { Operation } from '../../http/operations/operation.ts';
import { PLACE, pageLimit, pageOf, placeAnswer } from '../../http/operations/paging.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import type { CsvExports } from './csv.ts';
import { type Caller, type CallRequest, call, type OperatorOperation, parametersOf, tagOf } from './operation.ts';

/** Serves operations over HTTP: adds ETag, Location, Link, Idempotency-Key and CSV to a call. */

/** A request with a token whose role suffices. */
interface ApiContext {
  readonly caller: Caller;
  readonly token: Pick<OperatorToken, 'id' | 'role'>;
  /** The secret of the token, as it was sent. */
  readonly secret: string;
  readonly exports: CsvExports;
}

/** An operation as router and contract take it; its permission is the least role of the token. */
export type ApiOperation = Operation<ApiContext, Role, Exchange>;

/** Where the operator API is served, on the operator listener alone. */
export const API_BASE = '/api/v1';

/** Serves an operation over HTTP. A POST is done once for each `Idempotency-Key`. */
export function overHttp(operated: OperatorOperation): ApiOperation {
  const { parameter, method, errors = [] } = operated;
  const ofOne = parameter ? (['not_found'] as const) : [];
  const guarded = parameter && method !== 'GET' ? (['precondition_failed'] as const) : [];
  return {
    ...operated,
    ...(parameter && { pathParameters: [parameter] }),
    queryParameters: queryOf(operated),
    success: successOf(operated),
    errors: [...new Set([...ofOne, ...errors, ...guarded])],
    handle: (context, exchange) => respond(operated, context, exchange),
  };
}

/** The success of an operation, with the example that its schema gives. */
function successOf({ success, list, description }: OperatorOperation): Operation['success'] {
  if (success) {
    const { schema, example = schema && exampleOf(schema) } = success;
    return { ...success, example };
  }
  if (!list) return { status: 204, description };
  return pageOf(list.schema, `The ${list.noun[1]}`, list.example ?? (exampleOf(list.schema) as object));
}

/** The query parameters of an operation, for the contract. */
function queryOf(operated: OperatorOperation) {
  const parameters = Object.entries(parametersOf(operated)).map(([name, { about, schema }]) => ({
    name,
    description: about,
    schema,
  }));
  const { list } = operated;
  if (!list) return parameters;
  return [...parameters, pageLimit(list.limitMax ?? 100, list.limitUsual ?? 20), PLACE];
}

async function respond(operated: OperatorOperation, context: ApiContext, exchange: Exchange): Promise<Answer> {
  const [id = ''] = Object.values(exchange.params);
  const { query, body, request } = exchange;
  const asked = { id, query, body, ifMatch: request.headers['if-match'] };
  if (operated.method === 'POST') return doneOnce(operated, context, { exchange, asked });
  if (operated.list?.csv && asksForCsv(exchange))
    return context.exports.answer(operated, context.caller, { exchange, request: asked });
  const result = await call(operated, context.caller, asked);
  if (operated.list) return placeAnswer(exchange, result.json as readonly unknown[], result.last);
  if (result.json === undefined) return { status: 204 };
  const tag = tagOf(operated, result);
  return { status: 200, headers: tag ? ['ETag', tag] : [], body: JSON.stringify(result.json) };
}

interface Asked {
  readonly exchange: Exchange;
  readonly asked: CallRequest;
}

/** Does a change once: a repeat with its `Idempotency-Key` gets the same answer and changes nothing. */
async function doneOnce(operated: OperatorOperation, context: ApiContext, { exchange, asked }: Asked): Promise<Answer> {
  const { caller, token, secret: sealedWith } = context;
  const { storage } = caller;
  const beside = await operated.prepare?.(caller, asked.id ?? '');
  const { resource, isReplay } = await storage.once(onceIdOf(exchange, token.id), async (joined) => {
    const within = { ...caller, storage: { ...storage, ...joined } };
    const { json, secret } = await call(operated, within, { ...asked, beside });
    // Sealed with the token, which is stored nowhere.
    return { id: (json as { id?: string }).id ?? '', key: json as object, sealed: secret && seal(secret, sealedWith) };
  });
  const { id, key: shown, sealed } = resource;
  const isNew = operated.success?.status === 201;
  const headers = isNew ? ['Location', `${API_BASE}${operated.path}/${id}`] : [];
  if (isReplay) headers.push('Idempotency-Replayed', 'true');
  const secret = sealed && { [operated.secret ?? '']: unseal(sealed, sealedWith) };
  return { status: isNew ? 201 : 200, headers, body: JSON.stringify(secret ? { ...shown, ...secret } : shown) };
}

/** True for CSV that is named, and not less welcome than JSON, which is the answer to every other `Accept`. */
function asksForCsv({ request: { headers } }: Exchange): boolean {
  const weights = weightsOf(headers.accept);
  const csv = weights.get('text/csv') ?? 0;
  const json = weights.get('application/json') ?? weights.get('application/*') ?? weights.get('*/*') ?? 0;
  return csv > 0 && csv >= json;
}
