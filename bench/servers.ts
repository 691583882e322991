import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { BENCH, type Machine } from './machine.ts';

const SERVER_CORE = 1;
const READY_MS_MAX = 20_000;
const READY_CHECK_INTERVAL_MS = 2;
const INSTALL_MS_MAX = 120_000;

/** A running server on the servers' core. Disposing ends it. */
export interface Server extends AsyncDisposable {
  readonly origin: string;
  readonly pid: number;
  /** From its start until it said that it listens. */
  readonly readyMs: number;
}

/** Why something cannot be measured here: reported, not fatal. */
export class NotHere extends Error {}

/** Starts the service itself with these settings, on free ports. Throws `NotHere` if it refuses the settings. */
export function startService(
  machine: Machine,
  folder: string,
  settings: Record<string, string>,
  command: readonly string[] = [process.execPath, join(BENCH, '..', 'bin', 'pet-catalog.js')],
): Promise<Server> {
  return start(machine, [...command, 'serve'], { cwd: folder, folder, env: { PORT: '0', ...settings } });
}

/** Builds the executable of a release below a folder, and installs it as the runbook does; returns its path. */
export function installExecutable(folder: string): string {
  const [built, file] = [join(folder, 'built'), join(folder, 'pet-catalog')];
  execFileSync(process.execPath, [join(BENCH, '..', 'build/executable.ts'), '--output', built]);
  // Copied, because Linux counts more of a file as resident while the cache has it in the large pieces of one write.
  execFileSync('install', ['-m', '755', built, file]);
  return file;
}

/** The input of a peer, as files. */
export interface PeerFiles {
  readonly folder: string;
  readonly list: string;
  readonly keys: string;
}

/** Starts a peer, after installing what its lockfile names. Throws `NotHere` if that cannot be had. */
export async function startPeer(machine: Machine, name: string, files: PeerFiles): Promise<Server> {
  if (name === 'nginx') return startNginx(machine, files);
  const folder = join(BENCH, 'peers', name);
  const needsPackages = existsSync(join(folder, 'package-lock.json'));
  if (needsPackages && !existsSync(join(folder, 'node_modules')) && !installed(folder)) {
    throw new NotHere(`the packages of ${name} cannot be installed here`);
  }
  const env = {
    ...{ PORT: '0', NODE_ENV: 'production', LIST_FILE: files.list, KEYS_FILE: files.keys },
    DATABASE_FILE: join(files.folder, `${name}-${process.hrtime.bigint()}.db`),
  };
  const command = [process.execPath, join(folder, 'server.js')];
  return start(machine, command, { cwd: folder, folder: files.folder, env });
}

async function startNginx(machine: Machine, { folder, list, keys }: PeerFiles): Promise<Server> {
  if (!machine.nginx) throw new NotHere('nginx is not installed');
  const own = join(folder, `nginx-${process.hrtime.bigint()}`);
  mkdirSync(own);
  const secrets = readFileSync(keys, 'utf8').trim().split('\n');
  writeFileSync(join(own, 'keys.map'), secrets.map((secret) => `"Bearer ${secret}" 1;\n`).join(''));
  const port = await freePort();
  const values: Record<string, string> = {
    FOLDER: own,
    LIST_FILE: list,
    PORT: `${port}`,
    USER: userInfo().username,
  };
  const template = readFileSync(join(BENCH, 'peers', 'nginx', 'nginx.conf.template'), 'utf8');
  const file = join(own, 'nginx.conf');
  writeFileSync(
    file,
    template.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => values[name] ?? ''),
  );
  return start(machine, ['nginx', '-c', file, '-p', own], { cwd: own, folder: own, env: {}, port });
}

interface StartOptions {
  readonly cwd: string;
  /** Where its output goes. */
  readonly folder: string;
  readonly env: Record<string, string>;
  /** Where it will listen, if it does not say so itself. */
  readonly port?: number;
}

async function start(
  machine: Machine,
  command: readonly string[],
  { cwd, folder, env, port }: StartOptions,
): Promise<Server> {
  const startedMs = performance.now();
  const [program = '', ...args] = pinned(machine, SERVER_CORE, command);
  const PATH = process.env.PATH ?? '';
  // Not a pipe: reading a log of every request would take time from the load generator.
  const output = join(folder, `output-${process.hrtime.bigint()}`);
  const descriptor = openSync(output, 'a');
  const child = spawn(program, args, { cwd, env: { PATH, ...env }, stdio: ['ignore', descriptor, descriptor] });
  closeSync(descriptor);
  // Servers must not outlive the benchmark.
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = once(child, 'close').finally(() => process.off('exit', kill));
  while (child.exitCode === null) {
    const said = /listening on (http:\/\/[\d.]+:\d+)/.exec(readFileSync(output, 'utf8'));
    const origin = said?.[1] ?? (await listensOn(port));
    const readyMs = performance.now() - startedMs;
    if (origin) return running(child, { origin, readyMs, ended });
    if (readyMs > READY_MS_MAX) child.kill('SIGKILL');
    await Promise.race([wait(READY_CHECK_INTERVAL_MS), ended]);
  }
  throw new NotHere(`it did not start: ${readFileSync(output, 'utf8').trim().split('\n').at(-1)}`);
}

function running(
  child: ChildProcess,
  { origin, readyMs, ended }: { origin: string; readyMs: number; ended: Promise<unknown> },
): Server {
  return {
    origin,
    pid: child.pid ?? 0,
    readyMs,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** Installs what the lockfile of a folder names; false if that fails, as it does without a network. */
export function installed(folder: string): boolean {
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  return spawnSync('npm', args, { cwd: folder, timeout: INSTALL_MS_MAX, stdio: 'ignore' }).status === 0;
}

/** A command that runs on one core, where that can be arranged. */
export function pinned(machine: Machine, core: number, command: readonly string[]): readonly string[] {
  return machine.pins ? ['taskset', '-c', `${core}`, ...command] : command;
}

/**
 * The resident memory of a process and its children, in MB (proc_pid_status(5), VmRSS); NaN where the system does not
 * tell.
 */
export function residentMb(pid: number): number {
  try {
    const own = Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
    return childrenOf(pid).reduce((sum, child) => sum + residentMb(child), own);
  } catch {
    return Number.NaN;
  }
}

/**
 * The processor time that a process and its children have used, in seconds (proc_pid_stat(5), utime and stime, in
 * hundredths); NaN where the system does not tell.
 */
export function processorSeconds(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Counted from behind the name, which may hold anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const own = (Number(fields[11]) + Number(fields[12])) / 100;
    return childrenOf(pid).reduce((sum, child) => sum + processorSeconds(child), own);
  } catch {
    return Number.NaN;
  }
}

/** Those that a process started and that still run: the workers of nginx. */
function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return children.split(' ').filter(Boolean).map(Number);
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
