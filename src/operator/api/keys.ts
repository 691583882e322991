import type { Answer, Exchange } from '../../http/transport/exchange.ts';
import { idIn, rowAnswer } from '../doors/api-actions.ts';
import { KEY_ANSWER, keyNoun } from '../keys/noun.ts';
import { type ApiContext, apiOperation } from './operation.ts';

export const GET_KEY = apiOperation('getKey', 'GET /keys/{keyId}', {
  tag: 'keys',
  summary: 'Get a key',
  description: 'One key by its id.',
  permission: 'viewer',
  pathParameters: [keyNoun.parameter],
  success: KEY_ANSWER,
  errors: ['not_found'],
  handle: getKey,
});

async function getKey(context: ApiContext, exchange: Exchange): Promise<Answer> {
  return rowAnswer(keyNoun, context, await keyNoun.find(context, idIn(exchange)));
}
