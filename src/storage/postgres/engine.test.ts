import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import sql from 'sql-template-tag';
import { manualClock, untilEqual, untilTrue } from '../../../test/kit/clock.ts';
import { noPostgres, reusedDatabase, temporaryDatabase } from '../../../test/kit/postgres.ts';
import { query } from '../../../test/kit/postgres-server.ts';
import { checksOn, insert, issue, issueMany } from '../../../test/kit/storage/bench.ts';
import { storageContract } from '../../../test/storage/contract.ts';
import { nextBan } from '../../catalog/ban.ts';
import type { Transaction } from '../engine.ts';
import { claimForService, claimForTransfer, openEngine, openStorage } from '../open.ts';
import type { SqlStorage } from '../sql/storage.ts';

/** The connections of this database that wait for a lock; other tests have databases of the same server. */
const WAITING = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
const OPTIONS = { time: manualClock(), categoriesMax: 10, categoriesBytesMax: 10_000 };

const onPostgres = checksOn(
  'PostgreSQL',
  async () => {
    const { url, [Symbol.asyncDispose]: release } = await reusedDatabase();
    return { database: { engine: 'postgres', url }, [Symbol.asyncDispose]: release };
  },
  { skip: noPostgres },
);
storageContract(onPostgres);

test('a write that finds the writers’ lock held is refused as `unavailable`, and goes on once it is free', {
  skip: noPostgres,
}, async () => {
  await using database = await reusedDatabase();
  await using storage = await openStorage({ engine: 'postgres', url: database.url }, OPTIONS);
  const holder = new pg.Client({ connectionString: database.url });
  await holder.connect();
  try {
    await holder.query('select pg_advisory_lock(7251002)');
    await assert.rejects(insert(storage, { name: 'Dog' }), { code: 'unavailable' });
  } finally {
    await holder.end();
  }
  await untilTrue(() =>
    insert(storage, { name: 'Cat' }).then(
      () => true,
      () => false,
    ),
  );
  assert.deepEqual(await storage.categories.list(), [{ id: 1, name: 'Cat' }]);
});

test('a service is seen on its own database, and not on another of the same server', { skip: noPostgres }, async () => {
  await using one = await reusedDatabase();
  await using two = await reusedDatabase();
  for (const together of [false, true]) {
    await using _claim = await claimForService({ engine: 'postgres', url: one.url }, { together });
    const transferred = claimForTransfer({ engine: 'postgres', url: one.url });
    await assert.rejects(transferred, /^Error: A service runs on the database .*: stop all of its instances$/);
    await using _other = await claimForTransfer({ engine: 'postgres', url: two.url });
  }
  await using _claim = await claimForTransfer({ engine: 'postgres', url: one.url });
});

test('a ban that is stored while the bans of its key are being lifted waits for that, and is not imposed', {
  skip: noPostgres,
}, async () => {
  await using database = await reusedDatabase();
  await using storage = await openStorage({ engine: 'postgres', url: database.url }, OPTIONS);
  const { key } = await issue(storage);
  const operator = new pg.Client({ connectionString: database.url });
  await operator.connect();
  const { unix } = OPTIONS.time.now();
  const ban = nextBan(null, { startedAt: unix, reason: 'r' });
  const impose = () => storage.keys.impose(key.id, ban, { banGeneration: 0, isAnswered: false });
  try {
    await operator.query('begin; select pg_advisory_xact_lock(7251002); update api_keys set epoch = epoch + 1');
    const imposed = impose().then(
      (outcome) => ({ outcome }),
      () => undefined,
    );
    const isWaiting = async () => (await query(database.url, WAITING)).length > 0;
    await Promise.race([imposed, untilTrue(isWaiting)]);
    await operator.query('commit');
    // On a machine that is slow it may have waited too long.
    assert.equal((await imposed) ? (await imposed)?.outcome : await impose(), undefined);
  } finally {
    await operator.end();
  }
  assert.deepEqual(await storage.keys.banHistory(key.id, 10), []);
});

test('a change that the server ends as a deadlock is made again', { skip: noPostgres }, async () => {
  await using database = await temporaryDatabase();
  const name = new URL(database.url).pathname.slice(1);
  // Sooner than the service gives a lock up.
  await query(database.url, `alter database ${name} set deadlock_timeout = '500ms'`);
  await using storage = await openStorage({ engine: 'postgres', url: database.url }, OPTIONS);
  const { unix } = OPTIONS.time.now();
  const operator = new pg.Client({ connectionString: database.url });
  await operator.connect();
  const count = async (sql: string) => Number((await query(database.url, sql))[0]?.count);
  const deadlocks = () => count(`select deadlocks as count from pg_stat_database where datname = '${name}'`);
  try {
    // The service is the one to be ended.
    await operator.query(`set deadlock_timeout = '1min'`);
    // On a busy machine the operator may come too late to make it one.
    await untilTrue(async () => {
      const { key } = await issue(storage);
      const ban = nextBan(null, { startedAt: unix, reason: 'r' });
      await operator.query(`begin; select from api_keys where id = '${key.id}' for update`);
      const imposed = storage.keys.impose(key.id, ban, { banGeneration: 0, isAnswered: false });
      await untilTrue(async () => (await query(database.url, WAITING)).length > 0);
      await operator.query('select pg_advisory_xact_lock(7251002); commit');
      assert.notEqual(await imposed, undefined);
      return (await deadlocks()) > 0;
    });
  } finally {
    await operator.end();
  }
});

test('changes of keys are numbered in the order of their commits', { skip: noPostgres }, async () => {
  await using database = await reusedDatabase();
  await using one = await openStorage({ engine: 'postgres', url: database.url }, OPTIONS);
  await using two = await openStorage({ engine: 'postgres', url: database.url }, OPTIONS);
  const keys = await issueMany(one, 8);
  const seen = new Set<number>();
  const looking = new AbortController();
  const look = async () => {
    for (let last = 0; !looking.signal.aborted; ) {
      const rows = await query(
        database.url,
        `select version from key_changes where version > ${last} order by version`,
      );
      for (const { version } of rows) {
        assert.equal(Number(version), last + 1, 'none is committed before the one ahead of it');
        last = Number(version);
        seen.add(last);
      }
    }
  };
  const watching = look();
  // Before the database is dropped, also after a failure, which would otherwise be told as one of the database.
  await using _watch = {
    async [Symbol.asyncDispose]() {
      looking.abort();
      await watching;
    },
  };
  const { unix } = OPTIONS.time.now();
  // On a busy machine the last of so many wait too long for the lock. Nothing is stored then.
  const ban = nextBan(null, { startedAt: unix, reason: 'r' });
  const impose = (storage: SqlStorage, id: string) =>
    untilTrue(() =>
      storage.keys.impose(id, ban, { banGeneration: 0, isAnswered: false }).then(
        () => true,
        ({ code }) => assert.equal(code, 'unavailable') ?? false,
      ),
    );
  await Promise.all(keys.flatMap(({ key }) => [one, two].map((storage) => impose(storage, key.id))));
  await untilEqual(() => seen.size, 24);
});

test('a connection that ends leaves the outcome unknown during a COMMIT alone', { skip: noPostgres }, async () => {
  const ends = 'perform pg_terminate_backend(pg_backend_pid());';
  const [before, during] = [
    { trigger: 'trigger', when: '' },
    { trigger: 'constraint trigger', when: 'initially deferred' },
  ];
  for (const [failure, moment, code] of [
    [ends, during, 'outcome_unknown'],
    [ends, before, 'unavailable'],
    ["raise exception using errcode = 'disk_full';", during, 'unavailable'],
  ] as const) {
    await using bench = await failingBench({ ...moment, failure });
    await assert.rejects(insert(bench.storage, { name: 'fails' }), { code });
    await insert(bench.storage, { name: 'Dog' });
    assert.deepEqual(
      (await bench.storage.categories.list()).map(({ name }) => name),
      ['Dog'],
    );
  }
});

test('a connection on which the server failed sends nothing more, and is closed', { skip: noPostgres }, async (t) => {
  const failure = "raise exception using errcode = 'io_error';";
  await using bench = await failingBench({ trigger: 'trigger', when: '', failure });
  // Pools of earlier tests may still end connections of theirs.
  const query = t.mock.method(pg.Client.prototype, 'query').mock;
  const end = t.mock.method(pg.Client.prototype, 'end').mock;
  await assert.rejects(insert(bench.storage, { name: 'fails' }), { code: 'unavailable' });
  const place = query.calls.findIndex(({ arguments: [sent] }) => JSON.stringify(sent).includes('"fails"'));
  const client = query.calls[place]?.this;
  const ends = end.calls.filter((each) => each.this === client);
  await insert(bench.storage, { name: 'Dog' });
  const later = query.calls.slice(place + 1).filter((each) => each.this === client);
  assert.deepEqual([place > 0, later.length, ends.length], [true, 0, 1]);
});

/** A storage whose server fails when a category of the name `fails` is inserted, or when that is committed. */
async function failingBench({ trigger, when, failure }: Record<'trigger' | 'when' | 'failure', string>) {
  await using stack = new AsyncDisposableStack();
  const { url } = stack.use(await reusedDatabase());
  const storage = stack.use(await openStorage({ engine: 'postgres', url }, OPTIONS));
  stack.defer(async () => void (await query(url, 'drop function fail cascade')));
  await query(
    url,
    `create function fail() returns trigger language plpgsql as
      $$begin if new.name = 'fails' then ${failure} end if; return new; end$$;
    create ${trigger} fail after insert on categories ${when} for each row execute function fail()`,
  );
  const running = stack.move();
  return { storage, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

test('once a connection was lost those that were opened before it are replaced', { skip: noPostgres }, async () => {
  await using database = await reusedDatabase();
  const { db } = await openEngine({ engine: 'postgres', url: database.url });
  const pids = (each: Pick<Transaction, 'all'>) => each.all<{ pid: number }>(sql`select pg_backend_pid() as pid`);
  try {
    const { promise: both, resolve } = Promise.withResolvers<void>();
    const first = db.transaction(async (trx) => {
      await both;
      return pids(trx);
    });
    const second = await db.transaction(pids);
    resolve();
    const before = [...(await first), ...second].map(({ pid }) => pid);
    assert.deepEqual([new Set(before).size, before.includes((await pids(db))[0]?.pid ?? 0)], [2, true]);
    await assert.rejects(db.all(sql`select pg_terminate_backend(pg_backend_pid())`));
    const [after] = await pids(db);
    assert.ok(!before.includes(after?.pid ?? 0));
    assert.deepEqual(await pids(db), [after], 'it is kept');
    const open = `select pid from pg_stat_activity where pid in (${before})`;
    await untilEqual(async () => (await query(database.url, open)).length, 0);
  } finally {
    await db.close();
  }
});
