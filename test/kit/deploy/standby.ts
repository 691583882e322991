import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { untilTrue } from '../clock.ts';
import { query } from '../postgres-server.ts';
import { temporaryFolder } from '../service.ts';

const COPY_MS_MAX = 10_000;
const HOST = '127.0.0.2';

/**
 * A standby of a PostgreSQL server on the loopback, on the same port of another address. It follows until it is
 * promoted.
 */
export async function startStandby(port: number): Promise<AsyncDisposable & { readonly host: string }> {
  const folder = temporaryFolder();
  const data = join(folder.path, 'data');
  const owner = postgresUser();
  if (owner.uid !== undefined) chownSync(folder.path, owner.uid, owner.gid ?? 0);
  const from = ['-h', '127.0.0.1', '-p', `${port}`, '-U', 'postgres', '-D', data, '-R', '-X', 'stream', '-c', 'fast'];
  const copied = spawnSync('pg_basebackup', from, {
    ...owner,
    cwd: folder.path,
    encoding: 'utf8',
    timeout: COPY_MS_MAX,
  });
  assert.equal(copied.status, 0, copied.stderr);
  const settings = [`listen_addresses=${HOST}`, `port=${port}`, 'unix_socket_directories='];
  const child: ChildProcess = spawn(serverProgram(), ['-D', data, ...settings.flatMap((each) => ['-c', each])], {
    ...owner,
    cwd: folder.path,
    stdio: 'ignore',
  });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const url = `postgres://postgres@${HOST}:${port}/postgres`;
  await untilTrue(() => {
    assert.equal(child.exitCode, null, 'the standby ended by itself');
    return query(url, 'select 1').then(
      () => true,
      () => false,
    );
  }, 'the standby');
  return {
    host: HOST,
    async [Symbol.asyncDispose]() {
      process.removeListener('exit', kill);
      if (child.exitCode === null) {
        child.kill('SIGINT');
        await once(child, 'exit');
      }
      folder[Symbol.dispose]();
    },
  };
}

/** The server refuses to run as root: then it runs as the user that its package made. */
function postgresUser(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const [uid, gid] = ['-u', '-g'].map((flag) =>
    Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout),
  );
  return uid && gid ? { uid, gid } : {};
}

/** The server of the version that `pg_basebackup` is of. */
function serverProgram(): string {
  const { stdout } = spawnSync('pg_basebackup', ['--version'], { encoding: 'utf8' });
  const version = /(\d+)\.\d+/.exec(stdout)?.[1] ?? '';
  const debian = `/usr/lib/postgresql/${version}/bin/postgres`;
  return existsSync(debian) ? debian : 'postgres';
}
