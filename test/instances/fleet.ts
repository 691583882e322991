import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { type Reply, send } from '../faults/creating.ts';
import { temporaryDatabase } from '../postgres.ts';
import { type Finished, run, type ServiceProcess, serveProcess } from '../process.ts';
import { sharedRedis } from '../redis-server.ts';
import { temporaryFolder } from '../service.ts';

/** Several services, each a process of its own, on one database and one Redis. */
export interface Fleet extends AsyncDisposable {
  readonly services: readonly ServiceProcess[];
  readonly databaseUrl: string;
  readonly folder: string;
  /** A command of the command line, on the same database. */
  command(...args: string[]): Promise<Finished>;
  /** Issues a key by the command line; without a plan, one that no limit gets in the way of. */
  issue(...args: string[]): Promise<{ readonly id: string; readonly secret: string }>;
  /** One request to one of the services, or a path of `/v1` of the first. */
  call(service: number, secret: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>;
}

const NO_LIMITS = ['--plan', 'enterprise', '--per-minute', '1000000000', '--per-day', '1000000000'];

/** Starts so many services at the same moment, on a database that is empty. */
export async function startFleet(size: number, settings: Record<string, string> = {}): Promise<Fleet> {
  await using starting = new AsyncDisposableStack();
  const folder = starting.use(temporaryFolder());
  const database = starting.use(await temporaryDatabase());
  const together = { REDIS_URL: (await sharedRedis()).url, INSTANCES: `${size}` };
  const options = { cwd: folder.path, env: { DATABASE_URL: database.url, ...together, ...settings } };
  const services = await Promise.all(Array.from({ length: size }, () => serveProcess([], options)));
  for (const service of services) starting.use(service);
  const agent = new Agent({ keepAlive: true });
  starting.defer(() => agent.destroy());

  const command = (...args: string[]) => run(args, options);
  const started = starting.move();
  return {
    services,
    databaseUrl: database.url,
    folder: folder.path,
    command,
    async issue(...args) {
      const plan = args.length > 0 ? args : NO_LIMITS;
      const { code, stdout, stderr } = await command('keys', 'create', '--name', 'test', '--json', ...plan);
      assert.equal(code, 0, stderr);
      const { id, key } = JSON.parse(stdout);
      return { id, secret: key };
    },
    call: (service, secret, path, body, headers) => {
      const { url } = services[service] ?? assert.fail(`there is no service ${service}`);
      return send(agent, url + path, secret, body, headers);
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

export interface AdmittedFigures {
  readonly admitted: number;
  readonly refused: number;
  /** Answers that were neither. */
  readonly unexplained: number;
}

/** Sends so many requests with a new key of a plan at once, each over a connection of its own, to all in turn. */
export async function callAtOnce(fleet: Fleet, plan: string, requests: number): Promise<AdmittedFigures> {
  const { secret } = await fleet.issue('--plan', plan);
  const replies = await Promise.all(
    Array.from({ length: requests }, (_, i) => fleet.call(i % fleet.services.length, secret, '/categories')),
  );
  const count = (wanted: number) => replies.filter(({ status }) => status === wanted).length;
  return { admitted: count(200), refused: count(429), unexplained: requests - count(200) - count(429) };
}
