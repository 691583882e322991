/** An API of things, and two clients of it: one that survives a lost answer, and one that only repeats. */

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';

/** Starts the API on a free port of this machine. */
export async function startApi() {
  const made = new Map();
  const server = createServer((request, response) => {
    const key = request.headers['idempotency-key'] ?? randomUUID();
    if (!made.has(key)) made.set(key, { id: made.size + 1 });
    request.resume().on('end', () => {
      response.writeHead(201, { 'Content-Type': 'application/json' });
      response.end(JSON.stringify(made.get(key)));
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { url: `http://127.0.0.1:${server.address().port}`, end: () => server.close() };
}

/** Creates a thing, in up to three tries with one Idempotency-Key. */
export const carefulCreate = (url) => create(url, { 'Idempotency-Key': randomUUID() });

/** The same without a key, so that a lost answer makes two things. */
export const hastyCreate = (url) => create(url, {});

async function create(url, headers) {
  for (let tries = 1; ; tries += 1) {
    const answer = await fetch(`${url}/things`, { method: 'POST', headers }).catch(() => undefined);
    if (answer?.status === 201) return answer.json();
    if (tries === 3 || (answer && answer.status < 500 && answer.status !== 429))
      throw new Error(`no thing: ${answer?.status}`);
    const seconds = Number(answer?.headers.get('retry-after') ?? 0.2 * 2 ** tries);
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  }
}
