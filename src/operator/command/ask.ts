import { withoutSecret } from '../../catalog/api-key.ts';
import { API_BASE } from '../api/http.ts';
import type { CallRequest, OperatorOperation, Result } from '../api/operation.ts';
import type { CommandContext } from './commands.ts';

/** Sends a request to the running service, and gives the JSON of its answer. */
type Ask = (method: 'GET', address: string) => Promise<{ json: unknown; headers: Headers }>;

/** The calls of operations of a running service, over HTTP. */
export function callsOver(ask: Ask): Pick<CommandContext, 'call' | 'pages'> {
  return {
    async call(operation, request) {
      return { json: (await ask('GET', addressOf(operation, request))).json };
    },
    async *pages(operation, request): AsyncGenerator<Result> {
      for (let next: string | undefined = addressOf(operation, request); next !== undefined; ) {
        const { json, headers } = await ask('GET', next);
        yield { json };
        next = /^<([^>]*)>; rel="next"/.exec(headers.get('link') ?? '')?.[1];
      }
    },
  };
}

function addressOf({ path, parameter, list }: OperatorOperation, { id = '', query }: CallRequest): string {
  const named = path.replace(`{${parameter?.name}}`, encodeURIComponent(withoutSecret(id)));
  const asked = new URLSearchParams(query);
  if (list) asked.set('limit', `${list.limitMax ?? 100}`);
  return `${API_BASE}${named}${asked.size === 0 ? '' : `?${asked}`}`;
}
