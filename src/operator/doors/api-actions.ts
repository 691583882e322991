import { CatalogError } from '../../catalog/error.ts';
import { seal, unseal } from '../../catalog/idempotency.ts';
import { validator } from '../../catalog/validate.ts';
import { etagOf, onceIdOf, preconditionOf } from '../../http/operations/conditional.ts';
import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import type { Action, ActionContext, Noun } from '../action.ts';
import { API_BASE, type ApiContext, type ApiOperation, apiOperation } from '../api/operation.ts';

/** Makes the operation of the API that does an action. A POST is done once for each `Idempotency-Key`. */
export function operationOf(action: Action): ApiOperation {
  const { api, input, role, isNew, of } = action;
  const { id, route, example, isOptional, errors = [], ...described } = api;
  const check = input && validator(input);
  return apiOperation(id, route, {
    ...described,
    permission: role,
    ...(!isNew && { pathParameters: [of.parameter], errors: ['not_found', ...errors, 'precondition_failed'] }),
    ...(input && { body: { schema: input, example, ...(isOptional && { isOptional }) } }),
    async handle(context, exchange) {
      const asked = { exchange, id: idIn(exchange), input: check?.(exchange.body ?? {}) ?? {} };
      const precondition = preconditionOf(exchange);
      const guarded = precondition && { precondition: (row: unknown) => precondition(of.guarded(row)) };
      const answer = route.startsWith('POST') ? doneOnce : done;
      return answer(action, { ...context, ...guarded }, asked);
    },
  });
}

interface Asked {
  readonly exchange: Exchange;
  readonly id: string;
  readonly input: object;
}

async function done(action: Action, context: ApiContext, { id, input }: Asked): Promise<Answer> {
  const { row } = await run(action, context, { id, input });
  return action.api.success.status === 204 ? { status: 204 } : rowAnswer(action.of, context, row);
}

/** Answers with what an id names as it is now, and with its validator for `If-Match`. */
export async function rowAnswer<Row>(of: Noun<Row>, context: ActionContext, row: Row): Promise<Answer> {
  const headers = ['ETag', etagOf(JSON.stringify(of.guarded(row)))];
  return { status: 200, headers, body: JSON.stringify(await of.json(context, row)) };
}

/** Does an action once: a repeat with its `Idempotency-Key` gets the same answer and changes nothing. */
async function doneOnce(action: Action, context: ApiContext, { exchange, id, input }: Asked): Promise<Answer> {
  const { of, isNew } = action;
  const { token, secret: sealedWith, storage } = context;
  const details = isNew ? undefined : await of.details?.(context, id);
  const { resource, isReplay } = await storage.once(onceIdOf(exchange, token.id), async (joined) => {
    const { categories, limits, usage } = storage;
    const within = { ...context, storage: { categories, limits, usage, ...joined } };
    const { row, secret } = await run(action, within, { id, input });
    // Sealed with the token, which is stored nowhere.
    const sealed = secret && seal(secret, sealedWith);
    return { id: of.idOf(row), key: await of.json(within, row, details ?? new Map()), sealed };
  });
  const { key: shown, sealed } = resource;
  const headers = isNew ? ['Location', `${API_BASE}/${of.path}/${resource.id}`] : [];
  if (isReplay) headers.push('Idempotency-Replayed', 'true');
  const secret = sealed && { [of.secret ?? '']: unseal(sealed, sealedWith) };
  return { status: isNew ? 201 : 200, headers, body: JSON.stringify({ ...shown, ...secret }) };
}

/** Runs an action; to do nothing is `not_found`. */
async function run(action: Action, context: ActionContext, { id, input }: Omit<Asked, 'exchange'>) {
  const outcome = await action.run(context, id, input);
  if (outcome.nothing !== undefined) throw new CatalogError('not_found', outcome.nothing);
  return outcome;
}

/** The id in the path of an operation; empty without one. */
export function idIn({ params }: Exchange): string {
  const [id = ''] = Object.values(params);
  return id ?? '';
}
