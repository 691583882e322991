import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { claimFile } from '../src/storage/sqlite/claim.ts';
import { untilEqual, untilTrue } from './kit/clock.ts';
import { missingPrograms } from './kit/deploy/programs.ts';
import { temporaryFolder } from './kit/folder.ts';
import { noPostgres, temporaryDatabase } from './kit/postgres.ts';
import { noPostgresPrograms, query, startPostgres } from './kit/postgres-server.ts';
import { COMMAND, findingsOf, run, serveProcess } from './kit/process.ts';
import { redisServerMissing, startRedis } from './kit/redis-server.ts';

/** What `doctor` says of servers and disks that work, but not safely. */

/** What it complains of, and what it advises. */
async function complaints(env: Record<string, string>, cwd: string): Promise<string[]> {
  return (await findingsOf(env, cwd)).flatMap((each) => {
    if (each.status === 'ok') return [];
    return [`${each.check} ${each.status}: ${each.finding} → ${each.advice}`];
  });
}

/** Functions that come before those of PostgreSQL, so that one server can say what only others do. */
const SHADOWS: Record<string, string> = {
  standby: 'pg_is_in_recovery() returns boolean return true',
  unsafe: `current_setting(name text) returns text
    return case name when 'fsync' then 'off' when 'server_encoding' then 'LATIN1' else pg_catalog.current_setting(name) end`,
};

test('PostgreSQL that is unsafe, or a standby, is told as such', {
  skip: noPostgres,
}, async () => {
  using folder = temporaryFolder();
  await using database = await temporaryDatabase();
  const env = { DATABASE_URL: database.url };
  const name = new URL(database.url).pathname.slice(1);
  const found = () => complaints(env, folder.path);
  assert.deepEqual(await found(), [], 'a start makes its tables');
  await run(['migrate'], { cwd: folder.path, env });
  assert.deepEqual(await found(), []);
  for (const [schema, definition] of Object.entries(SHADOWS))
    await query(database.url, `create schema ${schema}; create function ${schema}.${definition}`);
  const unsafe = (setting: string) =>
    `durability problem: The server has ${setting} = off: acknowledged writes may be lost in a crash → turn ${setting} on`;
  const encoding = 'database problem: The encoding of the database is LATIN1 → create it with UTF8';
  const standby = 'role problem: The server is a standby: it stores nothing';
  for (const [setting, said] of [
    ['synchronous_commit = off', [unsafe('synchronous_commit')]],
    ['search_path = unsafe, pg_catalog, public', [encoding, unsafe('fsync')]],
    ['search_path = standby, pg_catalog, public', [`${standby} → set DATABASE_URL to the primary`]],
  ] as const) {
    await query(database.url, `alter database ${name} set ${setting}`);
    assert.deepEqual(await found(), said);
    await query(database.url, `alter database ${name} reset all`);
  }
});

test('in an outage it says what the service cannot use, since when and why, as the log does', {
  skip: noPostgresPrograms || redisServerMissing(),
}, async () => {
  using folder = temporaryFolder();
  const cwd = folder.path;
  await using database = await startPostgres();
  await using redis = await startRedis();
  const env = { DATABASE_URL: database.url, REDIS_URL: redis.url, INSTANCES: '2', OPERATOR_PORT: '0' };
  const serviceFindings = async () =>
    (await findingsOf(env, cwd)).filter(({ check }) => check === 'service').map(({ finding }) => finding);
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

test('a service that was killed, a program in its place and one that breaks connections are problems', async () => {
  using folder = temporaryFolder();
  const found = (env = {}) => complaints(env, folder.path);
  const service = await serveProcess([], { cwd: folder.path });
  const url = await service.operatorUrl();
  assert.equal(await service.end('SIGKILL'), null);
  const gone = `service problem: The service at ${url} is gone without a stop → see its log`;
  assert.deepEqual(await found(), [gone]);
  let answer = (_request: unknown, response: ServerResponse) => void response.end('{"status":"ready"}');
  await using other = createServer((...asked) => answer(...asked));
  await once(other.listen(Number(new URL(url).port), '127.0.0.1'), 'listening');
  assert.deepEqual(await found(), [gone], 'it is not the one that answers there');

  const database = join(folder.path, 'data/pet-catalog.db');
  using _claim = claimFile(database);
  const cannot = (why: string) => [
    `service problem: The service at ${url} cannot be used: ${why} → see its log; restart it if it hangs`,
  ];
  assert.deepEqual(await found(), cannot('another program answers there'));
  answer = (_request, response) => void response.destroy();
  assert.deepEqual(await found(), cannot('other side closed'));
  rmSync(`${database}.operator`);
  assert.deepEqual(await found({ PORT: new URL(url).port }), [
    `service problem: No service runs, and something else listens on ${new URL(url).host} → stop it, or set PORT`,
  ]);
});

test('what another user owns is a problem with its cure, and no stack', {
  skip: process.getuid?.() !== 0,
}, async () => {
  using folder = temporaryFolder();
  chmodSync(folder.path, 0o755);
  await run(['keys', 'create', '--name', 'test'], { cwd: folder.path });
  const options = { cwd: folder.path, uid: 65_534, encoding: 'utf8' } as const;
  for (const mode of [0o700, 0o755]) {
    chmodSync(join(folder.path, 'data'), mode);
    const { stdout, stderr } = spawnSync(process.execPath, [COMMAND, 'doctor', '--port', '0'], options);
    assert.match(
      stdout,
      /^PROBLEM database: .*uid 65534 has no permission for .*\(chown\)\n +→ /m,
      `${mode}: ${stderr}`,
    );
    assert.match(stderr, /^pet-catalog: \d of \d checks found problems\n$/);
  }
});

test('a folder of backups that the service may not write to is a problem, with what to set', async (t) => {
  using folder = temporaryFolder();
  const [backups, env] = [join(folder.path, 'backups'), { BACKUP_DIR: 'backups' }];
  mkdirSync(backups);
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'ro', 'tmpfs', backups]).status !== 0)
    return t.skip('nothing is mounted');
  try {
    await using service = await serveProcess([], { cwd: folder.path, env });
    await untilTrue(() => service.output.stderr.includes('"backup_failed"'));
    const [said = ''] = await complaints(env, folder.path);
    const [, cure] =
      /^service problem: .* makes no backups since \S+Z: .*; .* add (\S+) by `systemctl edit/.exec(said) ?? [];
    assert.equal(cure, `ReadWritePaths=${backups}`, said);
  } finally {
    spawnSync('umount', ['-l', backups]);
  }
});

for (const [engine, tool] of Object.entries({ postgres: 'psql', sqlite: 'sqlite3' })) {
  test(`${engine}: a restore of data alone into migrated tables is told by doctor and commands, and its lines mend it`, {
    skip: missingPrograms('pg_dump', tool) || (engine === 'postgres' && noPostgres),
  }, async () => {
    using folder = temporaryFolder();
    const cwd = folder.path;
    await using servers = new AsyncDisposableStack();
    const at = async (file: string) => (engine === 'sqlite' ? file : servers.use(await temporaryDatabase()).url);
    const [from, to] = [await at('from.db'), await at('to.db')];
    const envOf = (url: string) => ({ DATABASE_URL: engine === 'sqlite' ? `sqlite:${url}` : url });
    await using _service = await serveProcess(['--demo'], { cwd, env: envOf(from) });
    await run(['categories', 'rename', '1', 'Lions'], { cwd, env: envOf(from) });
    const env = envOf(to);
    await run(['migrate'], { cwd, env });
    const dump = engine === 'sqlite' ? 'sqlite3 "$0" ".dump --data-only"' : 'pg_dump --data-only "$0"';
    spawnSync('sh', ['-c', `${dump} | ${tool} "$1"`, from, to], { cwd });
    const create = () => run(['keys', 'create', '--name', 'test'], { cwd, env });
    const { code, stderr } = await create();
    assert.match(stderr, /^pet-catalog: .*; a counter is behind .* `pet-catalog doctor` has the line that mends it\n$/);
    assert.equal(code, 1);
    const behind = await complaints(env, cwd);
    assert.deepEqual(
      behind.map((each) => /^tables problem: The counter of (\w+) is behind/.exec(each)?.[1]),
      ['categories', 'pets', 'orders', 'audit_entries', 'category_changes'],
    );
    for (const each of behind)
      spawnSync(tool, [to, ...(engine === 'sqlite' ? [] : ['-c']), each.split('database: ')[1] ?? ''], { cwd });
    assert.deepEqual(await complaints(env, cwd), []);
    assert.equal((await create()).code, 0);
  });
}

test('the health check of the image asks the service where it listens', async () => {
  using folder = temporaryFolder();
  const file = readFileSync(new URL('../deploy/Containerfile', import.meta.url), 'utf8');
  const [program, ...args]: string[] = JSON.parse(/CMD (\["bash".*\])$/m.exec(file)?.[1] ?? '[]');
  const status = () => spawnSync(program ?? '', args, { cwd: folder.path }).status;
  await using service = await serveProcess(['--operator-host', '::1'], { cwd: folder.path });
  assert.equal(status(), 0);
  await service.end('SIGKILL');
  assert.equal(status(), 1);
});
