import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { untilTrue } from '../kit/clock.ts';
import { freePort } from '../kit/deploy/port.ts';
import { giveAway, query } from '../kit/postgres-server.ts';
import { temporaryFolder } from '../kit/service.ts';

/** A PgBouncer with its own defaults before a server that accepts every connection. */
export async function startPgBouncer(
  serverPort: number,
  poolMode: 'session' | 'transaction',
): Promise<AsyncDisposable & { readonly url: string }> {
  const folder = temporaryFolder();
  const owner = giveAway(folder.path);
  const port = await freePort();
  const file = join(folder.path, 'pgbouncer.ini');
  writeFileSync(
    file,
    `[databases]
* = host=127.0.0.1 port=${serverPort} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${poolMode}
`,
  );
  const child = spawn('pgbouncer', [file], { ...owner, cwd: folder.path, stdio: 'ignore' });
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const answers = () =>
    query(url, 'select 1').then(
      () => true,
      () => false,
    );
  await untilTrue(answers, 'PgBouncer');
  return {
    url,
    async [Symbol.asyncDispose]() {
      process.removeListener('exit', end);
      if (child.exitCode === null && child.signalCode === null) {
        end();
        await once(child, 'exit');
      }
      folder[Symbol.dispose]();
    },
  };
}
