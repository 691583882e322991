import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import pg from 'pg';
import { manualClock, untilTrue } from '../kit/clock.ts';
import { noPostgres } from '../kit/postgres.ts';
import { query } from '../kit/postgres-server.ts';
import { runProcess } from '../kit/process.ts';
import { type Database, readRecorded, restored, VERSIONS } from '../kit/releases/database.ts';
import { type Recorded, SETTINGS } from '../kit/releases/recorded.ts';
import { temporaryFolder, testService } from '../kit/service.ts';
import { assertCreates, assertPrinted, assertRead } from './meaning.ts';
import { laterRelease, type Program } from './programs.ts';

/**
 * The upgrade to a later release is killed in the middle of its migrations. The release before finds everything as it
 * was, the next start completes the upgrade, and the release before still works with the result.
 */

const ADDS = [
  'alter table api_keys add column later text',
  'alter table categories add column later text',
  'create table later (id text primary key)',
];
/** So much that SQLite writes it into its log before the end of the transaction. */
const FILL =
  'create table filled as with recursive n(i) as (select 1 union all select i + 1 from n where i < 8000) select i, hex(randomblob(512)) as text from n';
const FILLED_BYTES = 4_000_000;
/** Takes some minutes, and then ends by itself. */
const COUNT_FOR_LONG =
  'create table counted as with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000000000) select count(*) as count from n';

const programs = temporaryFolder();
after(() => programs[Symbol.dispose]());
const later = (statements: string[]) =>
  laterRelease(programs.path, '98.0.0', [
    { name: '901-adds', statements: ADDS },
    { name: '902-alters', statements: [...statements, 'alter table bans add column later text'] },
  ]);
const LATER = later([]);
const STUCK = later([FILL, COUNT_FOR_LONG]);

const version = VERSIONS.at(-1) ?? '';

test(`an upgrade of ${version} that is killed changes nothing, and the next one completes it, on SQLite`, async () => {
  await using database = await restored({ version, engine: 'sqlite' });
  const log = `${database.file}-wal`;
  await killed(STUCK, database, async () => existsSync(log) && statSync(log).size > FILLED_BYTES);
  await completes(database);
});

test(`an upgrade of ${version} that is killed changes nothing, and the next one completes it, on PostgreSQL`, {
  skip: noPostgres,
}, async () => {
  await using database = await restored({ version, engine: 'postgres' });
  const reader = new pg.Client({ connectionString: database.url });
  reader.on('error', () => {});
  await reader.connect();
  // The second migration waits for a reader, in the transaction of the first.
  await reader.query('begin; lock table bans in access share mode');
  const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await killed(LATER, database, async () => (await query(database.url, waiting)).length === 1);
  await reader.end();
  await completes(database);
});

/** Starts the upgrade, and kills it when it has come far enough. */
async function killed(
  { command: [node, script] }: Program,
  { url, folder }: Database,
  isFarEnough: () => Promise<boolean>,
) {
  const options = { cwd: folder, env: { ...process.env, DATABASE_URL: url }, stdio: 'ignore' } as const;
  const upgrade: ChildProcess = spawn(node, [script, 'migrate'], options);
  try {
    await untilTrue(async () => {
      assert.equal(upgrade.exitCode, null, 'the upgrade has ended by itself');
      return isFarEnough();
    }, 'the middle of the upgrade');
  } finally {
    const ended = once(upgrade, 'exit');
    if (upgrade.exitCode === null) upgrade.kill('SIGKILL');
    if (upgrade.exitCode === null) await ended;
  }
}

async function completes(database: Database): Promise<void> {
  const engine = database.url.startsWith('sqlite') ? 'sqlite' : 'postgres';
  const recorded = readRecorded<Recorded>({ version, engine });
  const time = manualClock(recorded.leftAt);
  const beside = { cwd: database.folder, env: { DATABASE_URL: database.url }, invocation: { time } };
  assert.deepEqual(await laterMigrations(database), []);
  await assertPrinted(recorded, beside);
  const upgraded = await runProcess(['migrate'], { ...beside, command: LATER.command });
  assert.equal(upgraded.code, 0, upgraded.stderr);
  assert.equal((await laterMigrations(database)).length, 2);
  await assertPrinted(recorded, beside);
  await using service = await testService({ DATABASE_URL: database.url, ...SETTINGS }, time);
  await assertRead(service, recorded);
  await assertCreates(service, recorded);
  assert.deepEqual(service.events.failures, []);
}

async function laterMigrations({ url, file }: Database): Promise<unknown[]> {
  const statement = "select name from kysely_migration where name > '900'";
  if (url.startsWith('postgres')) return query(url, statement);
  using database = new DatabaseSync(file);
  return database.prepare(statement).all();
}
