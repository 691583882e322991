import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Finding } from '../../src/telemetry/finding.ts';
import { missingPrograms } from '../kit/deploy/programs.ts';
import { create, names, UNLIMITED } from '../kit/faults/outage.ts';
import { startPgBouncer } from '../kit/faults/pgbouncer.ts';
import { noPostgresPrograms, type PostgresServer, startPostgres } from '../kit/postgres-server.ts';
import { run, runProcess, serveProcess } from '../kit/process.ts';
import { temporaryFolder, testService } from '../kit/service.ts';

/** Databases that answer, and may or may not do the work: what `doctor` and commands say of each. */

const skip = noPostgresPrograms;
const skipPooler = skip || missingPrograms('pgbouncer');

/** What `doctor` says against a database. */
async function problems(url: string): Promise<string[]> {
  using folder = temporaryFolder();
  const { stdout } = await run(['doctor', '--json'], { cwd: folder.path, env: { DATABASE_URL: url } });
  const findings = JSON.parse(stdout) as Finding[];
  return findings
    .filter(({ check, status }) => check !== 'durability' && (status === 'problem' || check === 'work'))
    .map((each) => (each.status === 'ok' ? each.finding : `${each.status}: ${each.finding}; ${each.advice}`));
}

async function migrated(postgres: PostgresServer): Promise<void> {
  using folder = temporaryFolder();
  const { code, stderr } = await run(['migrate'], { cwd: folder.path, env: { DATABASE_URL: postgres.url } });
  assert.equal(code, 0, stderr);
}

/** The address of the server for a role of these attributes and rights. */
async function asRole(postgres: PostgresServer, attributes: string, ...grants: string[]): Promise<string> {
  await postgres.query(`create role guest login ${attributes}`);
  for (const grant of grants) await postgres.query(`${grant} to guest`);
  return postgres.url.replace('postgres://postgres@', 'postgres://guest@');
}

const ALL = 'grant select, insert, update, delete on all tables in schema public';

test('`doctor` tries the work of a service, which the owner of the database may do', { skip }, async () => {
  await using postgres = await startPostgres();
  const able = ['The role may do all that a service does'];
  assert.deepEqual(await problems(postgres.url), able);
  await migrated(postgres);
  assert.deepEqual(await problems(postgres.url), able);
  assert.deepEqual(await postgres.query(`select 1 from pg_class where relname like 'pet_catalog_doctor%'`), []);
});

test('a role without CREATE is named by `doctor` and by a start', { skip }, async () => {
  await using postgres = await startPostgres();
  using folder = temporaryFolder();
  const url = await asRole(postgres, '');
  const denied =
    'permission denied for schema public; make the role of DATABASE_URL the owner of the database, or grant it what is missing';
  assert.deepEqual(await problems(url), [`problem: It cannot create tables: ${denied}`]);
  const started = await runProcess(['serve'], { cwd: folder.path, env: { DATABASE_URL: url, PORT: '0' } });
  assert.equal(started.code, 1);
  assert.match(started.stderr, new RegExp(`^pet-catalog: Cannot open the database .*: ${denied}$`, 'm'));

  await migrated(postgres);
  await postgres.query(`${ALL} to guest`);
  assert.deepEqual(await problems(url), [`warning: It cannot create tables: ${denied}`]);
});

test('a table that the role may not write is named by `doctor`, and by the command that meets it', {
  skip,
}, async () => {
  await using postgres = await startPostgres();
  await migrated(postgres);
  const url = await asRole(postgres, '', ALL, 'grant create on schema public');
  await postgres.query('revoke insert on api_keys from guest');
  assert.deepEqual(await problems(url), [
    'problem: The role may not read and write the table api_keys; grant select, insert, update, delete on api_keys to the role of DATABASE_URL',
  ]);
  using folder = temporaryFolder();
  const issued = await run(['keys', 'create', '--name', 'x'], { cwd: folder.path, env: { DATABASE_URL: url } });
  assert.deepEqual(
    [issued.code, issued.stderr],
    [
      1,
      'pet-catalog: permission denied for table api_keys; make the role of DATABASE_URL the owner of the database, or grant it what is missing\n',
    ],
  );
});

test('a server that only reads is named by `doctor`, and by the command that meets it', { skip }, async () => {
  await using postgres = await startPostgres();
  await migrated(postgres);
  await postgres.query('alter system set default_transaction_read_only = on');
  await postgres.query('select pg_reload_conf()');
  const advice =
    'it only reads, as a standby or a role with default_transaction_read_only does: let it write, or correct DATABASE_URL';
  const told = await problems(postgres.url);
  assert.ok(
    told.includes(`problem: It cannot write: cannot execute UPDATE in a read-only transaction; ${advice}`),
    `${told}`,
  );
  using folder = temporaryFolder();
  const issued = await run(['keys', 'create', '--name', 'x'], {
    cwd: folder.path,
    env: { DATABASE_URL: postgres.url },
  });
  assert.equal(issued.code, 1);
  assert.match(issued.stderr, new RegExp(`^pet-catalog: cannot execute .* in a read-only transaction; ${advice}\n$`));
});

test('a service runs through PgBouncer with its defaults', { skip: skipPooler }, async () => {
  await using postgres = await startPostgres();
  await using pooler = await startPgBouncer(postgres.port, 'session');
  assert.deepEqual(await problems(pooler.url), ['The role may do all that a service does']);
  await using service = await testService({ DATABASE_URL: pooler.url });
  const { secret } = await service.issue(UNLIMITED);
  assert.equal((await create(service, secret, 'Dog')).status, 201);
  assert.deepEqual(await names(service, secret), ['Dog']);
  const [deadlines] = await service.storage.transactions.read((db) =>
    db.all<Record<string, string>>({ text: 'show statement_timeout', sql: '', values: [] }),
  );
  assert.deepEqual(deadlines, { statement_timeout: '5s' });
});

test('a pooler in transaction mode is refused', { skip: skipPooler }, async () => {
  await using postgres = await startPostgres();
  await using pooler = await startPgBouncer(postgres.port, 'transaction');
  const finding =
    'A pooler in transaction mode stands before PostgreSQL: locks, notifications and deadlines need a session';
  const advice = 'set pool_mode = session, or connect to the server itself';
  assert.deepEqual(await problems(pooler.url), [`problem: ${finding}; ${advice}`]);
  using folder = temporaryFolder();
  const started = await runProcess(['serve'], { cwd: folder.path, env: { DATABASE_URL: pooler.url, PORT: '0' } });
  assert.equal(started.code, 1);
  assert.match(started.stderr, new RegExp(`^pet-catalog: Cannot open the database .*: ${finding}; ${advice}$`, 'm'));
});

test('at the connection limit of the role requests wait for a connection, and none is refused', { skip }, async () => {
  await using postgres = await startPostgres();
  // One for the claim, one that listens, and two of the ten in the pool.
  const url = await asRole(postgres, 'superuser');
  await postgres.query('alter role guest nosuperuser connection limit 4');
  await postgres.query('alter database postgres owner to guest');
  await postgres.query('grant create on schema public to guest');
  using folder = temporaryFolder();
  await using service = await serveProcess(['--bootstrap'], { cwd: folder.path, env: { DATABASE_URL: url } });
  const secret = /petcat_live_\w+/.exec(service.output.stdout)?.[0];
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
  const statuses = await Promise.all(
    Array.from({ length: 60 }, async (_, index) => {
      const body = JSON.stringify({ name: `pet ${index}` });
      const key = { ...headers, 'idempotency-key': `${index}` };
      const answer = await fetch(index % 2 ? `${service.url}/pets/${index}` : `${service.url}/categories`, {
        ...(index % 2 === 0 && { method: 'POST', body }),
        headers: key,
      });
      await answer.arrayBuffer();
      return answer.status;
    }),
  );
  assert.deepEqual([...new Set(statuses)].sort(), [201, 404]);
});
