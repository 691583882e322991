import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

interface Category {
  readonly id: number;
  readonly name: string;
  readonly description?: string;
}

const KEYS: ReadonlySet<string> = new Set(['one', 'two']);

/**
 * A server that keeps the published interface and decides all else unlike ours: one window for all keys, a date in
 * Retry-After, a charset, the newest first, a fourth member in errors, unknown members refused, no ETag.
 */
export function otherMake(limitPerMinute: number): (request: IncomingMessage, response: ServerResponse) => void {
  const categories: Category[] = [];
  const used = new Map<string, number>();
  let ends = 0;

  return async (request, response) => {
    const now = Math.floor(Date.now() / 1000);
    if (now >= ends) {
      used.clear();
      ends = now + 60;
    }
    const key = /^Bearer (.*)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const count = (used.get(key) ?? 0) + 1;
    if (KEYS.has(key)) used.set(key, count);
    response.setHeader('X-RateLimit-Limit', limitPerMinute);
    response.setHeader('X-RateLimit-Remaining', Math.max(0, limitPerMinute - count));
    response.setHeader('X-RateLimit-Reset', ends);
    const answer = (status: number, body: unknown) => {
      response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' });
      response.end(JSON.stringify(body));
    };
    const refuse = (status: number) => answer(status, { code: `E${status}`, message: 'No', status, at: now });
    const body = await text(request);
    if (!KEYS.has(key)) return refuse(401);
    if (count > limitPerMinute) {
      response.setHeader('Retry-After', new Date(ends * 1000).toUTCString());
      return refuse(429);
    }
    if (request.url !== '/v1/categories') return refuse(404);
    if (request.method === 'GET') return answer(200, categories.toReversed());
    if (request.method !== 'POST') return refuse(405);
    const wanted = newCategory(body);
    if (!wanted) return refuse(400);
    const created = { ...wanted, id: categories.length * 1_000 + 7 };
    categories.push(created);
    answer(201, created);
  };
}

function newCategory(body: string): Omit<Category, 'id'> | undefined {
  try {
    const { name, description, ...unknown } = JSON.parse(body);
    const isValid = typeof name === 'string' && /^(string|undefined)$/.test(typeof description);
    return isValid && Object.keys(unknown).length === 0 ? { name, ...(description && { description }) } : undefined;
  } catch {
    return undefined;
  }
}
