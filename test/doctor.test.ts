import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { MIGRATION_NAMES } from '../src/storage/migrate.ts';
import { compareClocks, type Finding } from '../src/telemetry/finding.ts';
import { untilEqual, untilTrue } from './kit/clock.ts';
import { noPostgres, temporaryDatabase } from './kit/postgres.ts';
import { noPostgresPrograms, query, startPostgres } from './kit/postgres-server.ts';
import { run, serveProcess } from './kit/process.ts';
import { openProxy } from './kit/proxy.ts';
import { redisServerMissing, startRedis } from './kit/redis-server.ts';
import { temporaryFolder } from './kit/service.ts';

/** What `doctor` says of servers and disks that work, but not safely. */

const NO_BACKUPS = 'The service makes no backups: BACKUP_DIR is not set';

/** What it complains of, and what it advises. Slow answers are left out: on a busy machine any server is far. */
async function complaints(env: Record<string, string>, cwd: string, { ofDistance = false } = {}): Promise<string[]> {
  const { stdout } = await run(['doctor', '--json'], { cwd, env });
  return (JSON.parse(stdout) as Finding[]).flatMap((each) => {
    if (each.status === 'ok' || each.finding === NO_BACKUPS) return [];
    if (/ answers within /.test(each.finding) !== ofDistance) return [];
    // A busy machine reads one clock later than the other.
    const finding = each.finding.replace(/[45]\.\d s apart$/, '5 s apart');
    return [`${each.check} ${each.status}: ${finding} → ${each.advice}`];
  });
}

/** Functions that come before those of PostgreSQL, so that one server can say what only others do. */
const SHADOWS: Record<string, string> = {
  standby: 'pg_is_in_recovery() returns boolean return true',
  late: `clock_timestamp() returns timestamptz return pg_catalog.clock_timestamp() + interval '5 s'`,
  unsafe: `current_setting(name text) returns text
    return case name when 'fsync' then 'off' else pg_catalog.current_setting(name) end`,
};

test('PostgreSQL that is unsafe, a standby, off the time or damaged is told as such', {
  skip: noPostgres,
}, async () => {
  using folder = temporaryFolder();
  await using database = await temporaryDatabase();
  const env = { DATABASE_URL: database.url };
  const name = new URL(database.url).pathname.slice(1);
  const found = () => complaints(env, folder.path);
  assert.deepEqual(await found(), [
    `tables warning: The tables lack ${MIGRATION_NAMES.length} migrations → run \`pet-catalog migrate\`; \`serve\` does so when it starts`,
  ]);
  await run(['migrate'], { cwd: folder.path, env });
  assert.deepEqual(await found(), []);
  const { stdout } = await run(['doctor'], { cwd: folder.path, env });
  assert.match(stdout, /^ok {6}instances: PostgreSQL without REDIS_URL supports one instance, which counts alone$/m);
  for (const [schema, definition] of Object.entries(SHADOWS))
    await query(database.url, `create schema ${schema}; create function ${schema}.${definition}`);
  const unsafe = (setting: string) =>
    `durability problem: The server has ${setting} = off: acknowledged writes may be lost in a crash → turn ${setting} on`;
  const standby = 'role problem: The server is a standby: nothing can be stored';
  const late = 'clock warning: The clock here and that of the database are 5 s apart';
  for (const [setting, said] of [
    ['synchronous_commit = off', unsafe('synchronous_commit')],
    ['search_path = unsafe, pg_catalog, public', unsafe('fsync')],
    ['search_path = standby, pg_catalog, public', `${standby} → set DATABASE_URL to the primary, or promote this one`],
    [
      'search_path = late, pg_catalog, public',
      `${late} → synchronise both by NTP: limits and headers depend on the time`,
    ],
  ] as const) {
    await query(database.url, `alter database ${name} set ${setting}`);
    assert.deepEqual(await found(), [said]);
    await query(database.url, `alter database ${name} reset all`);
  }
  await query(database.url, 'insert into rehearsal (turned_by, turned_at, taken_by) values (60, 0, 0)');
  const marked = 'rehearsal problem: The database was used in rehearsal, so no service starts on it';
  const advice = 'set DATABASE_URL to a new one, or copy this one without its rehearsal by `pet-catalog transfer`';
  assert.deepEqual(await found(), [`${marked} → ${advice}`]);
});

test('servers that are far away are told as such', { skip: noPostgres || redisServerMissing() }, async () => {
  using folder = temporaryFolder();
  await using database = await temporaryDatabase();
  await using redis = await startRedis();
  const at = new URL(database.url);
  await run(['migrate'], { cwd: folder.path, env: { DATABASE_URL: database.url } });
  await using nearDatabase = await openProxy({ host: at.hostname, port: Number(at.port || 5432) });
  await using nearRedis = await openProxy({ host: '127.0.0.1', port: redis.port });
  at.port = `${nearDatabase.port}`;
  const env = { DATABASE_URL: at.href, REDIS_URL: `redis://127.0.0.1:${nearRedis.port}`, INSTANCES: '2' };
  for (const proxy of [nearDatabase, nearRedis]) proxy.delay(11);
  const found = await complaints(env, folder.path, { ofDistance: true });
  assert.doesNotMatch((await run(['doctor'], { cwd: folder.path, env })).stdout, /instances: /);
  assert.deepEqual(
    found.map((each) => each.replace(/:.*(?= →)/, '')),
    [
      'database warning → move it closer: a create takes six such round trips',
      'redis warning → move it closer: every request asks it, and beyond 50 ms instances count alone',
    ],
  );
});

test('a Redis that evicts counts, or is a replica, is told as such', { skip: redisServerMissing() }, async () => {
  using folder = temporaryFolder();
  await using redis = await startRedis();
  const found = () => complaints({ REDIS_URL: redis.url, INSTANCES: '2' }, folder.path);
  assert.deepEqual(await found(), []);
  await redis.command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
  assert.deepEqual(await found(), [
    'redis warning: It evicts counts when its memory is full (maxmemory-policy allkeys-lru) → set maxmemory-policy to noeviction',
  ]);
  await redis.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
  await redis.command('REPLICAOF', '127.0.0.1', '1');
  assert.deepEqual(await found(), [
    'redis problem: It is a replica: nothing can be counted in it → set REDIS_URL to the primary',
  ]);
  // A connection that is left open keeps the command from ending.
  await untilEqual(async () => `${await redis.command('CLIENT', 'LIST', 'TYPE', 'normal')}`.match(/^id=/gm)?.length, 1);
});

test('in an outage it says what the service cannot use, since when and why, as the log does', {
  skip: noPostgresPrograms || redisServerMissing(),
}, async () => {
  using folder = temporaryFolder();
  const cwd = folder.path;
  await using database = await startPostgres();
  await using redis = await startRedis();
  const env = { DATABASE_URL: database.url, REDIS_URL: redis.url, INSTANCES: '2', OPERATOR_PORT: '0' };
  const serviceFindings = async () => {
    const { stdout } = await run(['doctor', '--json'], { cwd, env });
    return (JSON.parse(stdout) as Finding[]).filter(({ check }) => check === 'service').map(({ finding }) => finding);
  };
  assert.deepEqual(await serviceFindings(), [], 'no service runs');
  await using service = await serveProcess([], { cwd, env });
  const [ready = ''] = await serviceFindings();
  const [, named] = /^(The service at http:\/\/127\.0\.0\.1:\d+) is ready$/.exec(ready) ?? assert.fail(ready);

  /** When and why something happened, by the log. */
  const logged = (event: string, work?: string) => {
    const lines = `${service.output.stderr}\n${service.output.stdout}`.split('\n').filter((line) => line[0] === '{');
    const line = lines.map((each) => JSON.parse(each)).findLast((each) => each.event === event && each.work === work);
    return line && { at: line.time / 1_000, cause: line.err.message || line.err.code };
  };
  /** What it cannot use, in the words of a finding, as the log has it. */
  const assertAsLogged = (found: string, fails: string, { at, cause }: { at: number; cause: string }) => {
    const told = found.slice(found.indexOf(fails));
    const [since = ''] = /\d{4}-\S+Z/.exec(told) ?? assert.fail(found);
    assert.ok(told.startsWith(`${fails} since ${since}: ${cause}`), found);
    assert.ok(Math.abs(Date.parse(since) / 1_000 - at) <= 1, `${since} is not ${at}`);
  };
  await redis.kill();
  await untilTrue(() => logged('limiter_degraded'));
  const [alone = ''] = await serviceFindings();
  assert.ok(alone.startsWith(`${named} counts without Redis since `), alone);
  assertAsLogged(alone, 'counts without Redis', logged('limiter_degraded'));
  await database.stop('SIGKILL');
  await untilTrue(() => logged('storage_failing', 'read'));
  let found = '';
  // A check of the database is a second old at most.
  await untilTrue(async () => {
    [found = ''] = await serviceFindings();
    return found.startsWith(`${named} is not ready: The database does not answer; `);
  });
  assertAsLogged(found, 'cannot read the database', logged('storage_failing', 'read'));
  assertAsLogged(found, 'counts without Redis', logged('limiter_degraded'));

  await database.start();
  await redis.start();
  await untilEqual(serviceFindings, [ready]);
});

test('a catalog that is nearly full, and backups that are not made or overdue, are told as such', async () => {
  using folder = temporaryFolder();
  const cwd = folder.path;
  writeFileSync(
    join(cwd, 'eight.json'),
    JSON.stringify(Array.from({ length: 8 }, (_, index) => ({ name: `c${index}` }))),
  );
  writeFileSync(join(cwd, 'one.json'), '[{"name":"c9"}]');
  const backups = join(cwd, 'backups');
  mkdirSync(backups);
  const env = { CATEGORIES_MAX: '10', BACKUP_DIR: backups };
  const backedUp = (hoursAgo: number) => {
    const at = new Date(Date.now() - hoursAgo * 3_600_000).toISOString();
    writeFileSync(join(backups, `pet-catalog-${at.replace(/\.\d+/, '').replaceAll(':', '')}.db`), '');
  };
  const found = async () => (await complaints(env, cwd)).map((each) => each.split(' →')[0]);
  await run(['categories', 'import', 'eight.json'], { cwd });
  const { stdout } = await run(['doctor'], { cwd });
  assert.ok(stdout.includes(`warning backups: ${NO_BACKUPS}\n        → set BACKUP_DIR`), stdout);
  backedUp(49);
  assert.match((await found()).join(), /^backups warning: [^,]+$/);
  backedUp(47);
  assert.deepEqual(await found(), []);
  await run(['categories', 'import', 'one.json'], { cwd });
  assert.deepEqual(await found(), ['catalog warning: 9 of 10 categories, in 1 of 64 MiB']);
  writeFileSync(join(cwd, 'long.json'), JSON.stringify([{ name: 'long', description: 'x'.repeat(700) }]));
  await run(['categories', 'import', 'long.json'], { cwd });
  const [byBytes] = await complaints({ CATEGORIES_BYTES_MAX: '1024' }, cwd);
  assert.match(byBytes ?? '', /^catalog warning: 10 of 100000 categories, in 1 of 1 MiB →/);
});

test('clocks may be two seconds apart, either way', () => {
  assert.deepEqual(
    [2, -2, 2.1, -2.1].map((skew) => compareClocks('Redis', 1_000 + skew, 1_000).status),
    ['ok', 'ok', 'warning', 'warning'],
  );
});

test('a disk with little room is a warning, one without room for the log a problem', async (t) => {
  using folder = temporaryFolder();
  const data = join(folder.path, 'data');
  mkdirSync(data);
  const mount = (size: string) => spawnSync('mount', ['-t', 'tmpfs', '-o', size, 'tmpfs', data], { encoding: 'utf8' });
  const { status, stderr } = mount('size=600m');
  if (status !== 0) return t.skip(`a file system cannot be mounted here: ${stderr}`);
  try {
    assert.equal((await run(['keys', 'create', '--name', 'test'], { cwd: folder.path })).code, 0);
    const told: unknown[] = [];
    for (const size of ['600m', '500m', '10m']) {
      assert.equal(mount(`remount,size=${size}`).status, 0);
      told.push((await complaints({}, folder.path)).map((each) => each.replace(/:.*(?= →)/, '')));
    }
    const advice = 'make room: when the disk is full, creates are refused';
    assert.deepEqual(told, [[], [`disk warning → ${advice}`], [`disk problem → ${advice}`]]);
  } finally {
    spawnSync('umount', ['-l', data]);
  }
});

test('listeners that others reach, and a database that others read, are told as such', async () => {
  using folder = temporaryFolder();
  await run(['keys', 'create', '--name', 'test'], { cwd: folder.path });
  chmodSync(join(folder.path, 'data'), 0o750);
  chmodSync(join(folder.path, 'data/pet-catalog.db'), 0o640);
  const found = await complaints({ HOST: '0.0.0.0', OPERATOR_HOST: '10.0.0.1' }, folder.path);
  const operator = 'The operator listener is on 10.0.0.1: anyone who reaches it sees the metrics and the login page';
  const plain = 'The public listener is on 0.0.0.0 and speaks plain HTTP: keys are sent unencrypted';
  assert.deepEqual(found.slice(0, 2), [
    `operator listener warning: ${operator} → set OPERATOR_HOST to 127.0.0.1, or restrict it to your own network`,
    `public listener warning: ${plain} → put a TLS proxy in front and let only it reach this port`,
  ]);
  assert.match(
    found.slice(2).join(),
    /^permissions warning: Other users of this machine may read the database →[^,]*$/,
  );
  for (const [folderMode, fileMode, told] of [
    [0o700, 0o644, []],
    [0o755, 0o600, []],
    [0o701, 0o604, ['permissions']],
  ] as const) {
    chmodSync(join(folder.path, 'data'), folderMode);
    chmodSync(join(folder.path, 'data/pet-catalog.db'), fileMode);
    assert.deepEqual(
      (await complaints({}, folder.path)).map((each) => each.split(' ')[0]),
      told,
    );
  }
});
