import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { untilTrue } from './clock.ts';
import { freePort } from './deploy/port.ts';
import { leftOut, missingPrograms } from './deploy/programs.ts';
import { IN_MEMORY, temporaryFolder } from './folder.ts';

const VERSIONS = '/usr/lib/postgresql';

/** The folder of the server's programs, or undefined. */
const programs = findPrograms();

/** Why tests with a server of their own are skipped, or false; on CI missing programs are a failure instead. */
export const noPostgresPrograms: string | false =
  leftOut(programs !== undefined, `the programs postgres and initdb are neither on the PATH nor below ${VERSIONS}`) ||
  // `freeze` looks for the server's processes.
  missingPrograms('ps');

export interface PostgresServer extends AsyncDisposable {
  readonly port: number;
  /** The address of its database `postgres`, which belongs to the test. */
  readonly url: string;
  /** One statement as the superuser, on a connection of its own. */
  query(sql: string): Promise<Record<string, unknown>[]>;
  /** Ends it: SIGINT rolls back and disconnects, SIGQUIT and SIGKILL are a crash. */
  stop(signal?: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): Promise<void>;
  /** Starts it again on the same port and data. */
  start(): Promise<void>;
  /** Suspends it and its child processes until `thaw`. */
  freeze(): void;
  thaw(): void;
  /** Starts a standby of it, which has everything that was committed until now and follows asynchronously. */
  startStandby(place?: Place): Promise<PostgresStandby>;
}

/** Where a server listens; on a free port of 127.0.0.1 unless told otherwise. */
interface Place {
  readonly host: string;
  readonly port: number;
}

export interface PostgresStandby extends PostgresServer {
  /** Receives nothing more from its primary. */
  hold(): Promise<void>;
  /** Makes it the primary of what it has. */
  promote(): Promise<void>;
}

export interface PostgresServerOptions {
  /** Without one, every connection is accepted. */
  readonly password?: string;
  /** Certificate and key, PEM. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** As in postgresql.conf. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** A PostgreSQL server of a test's own, on a free port of the loopback, in a folder that goes with it. */
export function startPostgres(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  return startServer(options, undefined, (data, owner) => initialise(data, { owner, options }));
}

async function startServer(
  options: PostgresServerOptions,
  place: Place | undefined,
  makeData: (data: string, owner: Owner) => void,
): Promise<PostgresServer> {
  const folder = temporaryFolder(IN_MEMORY);
  const data = join(folder.path, 'data');
  const owner = giveAway(folder.path);
  makeData(data, owner);
  const { host, port } = place ?? { host: '127.0.0.1', port: await freePort() };
  const url = `postgres://postgres${options.password ? `:${options.password}` : ''}@${host}:${port}/postgres`;
  const settings: Record<string, string> = {
    port: `${port}`,
    listen_addresses: host,
    unix_socket_directories: '',
    // What the tests kill are processes, never the machine; shared memory of a killed one goes with its folder.
    fsync: 'off',
    dynamic_shared_memory_type: 'mmap',
    ...(options.tls ? { ssl: 'on' } : {}),
    ...options.settings,
  };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  let child: ChildProcess;
  let log = '';
  const kill = () => child.kill('SIGKILL');

  const launch = () => {
    child = spawn(join(programs ?? '', 'postgres'), ['-D', data, ...args], {
      ...owner,
      cwd: folder.path,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-10_000);
    });
  };
  const start = async () => {
    launch();
    await untilTrue(async () => {
      if (await query(url, 'select 1').catch(() => false)) return true;
      // After a crash the next start can fail: the killed processes are still releasing shared memory.
      if (hasEnded(child)) launch();
      return false;
    }, 'PostgreSQL');
  };
  const stop = async (signal: NodeJS.Signals = 'SIGINT') => {
    if (hasEnded(child)) return;
    child.kill(signal);
    await once(child, 'exit');
  };
  const signalAll = (signal: NodeJS.Signals) => {
    for (const pid of [child.pid ?? 0, ...childrenOf(child.pid ?? 0)]) sendTo(pid, signal);
  };
  // A test that takes too long is ended by SIGTERM.
  process.once('exit', kill);
  process.once('SIGTERM', exit);
  await start();
  return {
    port,
    url,
    query: (sql) => query(url, sql),
    stop,
    start,
    freeze: () => signalAll('SIGSTOP'),
    thaw: () => signalAll('SIGCONT'),
    startStandby: (beside) => startStandby(url, options, beside),
    async [Symbol.asyncDispose]() {
      if (!hasEnded(child)) signalAll('SIGCONT');
      await stop('SIGQUIT');
      process.removeListener('exit', kill);
      process.removeListener('SIGTERM', exit);
      folder[Symbol.dispose]();
    },
  };
}

async function startStandby(
  primaryUrl: string,
  options: PostgresServerOptions,
  place: Place | undefined,
): Promise<PostgresStandby> {
  const standby = await startServer(options, place, (data, owner) => {
    const args = ['-D', data, '-d', primaryUrl, '--write-recovery-conf', '--checkpoint=fast', '--no-sync'];
    // A link to `postgres` on the PATH may stand alone there.
    const beside = dirname(realpathSync(join(programs ?? '', 'postgres')));
    const made = spawnSync(join(beside, 'pg_basebackup'), args, { ...owner, cwd: '/', encoding: 'utf8' });
    assert.equal(made.status, 0, made.stderr);
  });
  const change = (sql: string) => query(standby.url, sql);
  return Object.assign(standby, {
    async hold() {
      await change(`alter system set primary_conninfo = ''`);
      await change('select pg_reload_conf()');
      await untilTrue(async () => (await change('select 1 from pg_stat_wal_receiver')).length === 0);
    },
    async promote() {
      assert.deepEqual(await change('select pg_promote() as is_done'), [{ is_done: true }]);
    },
  });
}

/** One statement on a connection of its own. */
export async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** The data folders of new servers, also for later runs: to make one takes ten times as long as to copy it. */
const BLANK = fileURLToPath(new URL('../../node_modules/.cache/postgres', import.meta.url));
/** With segments of its log of 1 MiB a folder takes a quarter less memory. */
const INITDB = ['-U', 'postgres', '-E', 'UTF8', '--locale', 'C', '--no-sync', '--wal-segsize=1'];

function initialise(
  data: string,
  { owner, options: { password = '', tls } }: { owner: Owner; options: PostgresServerOptions },
): void {
  copy(blank(password), data);
  for (const [name, pem] of [
    ['server.crt', tls?.cert],
    ['server.key', tls?.key],
  ] as const) {
    if (!pem) continue;
    const file = join(data, name);
    writeFileSync(file, pem);
    chmodSync(file, 0o600);
    if (owner.uid !== undefined) chownSync(file, owner.uid, owner.gid ?? 0);
  }
}

/** The data folder of a new server of this version, of which nothing but its password is set. */
function blank(password: string): string {
  const version = spawnSync(join(programs ?? '', 'initdb'), ['--version'], { encoding: 'utf8' }).stdout;
  const kept = join(BLANK, createHash('sha256').update(`${INITDB}${version}${password}`).digest('hex').slice(0, 16));
  if (existsSync(kept)) return kept;
  using folder = temporaryFolder();
  const owner = giveAway(folder.path);
  const [data, passwordFile] = [join(folder.path, 'data'), join(folder.path, 'password')];
  const args = ['-D', data, ...INITDB];
  if (password) {
    writeFileSync(passwordFile, password);
    if (owner.uid !== undefined) chownSync(passwordFile, owner.uid, owner.gid ?? 0);
  }
  args.push(...(password ? ['-A', 'scram-sha-256', `--pwfile=${passwordFile}`] : ['-A', 'trust']));
  const made = spawnSync(join(programs ?? '', 'initdb'), args, { ...owner, cwd: folder.path, encoding: 'utf8' });
  assert.equal(made.status, 0, made.stderr);
  mkdirSync(BLANK, { recursive: true });
  const whole = mkdtempSync(`${kept}-`);
  copy(data, join(whole, 'data'));
  try {
    renameSync(join(whole, 'data'), kept);
  } catch (error) {
    // Another process has made the same meanwhile.
    if (!existsSync(kept)) throw error;
  }
  rmSync(whole, { recursive: true });
  return kept;
}

function copy(from: string, to: string): void {
  const copied = spawnSync('cp', ['-a', from, to], { encoding: 'utf8' });
  assert.equal(copied.status, 0, copied.stderr);
}

interface Owner {
  readonly uid?: number;
  readonly gid?: number;
}

/** A server that refuses to run as root runs as the user that its package made, to whom the folder is given. */
export function giveAway(folder: string): Owner {
  if (process.getuid?.() !== 0) return {};
  const [uid, gid] = ['-u', '-g'].map((flag) =>
    Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout),
  );
  assert.ok(uid && gid, 'PostgreSQL does not run as root, and there is no user postgres');
  chownSync(folder, uid, gid);
  return { uid, gid };
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function exit(): void {
  process.exit(143);
}

function sendTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It has already ended.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function childrenOf(pid: number): number[] {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
  return stdout.split('\n').flatMap((line) => {
    const [child = 0, parent] = line.trim().split(/\s+/).map(Number);
    return parent === pid ? [child] : [];
  });
}

function findPrograms(): string | undefined {
  const versions = existsSync(VERSIONS) ? readdirSync(VERSIONS).sort((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...(process.env.PATH ?? '').split(':'),
    ...versions.map((version) => join(VERSIONS, version, 'bin')),
  ];
  return folders.find((folder) => ['postgres', 'initdb'].every((program) => existsSync(join(folder, program))));
}
