import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import sql from 'sql-template-tag';
import { issueToken } from '../../src/catalog/operator/access.ts';
import { databaseUrl } from '../../src/config.ts';
import { DatabaseNotOpened } from '../../src/storage/engine.ts';
import { openEngine, openStorage } from '../../src/storage/open.ts';
import { TRANSFERRED, transfer as transferDatabase } from '../../src/storage/transfer.ts';
import { storeBan } from '../kit/bans.ts';
import { manualClock, untilTrue } from '../kit/clock.ts';
import { OPERATOR } from '../kit/operator.ts';
import { noPostgres, temporaryDatabase } from '../kit/postgres.ts';
import { query } from '../kit/postgres-server.ts';
import { COMMAND, run } from '../kit/process.ts';
import { json, temporaryFolder, testService } from '../kit/service.ts';
import { insert } from '../kit/storage/bench.ts';

const MANY = 30_000;
const options = { skip: noPostgres };

test('the transfer knows every table of either engine', options, async () => {
  using folder = temporaryFolder();
  await using database = await temporaryDatabase();
  const inSqlite = sql`
    select tables.name, count(*) as columns
    from sqlite_schema as tables, pragma_table_info(tables.name)
    where tables.type in ('table', 'view') and tables.name not like 'sqlite_%'
    group by tables.name`;
  const inPostgres = sql`
    select table_name as name, count(*) as columns
    from information_schema.columns
    where table_schema not in ('pg_catalog', 'information_schema')
    group by table_name`;
  for (const [url, listed] of [
    [`sqlite:${join(folder.path, 'x.db')}`, inSqlite],
    [database.url, inPostgres],
  ] as const) {
    const { db } = await openEngine(databaseUrl(url));
    const tables = await db.all<{ name: string; columns: number }>(listed);
    // Of a rehearsal nothing is transferred, and nothing but its mark is read.
    const ours = tables.filter(({ name }) => !/^(kysely|rehears)/.test(name));
    assert.deepEqual(ours.map(({ name }) => name).sort(), Object.keys(TRANSFERRED).sort());
    for (const { name, columns } of ours) assert.ok(columns < 33, `a batch of ${name} has too many values`);
    await db.close();
  }
});

test(
  'all data moves from the embedded database to PostgreSQL and back, and the service runs on it',
  options,
  async () => {
    using folder = temporaryFolder();
    await using database = await temporaryDatabase();
    const [first, second] = ['first', 'second'].map((name) => `sqlite:${join(folder.path, `${name}.db`)}`);
    assert.ok(first && second);
    const secret = await fill(first);

    const there = await transfer(folder.path, first, database.url);
    {
      await using service = await testService({ DATABASE_URL: database.url });
      assert.equal((await json<unknown[]>(service.call(secret, '/categories'))).length, 2);
      const retried = await createDog(service.url, secret);
      assert.deepEqual([retried.status, retried.headers.get('idempotency-replayed')], [201, 'true']);
      const next = await service.call(secret, '/pets', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"name":"Tom","categoryId":2}',
      });
      assert.equal((await json<{ id: number }>(next)).id, 2, 'ids go on where they were');
    }
    await using untouched = await temporaryDatabase();
    await transfer(folder.path, first, untouched.url);
    const back = await transfer(folder.path, untouched.url, second);
    assert.deepEqual(back, there);
    // Release 0.3.0 alone wrote to these.
    for (const { table, rows } of there)
      assert.ok(rows > 0 || /^(console_logins|route_usage)$/.test(table), `${table} is empty`);
    assert.deepEqual(contents(second), contents(first));
  },
);

test('of the writes during a transfer none is in it, and those that are locked out are refused', options, async () => {
  await using source = await temporaryDatabase();
  await using target = await temporaryDatabase();
  const [from, to] = [databaseUrl(source.url), databaseUrl(target.url)];
  const clock = manualClock();
  const bounds = { time: clock, categoriesMax: 10, categoriesBytesMax: 10_000 };
  await using storage = await openStorage(from, bounds);
  await using another = await openStorage(to, bounds);
  await using held = await heldTransfer(source.url, { from, to });
  const at = clock.now().unix;
  const once = { first: at, last: at, served: 1, refused: 0, clientErrors: 0, serverErrors: 0 };
  await storage.usage.add(at - (at % 60), [{ keyId: 'key_1', ...once }]);
  for (const each of [storage, another]) {
    await assert.rejects(insert(each, { name: 'late' }), { code: 'unavailable' });
  }
  await held.release();
  const usage = (await held.transferring).filter(({ table }) => /usage/.test(table));
  assert.ok(usage.length > 0);
  assert.ok(usage.every(({ rows }) => rows === 0));
  assert.deepEqual(await storage.categories.list(), []);
});

test('a transfer that loses a server says what was kept', options, async () => {
  using folder = temporaryFolder();
  const file = databaseUrl(`sqlite:${join(folder.path, 'from.db')}`);
  await fill(`sqlite:${join(folder.path, 'from.db')}`);
  for (const [kind, when, kept] of [
    ['trigger', '', 'nothing was kept: run it again'],
    ['constraint trigger', 'initially deferred', 'either everything was kept or nothing: run it again to find out'],
  ]) {
    await using database = await temporaryDatabase();
    const to = databaseUrl(database.url);
    await (await openEngine(to)).db.close();
    await query(
      database.url,
      `create function fail() returns trigger language plpgsql as
        $$begin perform pg_terminate_backend(pg_backend_pid()); return new; end$$;
      create ${kind} fail after insert on pets ${when} for each row execute function fail()`,
    );
    const interrupted = new RegExp(`^DatabaseNotOpened.*The transfer was interrupted: .+; ${kept}$`, 's');
    await assert.rejects(transferDatabase({ from: file, to }), (error: Error) => {
      assert.match(`${error.constructor.name}: ${error.message}`, interrupted);
      return true;
    });
  }
  await using source = await temporaryDatabase();
  const from = databaseUrl(source.url);
  await (await openEngine(from)).db.close();
  const to = databaseUrl(`sqlite:${join(folder.path, 'to.db')}`);
  await using held = await heldTransfer(source.url, { from, to });
  const refused = assert.rejects(held.transferring, DatabaseNotOpened);
  await query(source.url, `select pg_terminate_backend(pid) ${held.waiting}`);
  await refused;
});

test('an interrupted transfer leaves the target empty and can be run again', options, async () => {
  using folder = temporaryFolder();
  const source = `sqlite:${join(folder.path, 'many.db')}`;
  await fill(source);
  fillUp(source);
  await using database = await temporaryDatabase();
  for (const signal of ['SIGINT', 'SIGKILL'] as const) {
    const child = spawn(process.execPath, [COMMAND, 'transfer', '--from', source, '--to', database.url], {
      cwd: folder.path,
      stdio: 'ignore',
    });
    const ended = once(child, 'exit');
    // Its rows are visible to its own transaction alone, but its activity is visible to all.
    const writing = `select 1 from pg_locks join pg_class on relation = pg_class.oid
      join pg_database on database = pg_database.oid and datname = current_database()
      where relname = 'categories' and mode = 'RowExclusiveLock'`;
    while ((await query(database.url, writing)).length === 0) {
      assert.equal(child.exitCode, null, 'it ended before it could be broken off');
      await wait(5);
    }
    child.kill(signal);
    assert.deepEqual(await ended, signal === 'SIGINT' ? [130, null] : [null, 'SIGKILL']);
    assert.deepEqual(await query(database.url, 'select count(*)::int as rows from categories'), [{ rows: 0 }]);
  }
  const tables = await transfer(folder.path, source, database.url);
  assert.equal(tables.find(({ table }) => table === 'categories')?.rows, MANY + 2);
});

/** A transfer from PostgreSQL that has looked at most tables, and copies none before it is released. */
async function heldTransfer(url: string, wanted: Parameters<typeof transferDatabase>[0]) {
  const holder = new pg.Client({ connectionString: url });
  await holder.connect();
  // The rows of this table are counted last.
  await holder.query('begin; lock table change_versions');
  const transferring = transferDatabase(wanted);
  const waiting = `from pg_locks where not granted and relation = 'change_versions'::regclass
    and database = (select oid from pg_database where datname = current_database())`;
  await untilTrue(async () => (await query(url, `select 1 ${waiting}`)).length > 0);
  return {
    transferring,
    /** The lock that it waits for, to be selected from. */
    waiting,
    release: () => holder.query('commit'),
    [Symbol.asyncDispose]: () => holder.end(),
  };
}

interface TransferredTable {
  readonly table: string;
  readonly rows: number;
  readonly checksum: string;
}

async function transfer(cwd: string, from: string, to: string): Promise<TransferredTable[]> {
  const { code, stdout, stderr } = await run(['transfer', '--from', from, '--to', to, '--json'], { cwd });
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^Copied everything to \S+; \S+ is unchanged\n$/);
  return JSON.parse(stdout);
}

/** Something in every table, made by the service where it makes it; returns a key. */
async function fill(url: string): Promise<string> {
  await using service = await testService({ DATABASE_URL: url });
  const { key, secret } = await service.issue({ plan: 'business' });
  const { key: gone } = await service.issue({ expiresAt: service.clock.now().unix + 60 });
  const post = (path: string, body: unknown) =>
    service.call(secret, path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  assert.equal((await createDog(service.url, secret)).status, 201);
  for (const [path, body] of [
    ['/categories', { name: 'é 🐕‍🦺 \u{10ffff}', description: '' }],
    ['/pets', { name: 'Rex', categoryId: 1 }],
    ['/store/orders', { petId: 1, quantity: 1, shipDate: '2030-01-01T00:00:00Z' }],
  ] as const) {
    assert.equal((await post(path, body)).status, 201);
  }
  const now = service.clock.now().unix;
  const { storage } = service;
  await storage.keys.revoke(gone.id, now, OPERATOR);
  await storage.categories.rename(2, 'é', OPERATOR);
  await storeBan(storage, { keyId: key.id, startedAt: now - 120, endsAt: now - 60, level: 1, reason: 'r' });
  await issueToken({ storage, now, by: OPERATOR }, { name: 'billing', role: 'keys' });
  const login = { actor: 'ops', role: 'admin', offeredAfter: 0 } as const;
  await storage.sessions.open({ ...login, hash: 'session', now, endsAt: now + 3_600 });
  return secret;
}

function createDog(url: string, secret: string): Promise<Response> {
  return fetch(`${url}/categories`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', 'idempotency-key': 'dog' },
    body: '{"name":"Dog"}',
  });
}

/** So many categories that a transfer takes its time. */
function fillUp(url: string): void {
  using database = new DatabaseSync(url.slice('sqlite:'.length));
  database.exec('BEGIN');
  const insert = database.prepare("INSERT INTO categories VALUES (?, ?, 'Loyal, social', 0, 'key', NULL)");
  for (let id = 3; id < MANY + 3; id += 1) insert.run(id, `category ${id}`);
  database.exec('COMMIT');
}

function contents(url: string): unknown {
  using database = new DatabaseSync(url.slice('sqlite:'.length), { readOnly: true });
  return Object.keys(TRANSFERRED).map((table) => {
    const rows = database.prepare(`SELECT * FROM ${table}`).all();
    return [table, rows.map((row) => JSON.stringify(row)).sort()];
  });
}
