import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { databaseUrl } from '../../src/config.ts';
import { openEngine } from '../../src/storage/open.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { noPostgresPrograms, type PostgresServer, query, startPostgres } from '../kit/postgres-server.ts';
import { findingsOf, run } from '../kit/process.ts';

/** Databases that answer, and may or may not do the work: what `doctor` and commands say of each. */

const skip = noPostgresPrograms;

/** What `doctor` says against a database. */
async function problems(url: string): Promise<string[]> {
  const findings = await findingsOf({ DATABASE_URL: url });
  return findings
    .filter(({ check, status }) => check !== 'durability' && (status === 'problem' || check === 'work'))
    .map((each) => (each.status === 'ok' ? each.finding : `${each.status}: ${each.finding}; ${each.advice}`));
}

let server: PostgresServer;
before(async () => {
  if (!skip) server = await startPostgres();
});
after(() => server?.[Symbol.asyncDispose]());

const ALL = 'grant select, insert, update, delete on all tables in schema public';
let databases = 0;

/** An empty database of the server; `guest` is its address for a role of its own that has nothing granted. */
async function newDatabase() {
  databases += 1;
  const [name, role] = [`pets${databases}`, `guest${databases}`];
  await server.query(`create database ${name}`);
  await server.query(`create role ${role} login`);
  const url = server.url.replace(/postgres$/, name);
  const migrate = async () => {
    using folder = temporaryFolder();
    const { code, stderr } = await run(['migrate'], { cwd: folder.path, env: { DATABASE_URL: url } });
    assert.equal(code, 0, stderr);
  };
  return {
    name,
    role,
    url,
    guest: url.replace('//postgres@', `//${role}@`),
    migrate,
    sql: (text: string) => query(url, text),
  };
}

/** What `keys create` says of a database that it cannot use. */
async function refusal(url: string): Promise<string> {
  using folder = temporaryFolder();
  const { code, stderr } = await run(['keys', 'create', '--name', 'x'], {
    cwd: folder.path,
    env: { DATABASE_URL: url },
  });
  assert.equal(code, 1);
  return stderr;
}

test('`doctor` tries the work of a service, which the owner of the database may do', { skip }, async () => {
  const { url, migrate, sql } = await newDatabase();
  const able = ['The role may do all that a service does'];
  assert.deepEqual(await problems(url), able);
  await migrate();
  assert.deepEqual(await problems(url), able);
  assert.deepEqual(await sql(`select 1 from pg_class where relname like 'pet_catalog_doctor%'`), []);
});

test('a role without CREATE is named by `doctor` and by a start', { skip }, async () => {
  const { role, guest, migrate, sql } = await newDatabase();
  const denied =
    'permission denied for schema public; make the role of DATABASE_URL the owner of the database, or grant it what is missing';
  assert.deepEqual(await problems(guest), [`problem: It cannot create tables: ${denied}`]);
  await assert.rejects(openEngine(databaseUrl(guest)), new RegExp(`Cannot open the database .*: ${denied}$`));
  await migrate();
  await sql(`${ALL} to ${role}`);
  assert.deepEqual(await problems(guest), [`warning: It cannot create tables: ${denied}`]);
});

test('a table that the role may not write is named by `doctor`, and by the command that meets it', {
  skip,
}, async () => {
  const { role, guest, migrate, sql } = await newDatabase();
  await migrate();
  for (const grant of [ALL, 'grant create on schema public']) await sql(`${grant} to ${role}`);
  await sql(`revoke insert on api_keys from ${role}`);
  assert.deepEqual(await problems(guest), [
    'problem: The role may not read and write the table api_keys; grant select, insert, update, delete on api_keys to the role of DATABASE_URL',
  ]);
  assert.equal(
    await refusal(guest),
    'pet-catalog: permission denied for table api_keys; make the role of DATABASE_URL the owner of the database, or grant it what is missing\n',
  );
});

test('a server that only reads is named by `doctor`, and by the command that meets it', { skip }, async () => {
  const { name, url, migrate, sql } = await newDatabase();
  await migrate();
  await sql(`alter database ${name} set default_transaction_read_only = on`);
  const advice =
    'it only reads, as a standby or a role with default_transaction_read_only does: let it write, or correct DATABASE_URL';
  const told = await problems(url);
  assert.ok(
    told.includes(`problem: It cannot write: cannot execute UPDATE in a read-only transaction; ${advice}`),
    `${told}`,
  );
  assert.match(
    await refusal(url),
    new RegExp(`^pet-catalog: cannot execute .* in a read-only transaction; ${advice}\n$`),
  );
});
