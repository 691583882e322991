import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createClient } from '@redis/client';
import { untilTrue } from './clock.ts';
import { freePort } from './deploy/port.ts';
import { leftOut, missingPrograms } from './deploy/programs.ts';
import { temporaryFolder } from './folder.ts';

const SILENCE_MS = 10_000;

/** The Redis that tests may share, and why not if there is none. */
export async function sharedRedis(): Promise<{ readonly url: string; readonly skip: string | false }> {
  const url = process.env.TEST_REDIS_URL ?? 'redis://127.0.0.1:6379';
  const isThere = await redis(url, ['PING']).then(
    () => true,
    () => false,
  );
  return { url, skip: leftOut(isThere, 'no Redis answers on TEST_REDIS_URL, nor on 127.0.0.1:6379') };
}

/** Why tests with a server of their own must be left out. */
export function redisServerMissing(): string | false {
  return missingPrograms('redis-server');
}

/** A prefix for the keys of one test; dispose of it to have them removed. */
export function keyPrefix(url: string): AsyncDisposable & { readonly prefix: string } {
  const prefix = `test-${randomBytes(6).toString('hex')}`;
  return {
    prefix,
    async [Symbol.asyncDispose]() {
      let cursor = '0';
      do {
        const [next, keys] = (await redis(url, ['SCAN', cursor, 'MATCH', `${prefix}:*`, 'COUNT', '10000'])) as [
          string,
          string[],
        ];
        if (keys.length > 0) await redis(url, ['DEL', ...keys]);
        cursor = next;
      } while (cursor !== '0');
    },
  };
}

// Copied for each connection: `createClient` makes a class of all commands for each address, which takes 10 ms.
const template = createClient({ RESP: 2, maintNotifications: 'disabled', disableClientInfo: true });

/** One command on a connection of its own. */
export async function redis(url: string, command: readonly string[]): Promise<unknown> {
  const client = await connected(url);
  try {
    return await client.sendCommand([...command]);
  } finally {
    client.destroy();
  }
}

/** A connection that ends for good when it breaks, or when nothing is answered, as by another program on the port. */
async function connected(url: string, onError = () => {}) {
  const socket = { reconnectStrategy: false, connectTimeout: SILENCE_MS, socketTimeout: SILENCE_MS } as const;
  const client = template.duplicate({ url, socket });
  client.on('error', onError);
  return await client.connect();
}

export interface RedisServer extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  command(...command: string[]): Promise<unknown>;
  /** False while it is killed or suspended. */
  isRunning(): boolean;
  /** Suspends it until `thaw`. */
  freeze(): void;
  thaw(): void;
  kill(): Promise<void>;
  /** Starts it again on the same port: empty, or with what the last `SAVE` kept. */
  start(): Promise<void>;
}

/** A Redis server of a test's own, on a free port, that keeps nothing on disk unless it is told to `SAVE`. */
export async function startRedis(...settings: string[]): Promise<RedisServer> {
  const folder = temporaryFolder();
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  let child: ChildProcess;
  let isFrozen = false;
  let client: ReturnType<typeof connected> | undefined;
  const start = async () => {
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder.path, '--save', '', ...settings];
    child = spawn('redis-server', args, { stdio: 'ignore' });
    await untilTrue(async () => {
      assert.equal(child.exitCode, null, 'redis-server ended by itself');
      return Boolean(await redis(url, ['PING']).catch((error: Error) => /NOAUTH/.test(error.message)));
    }, 'redis-server');
  };
  const kill = async () => {
    await client?.then((each) => each.destroy()).catch(() => {});
    client = undefined;
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  const end = () => child.kill('SIGKILL');
  process.on('exit', end);
  await start();
  return {
    port,
    url,
    async command(...command) {
      client ??= connected(url, () => {
        client = undefined;
      });
      return await (await client).sendCommand(command);
    },
    isRunning: () => !isFrozen && child.exitCode === null && child.signalCode === null,
    freeze() {
      isFrozen = child.kill('SIGSTOP');
    },
    thaw() {
      isFrozen = !child.kill('SIGCONT');
    },
    kill,
    start,
    async [Symbol.asyncDispose]() {
      process.off('exit', end);
      await kill();
      folder[Symbol.dispose]();
    },
  };
}
