import assert from 'node:assert/strict';
import { Agent as HttpAgent } from 'node:http';
import { Agent } from 'node:https';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, suite, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { connect as connectSecurely } from 'node:tls';
import { untilTrue } from '../kit/clock.ts';
import { startCaddy } from '../kit/deploy/caddy.ts';
import { startNginx } from '../kit/deploy/nginx.ts';
import { freePort } from '../kit/deploy/port.ts';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { type Reply, send } from '../kit/faults/creating.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { noPostgresPrograms, startPostgres } from '../kit/postgres-server.ts';
import { run, serveProcess } from '../kit/process.ts';
import { redisServerMissing, startRedis } from '../kit/redis-server.ts';

/** Two instances on PostgreSQL and Redis behind each proxy, all of them real, on their bad days. */

const ENTERPRISE = ['--plan', 'enterprise', '--per-minute', '1000000', '--per-day', '1000000'];
/** Longer than nginx waits for an answer, so that creates make it pass over both instances. */
const STANDSTILL_MS = 5_000;
const READERS = 4;
const WRITERS = 2;
const PAUSE_MS = 40;
const HOST = '127.0.0.1';

interface Proxy extends AsyncDisposable {
  readonly url: string;
  readonly ca?: string;
}

async function nginx(...ports: string[]): Promise<Proxy> {
  const { port, ca, ...started } = await startNginx(...ports);
  return { ...started, url: `https://${HOST}:${port}`, ca };
}

const PROXIES = [
  { name: 'nginx', start: nginx, programs: ['nginx', 'openssl'] },
  { name: 'Caddy', start: startCaddy, programs: ['caddy'] },
] as const;

/** Two instances whose processes and database a test can stop, a key, and a proxy of the kind in front of them. */
async function scaled(start: (...ports: string[]) => Promise<Proxy>) {
  await using started = new AsyncDisposableStack();
  const folder = started.use(temporaryFolder());
  const postgres = started.use(await startPostgres());
  const redis = started.use(await startRedis());
  const ports = [`${await freePort()}`, `${await freePort()}`];
  const env = { DATABASE_URL: postgres.url, REDIS_URL: redis.url, INSTANCES: '2', OPERATOR_PORT: '0' };
  const serve = (port = '') => serveProcess([], { cwd: folder.path, env: { ...env, PORT: port } });
  const instances = [await serve(ports[0]), await serve(ports[1])];
  started.defer(async () => {
    for (const each of instances) await each[Symbol.asyncDispose]();
  });
  const { stdout } = await run(['keys', 'create', '--name', 'test', ...ENTERPRISE], { cwd: folder.path, env });
  const secret = stdout.trim();
  // Each knows the key, as on any day.
  for (const { url } of instances) await send(new HttpAgent(), `${url}/categories`, secret);
  const proxy = started.use(await start(...ports));
  const agent = started.adopt(
    proxy.ca ? new Agent({ keepAlive: true, ca: proxy.ca }) : new HttpAgent({ keepAlive: true }),
    (each) => each.destroy(),
  );
  const url = `${proxy.url}/v1/categories`;
  const running = started.move();
  return {
    postgres,
    instances,
    /** Sends bytes on a connection of their own, and reads until the proxy closes it. */
    async sendRaw(bytes: string) {
      const to = { host: HOST, port: Number(new URL(proxy.url).port), ca: proxy.ca };
      const socket = proxy.ca ? connectSecurely(to) : connect(to);
      socket.end(bytes);
      // A proxy may reset it: not all that it sent is read.
      return text(socket).catch(() => '');
    },
    list: () => send(agent, url, secret),
    create: (name: string, key?: string) => send(agent, url, secret, { name }, key ? { 'idempotency-key': key } : {}),
    async restart(index: number) {
      assert.equal(await instances[index]?.end(), 0);
      instances[index] = await serve(ports[index]);
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

type Scaled = Awaited<ReturnType<typeof scaled>>;

/** Lists and creates through the proxy while something happens; the answers of both. */
async function traffic({ list, create }: Scaled, during: () => Promise<void>) {
  const [lists, creates]: [Reply[], Reply[]] = [[], []];
  let isOver = false;
  const repeat = async (ask: (round: number) => Promise<Reply>, into: Reply[]) => {
    for (let round = 0; !isOver; round += 1) {
      into.push(await ask(round));
      await wait(PAUSE_MS);
    }
  };
  const asking = Promise.all([
    ...Array.from({ length: READERS }, () => repeat(list, lists)),
    ...Array.from({ length: WRITERS }, (_, writer) =>
      repeat((round) => create(`category ${round} of ${writer}`, `${writer}-${round}`), creates),
    ),
  ]);
  try {
    await during();
  } finally {
    isOver = true;
    await asking;
  }
  return { lists, creates };
}

function failed(replies: readonly Reply[], status: number): string[] {
  const wrong = replies.filter((reply) => reply.status !== status).map((reply) => `${reply.status} ${reply.body}`);
  return wrong.length === 0 ? [] : [`${wrong.length} of ${replies.length}`, ...new Set(wrong)];
}

suite('two instances', { concurrency: PROXIES.length }, () => {
  for (const { name, start, programs } of PROXIES) {
    const skip = missingPrograms(...programs) || noPostgresPrograms || redisServerMissing();
    // In this order: the last ones leave no instance.
    suite(`behind the ${name} of deploy`, { skip, concurrency: 1 }, () => {
      let at: Scaled;
      before(async () => {
        at = await scaled(start);
      });
      after(() => at?.[Symbol.asyncDispose]());

      test('every list is answered while PostgreSQL stands still', async () => {
        const { lists, creates } = await traffic(at, async () => {
          await untilTrue(async () => (await at.list()).body.includes('category'), 'a create');
          at.postgres.freeze();
          await wait(STANDSTILL_MS);
          at.postgres.thaw();
        });
        assert.deepEqual(failed(lists, 200), []);
        assert.ok(lists.length > 100 && creates.length < 50, `${lists.length} lists, ${creates.length} creates`);
        await untilTrue(async () => (await at.create('later')).status === 201, 'a create afterwards');
      });

      test('every list is answered while one instance after the other is restarted', async () => {
        const { lists } = await traffic(at, async () => {
          for (const index of [0, 1]) await at.restart(index);
        });
        assert.deepEqual(failed(lists, 200), []);
        assert.ok(lists.length > 20, `${lists.length} lists`);
      });

      test('broken bodies of a stranger take no instance out', async () => {
        const broken = `POST /v1/categories HTTP/1.1\r\nHost: ${HOST}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`;
        for (let count = 0; count < 4; count += 1) await at.sendRaw(broken);
        assert.equal((await at.list()).status, 200);
      });

      test('an instance that hangs is passed around', async () => {
        process.kill(at.instances[0]?.pid ?? 0, 'SIGSTOP');
        let quick = 0;
        await untilTrue(async () => {
          const startedMs = performance.now();
          const { status, body } = await at.list();
          assert.equal(status, 200, body);
          quick = performance.now() - startedMs < 1_000 ? quick + 1 : 0;
          return quick === 20;
        }, 'twenty answers in a row, each within a second');
        for (const key of [undefined, 'key']) assert.equal((await at.create('x', key)).status, 201);
      });

      test('a change is of unknown outcome if an instance got it, and was not done if none did', async () => {
        for (const { pid } of at.instances) process.kill(pid, 'SIGSTOP');
        const told = ({ status, body }: Reply) => [status, JSON.parse(body).code];
        assert.deepEqual(told(await at.create('once')), [503, 'outcome_unknown']);
        for (const { pid } of at.instances) process.kill(pid, 'SIGCONT');
        assert.ok((await at.list()).body.split('"once"').length <= 2, 'no other instance was asked');
        for (const each of at.instances) await each[Symbol.asyncDispose]();
        await untilTrue(async () => (await at.list()).status === 503, 'the proxy has seen their connections end');
        assert.deepEqual(told(await at.create('x')), [503, 'unavailable']);
      });
    });
  }
});
