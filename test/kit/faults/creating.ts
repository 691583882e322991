import { Agent, request } from 'node:http';
import { request as requestSecurely } from 'node:https';
import { setTimeout as wait } from 'node:timers/promises';
import type { Category } from '../../../src/catalog/category.ts';

export interface Reply {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: string;
}

/** One request over the agent's connections. Rejects when the connection breaks before the answer is complete. */
export function send(
  agent: Agent,
  url: string,
  secret: string,
  body?: unknown,
  more: Record<string, string> = {},
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json', ...more };
    const ask = url.startsWith('https:') ? requestSecurely : request;
    const sent = ask(url, { agent, method: body === undefined ? 'GET' : 'POST', headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text });
      });
    });
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Creates categories over several connections until told to stop, with pauses; collects what was acknowledged. */
export function keepCreating(url: string, secret: string, { connections = 4, pauseMs = 5 } = {}) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const acknowledged: Category[] = [];
  const unexpected: Reply[] = [];
  let stopped = false;
  const work = async (worker: number) => {
    for (let round = 0; !stopped; round += 1) {
      try {
        const reply = await send(agent, `${url}/categories`, secret, { name: `worker ${worker} round ${round}` });
        if (reply.status === 201) acknowledged.push(JSON.parse(reply.body));
        else unexpected.push(reply);
        await wait(pauseMs);
      } catch {
        return;
      }
    }
  };
  const done = Promise.all(Array.from({ length: connections }, (_, worker) => work(worker)));
  return {
    acknowledged,
    unexpected,
    async stop() {
      stopped = true;
      await done;
      agent.destroy();
    },
  };
}
