import assert from 'node:assert/strict';
import type { Operator } from '../../src/catalog/audit.ts';
import { issueToken, type OperatorToken, type Role } from '../../src/catalog/operator/access.ts';
import type { Storage } from '../../src/catalog/storage.ts';
import type { Time } from '../../src/stdx/time.ts';

/** The operator recorded for manual changes in tests. */
export const OPERATOR: Operator = { actor: 'test', via: 'cli' };

/** A running service with its storage. */
interface Served {
  readonly storage: Storage;
  readonly clock: Pick<Time, 'now'>;
  readonly operatorUrl: string;
}

/** A program with a token of the operator API. */
export interface ApiClient {
  readonly token: OperatorToken;
  readonly secret: string;
  /** A request; a body that is no text is sent as JSON. */
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  /** The items of a list, page by page, along its links. */
  pages<T>(path: string): Promise<T[][]>;
}

/** Issues a token, named after its role unless told otherwise. */
export async function apiClient(service: Served, role: Role, name: string = role): Promise<ApiClient> {
  const context = { storage: service.storage, now: service.clock.now().unix, by: OPERATOR };
  const issued = await issueToken(context, { name, role });
  const send: ApiClient['send'] = (method, path, body, headers = {}) =>
    callApi(service, method, path, { body, headers: { authorization: `Bearer ${issued.secret}`, ...headers } });
  return {
    ...issued,
    send,
    async pages<T>(path: string) {
      const pages: T[][] = [];
      for (let next: string | undefined = path; next; ) {
        const answer = await send('GET', next);
        assert.equal(answer.status, 200, next);
        pages.push((await answer.json()) as T[]);
        assert.ok(pages.length < 100, 'the pages do not end');
        next = /^<\/api\/v1(.*)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1];
      }
      return pages;
    },
  };
}

/** A request to the operator API. */
export function callApi(
  service: Served,
  method: string,
  path: string,
  { body, headers = {} }: { body?: unknown; headers?: Record<string, string> } = {},
): Promise<Response> {
  return fetch(`${service.operatorUrl}/api/v1${path}`, {
    method,
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    headers: { connection: 'close', 'content-type': 'application/json', ...headers },
  });
}
