import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as wait } from 'node:timers/promises';
import { newApiKey, secretRecord } from '../src/catalog/api-key.ts';
import { BENCH, pinned, SERVER_CORE } from './machine.ts';

const READY_MS_MAX = 20_000;
const LOOK_MS = 5;
const INSTALL_MS_MAX = 120_000;
const CATEGORIES = 20;
/** Above any load. */
const LIMIT = 1_000_000_000;

/** A running server on the servers' core. Disposing ends it. */
export interface Server extends AsyncDisposable {
  readonly origin: string;
  readonly pid: number;
}

/**
 * The processor time that a process has used, in seconds (proc_pid_stat(5), utime and stime, in
 * hundredths); NaN where the system does not tell.
 */
export function processorSeconds(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Counted from behind the name, which may hold anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return Number.NaN;
  }
}

/** A service on a database of its own, with a key that no load exhausts. */
export interface Service extends Server {
  readonly secret: string;
  readonly file: string;
}

/** Makes a database with 20 categories by the commands of a checkout, and starts its service on it. */
export async function startService(checkout: string, folder: string): Promise<Service> {
  const file = join(folder, `service-${process.hrtime.bigint()}.db`);
  const names = join(folder, 'categories.ndjson');
  const lines = Array.from({ length: CATEGORIES }, (_, index) =>
    JSON.stringify({ name: `Category ${index + 1}`, description: 'Loyal, social, needs walks' }),
  );
  writeFileSync(names, `${lines.join('\n')}\n`);
  const program = [process.execPath, join(checkout, 'bin', 'pet-catalog.js')] as const;
  const env = { PATH: process.env.PATH ?? '', DATABASE_URL: `sqlite:${file}` };
  const command = (...args: string[]) =>
    execFileSync(program[0], [program[1], ...args], { cwd: folder, env, encoding: 'utf8' }).trim();
  command('migrate');
  command('categories', 'import', names);
  const limits = ['--plan', 'enterprise', '--per-minute', `${LIMIT}`, '--per-day', `${LIMIT}`];
  const secret = command('keys', 'create', '--name', 'bench', ...limits);
  const room = { CATEGORIES_MAX: '1000000', CATEGORIES_BYTES_MAX: '1073741824', PORT: '0' };
  const server = await start([...program, 'serve'], { cwd: folder, folder, env: { ...env, ...room } });
  return { ...server, secret, file };
}

/** Issues many keys in one transaction, which the command would take a commit each for; returns their secrets. */
export function addKeys(file: string, count: number): string[] {
  using database = new DatabaseSync(file);
  const insertKey = database.prepare(
    'INSERT INTO api_keys (id, name, environment, plan, per_minute, per_day, scopes, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const insertSecret = database.prepare(
    'INSERT INTO api_key_secrets (hash, key_id, prefix, created_at) VALUES (?, ?, ?, ?)',
  );
  const limits = { minute: LIMIT, day: LIMIT };
  const now = Math.floor(Date.now() / 1_000);
  database.exec('BEGIN');
  const secrets = Array.from({ length: count }, () => {
    const made = newApiKey({ name: 'bench', environment: 'production', plan: 'enterprise', limits }, now);
    const { id, name, environment, plan, scopes, createdAt } = made.key;
    insertKey.run(id, name, environment, plan, limits.minute, limits.day, scopes.join(' '), createdAt);
    const { hash, prefix } = secretRecord(made.secret);
    insertSecret.run(hash, id, prefix, createdAt);
    return made.secret;
  });
  database.exec('COMMIT');
  return secrets;
}

/** Starts a peer that sends a service's own list and knows its key, after installing what its lockfile names. */
export async function startPeer(name: string, folder: string, { origin, secret }: Service): Promise<Server> {
  const [listFile, keysFile] = [join(folder, 'list.json'), join(folder, `keys-${process.hrtime.bigint()}`)];
  const list = await fetch(`${origin}/v1/categories`, { headers: { authorization: `Bearer ${secret}` } });
  writeFileSync(listFile, Buffer.from(await list.arrayBuffer()));
  writeFileSync(keysFile, `${secret}\n`);
  if (name === 'nginx') return startNginx({ folder, listFile, secret });
  const peer = join(BENCH, 'peers', name);
  if (existsSync(join(peer, 'package-lock.json')) && !existsSync(join(peer, 'node_modules'))) {
    const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    const { status } = spawnSync('npm', args, { cwd: peer, timeout: INSTALL_MS_MAX, stdio: 'inherit' });
    if (status !== 0) throw new Error(`The packages of ${name} cannot be installed`);
  }
  const env = { PORT: '0', NODE_ENV: 'production', LIST_FILE: listFile, KEYS_FILE: keysFile };
  const database = { DATABASE_FILE: join(folder, `${name}-${process.hrtime.bigint()}.db`) };
  const command = [process.execPath, join(peer, 'server.js')];
  return start(command, { cwd: peer, folder, env: { ...env, ...database } });
}

async function startNginx({ folder, listFile, secret }: { folder: string; listFile: string; secret: string }) {
  const own = join(folder, `nginx-${process.hrtime.bigint()}`);
  mkdirSync(own);
  writeFileSync(join(own, 'keys.map'), `"Bearer ${secret}" 1;\n`);
  const port = await freePort();
  const values: Record<string, string> = {
    FOLDER: own,
    LIST_FILE: listFile,
    PORT: `${port}`,
    USER: userInfo().username,
  };
  const template = readFileSync(join(BENCH, 'peers', 'nginx', 'nginx.conf.template'), 'utf8');
  const file = join(own, 'nginx.conf');
  writeFileSync(
    file,
    template.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => values[name] ?? ''),
  );
  return start(['nginx', '-c', file, '-p', own], { cwd: own, folder: own, env: {}, port });
}

interface StartOptions {
  readonly cwd: string;
  /** Where its output goes. */
  readonly folder: string;
  readonly env: Record<string, string>;
  /** Where it will listen, if it does not say so itself. */
  readonly port?: number;
}

async function start(command: readonly string[], { cwd, folder, env, port }: StartOptions): Promise<Server> {
  const startedMs = performance.now();
  const [program = '', ...args] = pinned(SERVER_CORE, command);
  // Not a pipe: reading a log of every request would take time from the load generator.
  const output = join(folder, `output-${process.hrtime.bigint()}`);
  const descriptor = openSync(output, 'a');
  const stdio = ['ignore', descriptor, descriptor] as const;
  const child = spawn(program, args, { cwd, env: { PATH: process.env.PATH ?? '', ...env }, stdio: [...stdio] });
  closeSync(descriptor);
  // Servers must not outlive the benchmark.
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = once(child, 'close').finally(() => process.off('exit', kill));
  while (child.exitCode === null) {
    const said = /listening on (http:\/\/[\d.]+:\d+)/.exec(readFileSync(output, 'utf8'));
    const origin = said?.[1] ?? (await listensOn(port));
    const stop = async () => {
      child.kill('SIGTERM');
      await ended;
    };
    if (origin) return { origin, pid: child.pid ?? 0, [Symbol.asyncDispose]: stop };
    if (performance.now() - startedMs > READY_MS_MAX) child.kill('SIGKILL');
    await Promise.race([wait(LOOK_MS), ended]);
  }
  throw new Error(`${command.join(' ')} did not start: ${readFileSync(output, 'utf8').trim()}`);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

function listensOn(port: number | undefined): Promise<string | undefined> {
  if (port === undefined) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(`http://127.0.0.1:${port}`);
    });
    socket.on('error', () => resolve(undefined));
  });
}
