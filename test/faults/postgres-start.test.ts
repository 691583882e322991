import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, before, test } from 'node:test';
import { awaitServer } from '../../src/storage/postgres/connection.ts';
import { untilTrue } from '../kit/clock.ts';
import { noPostgresPrograms, type PostgresServer, startPostgres } from '../kit/postgres-server.ts';
import { COMMAND } from '../kit/process.ts';
import { temporaryFolder } from '../kit/service.ts';

const options = { skip: noPostgresPrograms };
const PASSWORD = 's3cret';

let postgres: PostgresServer;
before(async () => {
  if (!noPostgresPrograms) postgres = await startPostgres({ password: PASSWORD });
});
after(() => postgres?.[Symbol.asyncDispose]());

test(
  'an instance that starts while the server restarts says so, waits, and starts with it, or stops when told',
  options,
  async () => {
    await postgres.stop();
    await using stopped = await startWithout();
    assert.equal(await stopped.end(), 0);
    assert.doesNotMatch(stopped.said(), /Cannot open/);
    await using starting = await startWithout();
    await postgres.start();
    await untilTrue(() => /^listening on /m.test(starting.said()));
    assert.equal(await starting.end(), 0);
  },
);

test(
  'the wait times out with a message that names the server and no password; what cannot pass is not awaited',
  options,
  async () => {
    const { port } = postgres;
    await postgres.stop();
    const waits: { server: string }[] = [];
    const stop = new AbortController().signal;
    const waiting = { onWait: (each: { server: string }) => waits.push(each), stop, waitMs: 1_000 };
    const server = `postgres://postgres:***@127.0.0.1:${port}/postgres`;
    await assert.rejects(awaitServer(postgres.url, waiting), {
      message: `Cannot open the database ${server}: connect ECONNREFUSED 127.0.0.1:${port}; it was waited for 1 s; start the server, or correct DATABASE_URL`,
    });
    assert.deepEqual(
      waits.map((each) => each.server),
      [server],
    );

    await postgres.start();
    await assert.rejects(awaitServer(postgres.url.replace(PASSWORD, 'wrong'), waiting), /correct the password/);
    await assert.rejects(awaitServer(`${postgres.url}?sslmode=require`, waiting), {
      message: `Cannot open the database ${server}?sslmode=require: The server does not support SSL connections; give it a certificate, or take sslmode out of DATABASE_URL`,
    });
    assert.equal(waits.length, 1, 'neither a wrong password nor a server without TLS is waited for');
  },
);

/** A service that was started without its server, and has said that it waits. */
async function startWithout() {
  const folder = temporaryFolder();
  const env = { PATH: process.env.PATH ?? '', PORT: '0', DATABASE_URL: postgres.url };
  const child = spawn(process.execPath, [COMMAND, 'serve'], {
    cwd: folder.path,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const closed = once(child, 'close').then(([code]) => code as number | null);
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await untilTrue(() => said.includes('database_awaited'));
  assert.doesNotMatch(said, new RegExp(PASSWORD));
  assert.match(said, new RegExp(`127\\.0\\.0\\.1:${postgres.port}`));
  return {
    said: () => said,
    end() {
      child.kill('SIGTERM');
      return closed;
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await closed;
      folder[Symbol.dispose]();
    },
  };
}
