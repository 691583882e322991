import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { untilTrue } from './clock.ts';
import { send } from './faults/creating.ts';
import { temporaryFolder } from './folder.ts';
import { temporaryDatabase } from './postgres.ts';
import { run, type ServiceProcess, serveProcess } from './process.ts';
import { startRedis } from './redis-server.ts';

export interface Instances extends AsyncDisposable {
  readonly services: readonly ServiceProcess[];
  readonly databaseUrl: string;
  /** Runs a command beside them and returns its output. Fails if the command does. */
  command(...args: string[]): Promise<string>;
  /** How often an instance gave Redis up. */
  outages(): number;
}

/** Real services, started together on an empty database and a Redis of their own. */
export async function startInstances(count: number, settings: Record<string, string> = {}): Promise<Instances> {
  await using started = new AsyncDisposableStack();
  const folder = started.use(temporaryFolder());
  const database = started.use(await temporaryDatabase());
  const redis = started.use(await startRedis());
  const env = { DATABASE_URL: database.url, REDIS_URL: redis.url, INSTANCES: String(count), ...settings };
  const options = { cwd: folder.path, env };
  const services = await Promise.all(
    Array.from({ length: count }, async () => started.use(await serveProcess([], options))),
  );
  const told = (event: string) =>
    services.reduce((sum, { output }) => sum + output.stderr.split(`"${event}"`).length - 1, 0);
  const running = started.move();
  return {
    services,
    databaseUrl: database.url,
    async command(...args) {
      const { code, stdout, stderr } = await run(args, options);
      assert.equal(code, 0, stderr);
      return stdout.trim();
    },
    outages: () => told('limiter_degraded'),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** Sends requests with one key over so many connections at once, dealt out in turn. */
export async function rush(
  services: readonly ServiceProcess[],
  secret: string,
  { connections, requests }: { connections: number; requests: number },
): Promise<{ readonly admitted: number; readonly unexpected: readonly unknown[] }> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const unexpected: unknown[] = [];
  let [asked, admitted] = [0, 0];
  const call = async (connection: number) => {
    const url = services[connection % services.length]?.url ?? '';
    while (asked < requests) {
      asked += 1;
      const { status, body } = await send(agent, `${url}/categories`, secret);
      if (status === 200) admitted += 1;
      else if (status !== 429) unexpected.push([status, body]);
    }
  };
  // Every instance caches the key first, so that no look-up of it comes between.
  await Promise.all(services.map(({ url }) => send(agent, `${url}/rate_limit`, secret)));
  await Promise.all(Array.from({ length: connections }, (_, connection) => call(connection)));
  agent.destroy();
  return { admitted, unexpected };
}

/** How long each of so many creates took until every other instance listed it, in milliseconds. */
export async function timeFollowing(
  services: readonly ServiceProcess[],
  secret: string,
  creates: number,
): Promise<number[]> {
  const agent = new Agent({ keepAlive: true });
  const list = ({ url }: ServiceProcess) => send(agent, `${url}/categories`, secret);
  const tookMs: number[] = [];
  for (let i = 0; i < creates; i += 1) {
    const creator = services[i % services.length];
    const { status, body } = await send(agent, `${creator?.url}/categories`, secret, { name: `category ${i}` });
    assert.equal(status, 201, body);
    const created = `{"id":${JSON.parse(body).id},`;
    const startedMs = performance.now();
    const others = services.filter((each) => each !== creator);
    const isListed = async (each: ServiceProcess) => (await list(each)).body.includes(created);
    await Promise.all(others.map((other) => untilTrue(() => isListed(other), 'a create of another instance')));
    tookMs.push(performance.now() - startedMs);
  }
  agent.destroy();
  return tookMs;
}
