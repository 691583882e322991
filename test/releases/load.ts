import { Agent } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { send } from '../kit/faults/creating.ts';

const WORKERS = 8;
const PAUSE_MS = 5;
/** Tries of one request, far more than instances stop at once. */
const TRIES_MAX = 100;

export interface Load extends AsyncDisposable {
  /** The ids of the categories that were created, by the name that each worker gave. */
  readonly created: ReadonlyMap<string, number>;
  /** Requests that were answered otherwise than they had to be. */
  readonly failed: readonly unknown[];
  /** Requests that were sent again because the connection ended, or was refused. */
  readonly repeated: () => number;
  readonly answered: () => number;
  /** Stops it, once each request is answered. */
  stop(): Promise<void>;
}

/**
 * Creates categories and lists them, over instances that come and go. As the guide tells clients, a request whose
 * connection fails goes to the next instance, a create with the same `Idempotency-Key`.
 */
export function loadInstances(urls: () => readonly string[], secret: string): Load {
  const agent = new Agent({ keepAlive: true, maxSockets: WORKERS });
  const created = new Map<string, number>();
  const failed: unknown[] = [];
  let [turn, repeated, answered, isStopped] = [0, 0, 0, false];

  const ask = async (path: string, expected: number, body?: object, headers: Record<string, string> = {}) => {
    for (let attempt = 1; ; attempt += 1) {
      const all = urls();
      turn += 1;
      try {
        const reply = await send(agent, `${all[turn % all.length]}${path}`, secret, body, headers);
        answered += 1;
        if (reply.status !== expected) failed.push([path, reply.status, reply.body]);
        return reply;
      } catch (error) {
        repeated += 1;
        if (attempt === TRIES_MAX) throw error;
        await wait(PAUSE_MS);
      }
    }
  };
  const work = async (worker: number) => {
    for (let round = 0; !isStopped; round += 1) {
      const name = `worker ${worker} round ${round}`;
      const { status, body } = await ask('/categories', 201, { name }, { 'idempotency-key': name });
      if (status === 201) created.set(name, JSON.parse(body).id);
      await ask('/categories?limit=5', 200);
      await ask('/rate_limit', 200);
      await wait(PAUSE_MS);
    }
  };
  const done = Promise.all(Array.from({ length: WORKERS }, (_, worker) => work(worker)));
  const stop = async () => {
    isStopped = true;
    await done;
    agent.destroy();
  };
  return { created, failed, repeated: () => repeated, answered: () => answered, stop, [Symbol.asyncDispose]: stop };
}
