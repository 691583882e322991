import { idIn, rowAnswer } from '../doors/api-actions.ts';
import { KEY_ANSWER, keyNoun } from '../keys/noun.ts';
import { apiOperation } from './operation.ts';

export const getKey = apiOperation('getKey', 'GET /keys/{keyId}', {
  tag: 'keys',
  summary: 'Get a key',
  description: 'One key by its id.',
  permission: 'viewer',
  pathParameters: [keyNoun.parameter],
  success: KEY_ANSWER,
  errors: ['not_found'],
  async handle(context, exchange) {
    return rowAnswer(keyNoun, context, await keyNoun.find(context, idIn(exchange)));
  },
});
