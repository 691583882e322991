import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { databaseUrl } from '../../src/config.ts';
import { claimForService } from '../../src/storage/open.ts';
import { untilTrue } from '../kit/clock.ts';
import { freePort } from '../kit/deploy/port.ts';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { create, names } from '../kit/faults/outage.ts';
import { noPostgres, temporaryDatabase } from '../kit/postgres.ts';
import { giveAway, query } from '../kit/postgres-server.ts';
import { findingsOf } from '../kit/process.ts';
import { temporaryFolder, testService, UNLIMITED } from '../kit/service.ts';

/** PgBouncer before PostgreSQL: in session mode it is as the server itself, in transaction mode it is refused. */

const skip = noPostgres || missingPrograms('pgbouncer');

/** What `doctor` finds by trying the work of a service. */
const workFound = async (url: string) =>
  (await findingsOf({ DATABASE_URL: url })).filter(({ check }) => check === 'work');

test('a service runs through a pooler in session mode with its defaults, deadlines and claim included', {
  skip,
}, async () => {
  await using pooler = await startPgBouncer('session');
  assert.deepEqual(await workFound(pooler.url), [
    { check: 'work', status: 'ok', finding: 'The role may do all that a service does' },
  ]);
  await using _claim = await claimForService(databaseUrl(pooler.url), { together: false });
  await using service = await testService({ DATABASE_URL: pooler.url });
  const { secret } = await service.issue(UNLIMITED);
  assert.equal((await create(service, secret, 'Dog')).status, 201);
  assert.deepEqual(await names(service, secret), ['Dog']);
  const deadlines = await service.storage.transactions.read((db) => db.all(sql`show statement_timeout`));
  assert.deepEqual(
    deadlines.map((row) => ({ ...(row as object) })),
    [{ statement_timeout: '5s' }],
  );
});

test('a pooler in transaction mode is refused by `doctor` and by a start, with what to set', { skip }, async () => {
  await using pooler = await startPgBouncer('transaction');
  const finding =
    'A pooler in transaction mode stands before PostgreSQL: locks, notifications and deadlines need a session';
  const advice = 'set pool_mode = session, or connect to the server itself';
  assert.deepEqual(await workFound(pooler.url), [{ check: 'work', status: 'problem', finding, advice }]);
  await assert.rejects(
    claimForService(databaseUrl(pooler.url), { together: false }),
    new RegExp(`Cannot open the database .*: ${finding}; ${advice}$`),
  );
});

/** A PgBouncer with its own defaults, and the address of an empty database through it. */
async function startPgBouncer(poolMode: 'session' | 'transaction') {
  await using stack = new AsyncDisposableStack();
  const database = stack.use(await temporaryDatabase());
  const { hostname, port: serverPort, username, password, pathname } = new URL(database.url);
  const folder = stack.use(temporaryFolder());
  const owner = giveAway(folder.path);
  const port = await freePort();
  const file = join(folder.path, 'pgbouncer.ini');
  writeFileSync(
    file,
    `[databases]
* = host=${hostname} port=${serverPort || 5432} user=${username}${password && ` password=${password}`}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${poolMode}
`,
  );
  const child = spawn('pgbouncer', [file], { ...owner, cwd: folder.path, stdio: 'ignore' });
  const exited = once(child, 'exit');
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  stack.defer(async () => {
    process.removeListener('exit', end);
    end();
    await exited;
  });
  const url = `postgres://postgres@127.0.0.1:${port}${pathname}`;
  const answers = () =>
    query(url, 'select 1').then(
      () => true,
      () => false,
    );
  await untilTrue(answers, 'PgBouncer');
  const running = stack.move();
  return { url, [Symbol.asyncDispose]: () => running.disposeAsync() };
}
