import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** An API that keeps things by their Idempotency-Key, in memory. As a process of its own it is served. */
export function things(): RequestListener {
  const made = new Map<string, string>();
  let ids = 0;
  return async (request, response) => {
    const body = await text(request);
    const key = request.headers['idempotency-key'];
    const send = (status: number, answer: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    if (request.method === 'DELETE') return response.writeHead(204).end();
    if (request.method !== 'POST')
      return send(200, request.url?.endsWith('s') ? [{ id: 1, name: 'a' }] : { id: 1, name: 'a' });
    ids += 1;
    const stored = (key && made.get(`${key}`)) || JSON.stringify({ id: ids, name: JSON.parse(body || '{}').name });
    if (key) made.set(`${key}`, stored);
    return send(201, JSON.parse(stored));
  };
}

if (import.meta.main) {
  const server = createServer(things()).listen(0, '127.0.0.1', () => {
    console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}/api`);
  });
}
