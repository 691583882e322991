import assert from 'node:assert/strict';
import { copyFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { manualClock } from '../kit/clock.ts';
import { signIn } from '../kit/console/visitor.ts';
import { freePort } from '../kit/deploy/port.ts';
import { apiClient } from '../kit/operator.ts';
import { run, wordsOf } from '../kit/process.ts';
import { restored } from '../kit/releases/database.ts';
import { temporaryFolder, testService } from '../kit/service.ts';
import { overwrite } from '../kit/storage/files.ts';

/** Who is let in after a restore: no one who was shut out since the backup. */

/** A folder with the database `x.db`, on which commands run. */
function workplace() {
  const folder = temporaryFolder();
  const database = join(folder.path, 'x.db');
  const settings = { DATABASE_URL: `sqlite:${database}` };
  const clock = manualClock();
  const command = async (line: string, expected = 0) => {
    const finished = await run(wordsOf(line), { cwd: folder.path, env: settings, invocation: { time: clock } });
    assert.equal(finished.code, expected, `${line}: ${finished.stdout}${finished.stderr}`);
    return finished;
  };
  return {
    in: (name: string) => join(folder.path, name),
    database,
    settings,
    clock,
    command,
    async json<T>(line: string) {
      return JSON.parse((await command(`${line} --json`)).stdout) as T;
    },
    /** The checks that find a problem. */
    async problems(code: 0 | 1) {
      const found = JSON.parse((await command('doctor --json', code)).stdout) as { check: string; status: string }[];
      return found.filter(({ status }) => status === 'problem').map(({ check }) => check);
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

interface Issued {
  readonly id: string;
  readonly key: string;
}

test('after a restore those who were shut out since the backup stay out, and new secrets work', async () => {
  using place = workplace();
  const { command, json, clock } = place;
  const settings = { ...place.settings, OPERATOR_PORT: `${await freePort()}` };
  const keys: Record<string, Issued> = {};
  for (const name of ['leaked', 'paused', 'revoked', 'steady']) keys[name] = await json(`keys create --name ${name}`);
  const { leaked, paused, revoked, steady } = keys as Record<'leaked' | 'paused' | 'revoked' | 'steady', Issued>;
  let [cookie, token, rotated] = ['', '', ''];
  {
    await using service = await testService(settings, clock);
    const admin = await apiClient(service, 'admin');
    ({ cookie } = await signIn(service));
    token = admin.secret;
    assert.equal((await service.send(steady.key, 'POST', '/categories', { name: 'kept' })).status, 201);
    await command('backup one.db');
    rotated = (await command(`keys rotate ${leaked.id} --grace 0s`)).stdout.trim();
    for (const line of [`keys pause ${paused.id}`, `keys revoke ${revoked.id}`, `operators revoke ${admin.token.id}`])
      await command(line);
    assert.equal((await service.send(steady.key, 'POST', '/categories', { name: 'lost' })).status, 201);
    for (let calls = 0; calls < 8; calls += 1) await service.call(steady.key, '/categories');
  }
  const { stderr } = await command(`restore ${place.in('one.db')} --as alice`);
  assert.match(
    stderr,
    /^Sessions have ended; keys, bans, .* of the replaced database\nRestored the database .*x\.db; the old one is .*x\.db\.replaced-\d+\n$/,
  );
  assert.deepEqual(await place.problems(0), []);

  await using service = await testService(settings, clock);
  const status = async (secret: string) => (await service.call(secret, '/categories')).status;
  assert.deepEqual(await Promise.all([leaked, paused, revoked].map(({ key }) => status(key))), [401, 401, 401]);
  assert.equal(await status(rotated), 200);
  const asked = async (path: string, headers: Record<string, string>) =>
    (await fetch(service.operatorUrl + path, { headers: { ...headers, connection: 'close' }, redirect: 'manual' }))
      .status;
  assert.equal(await asked('/api/v1/keys', { authorization: `Bearer ${token}` }), 401);
  assert.notEqual(await asked('/console', { cookie }), 200, 'the session has ended');
  const [{ usedToday } = { usedToday: 0 }] = await json<{ usedToday: number }[]>('keys list --q steady');
  assert.equal(usedToday, 10, 'what was used since the backup is used');
  const created = await service.send(rotated, 'POST', '/categories', { name: 'next' });
  assert.equal(((await created.json()) as { id: number }).id, 3, 'an id that was given is not given again');
  const audit = await json<{ action: string }[]>('audit');
  for (const action of ['key.rotate', 'key.pause', 'key.revoke', 'operator.revoke', 'console.open'])
    assert.equal(audit.filter((entry) => entry.action === action).length, 1, action);
  const [{ actor, after }] = await json<[{ actor: string; after: object }]>('audit --action database_restored');
  assert.deepEqual([actor, after], ['alice', { backup: 'one.db' }]);
});

test('over a damaged database access is that of the backup, which is printed and found until it was checked', async () => {
  using place = workplace();
  const { command, json, clock } = place;
  const leaked = await json<Issued>('keys create --name leaked');
  await command(`keys revoke ${(await json<Issued>('keys create --name gone')).id}`);
  await command('operators create --name ops --role viewer');
  await command('backup one.db');
  clock.advance(3_600);
  await command(`keys revoke ${leaked.id}`);
  overwrite(place.database);
  const { accessOf, valid } = await json<{ accessOf: string; valid: { name: string }[] }>('restore one.db');
  assert.deepEqual([accessOf, valid.map(({ name }) => name)], ['2026-01-01T12:00:00Z', ['leaked', 'ops']]);
  assert.deepEqual(await place.problems(1), ['access']);
  await command('restore one.db --access-checked', 2);
  await command('restore --access-checked --as alice');
  assert.deepEqual(await place.problems(0), []);
  const [{ actor }] = await json<[{ actor: string }]>('audit --action access_checked');
  assert.equal(actor, 'alice');

  // As a kill leaves it: the damaged one is aside, and the copy still to be put in its place.
  copyFileSync(place.in('one.db'), `${place.database}.restoring`);
  copyFileSync(place.database, `${place.database}.replaced-1`);
  for (const part of ['', '-wal', '-shm']) rmSync(place.database + part, { force: true });
  await command('restore x.db.restoring');
  assert.deepEqual(await place.problems(1), ['access'], 'what was moved aside was replaced');
});

test('a new machine takes the access of the backup, and another database is replaced only when that is said', async () => {
  using place = workplace();
  using other = workplace();
  await place.command('keys create --name ours');
  await place.command('backup one.db');
  copyFileSync(place.in('one.db'), other.in('theirs.db'));
  const { stdout } = await other.command('restore theirs.db');
  assert.match(stdout, /^ID +NAME +KEY OR TOKEN\nkey_\w+ +ours +petcat_live_/);
  assert.deepEqual(await other.problems(0), []);

  for (const name of readdirSync(other.in('.'))) if (name.startsWith('x.db')) rmSync(other.in(name));
  const { id } = await other.json<Issued>('keys create --name mine');
  const { stderr } = await other.command('restore theirs.db', 1);
  assert.match(stderr, /The backup theirs\.db is of another database \(db_\w+; .* is db_\w+\): add --other-database /);
  assert.ok((await other.command('keys list')).stdout.includes(id), 'nothing has changed');
  await other.command('restore theirs.db --other-database');
  assert.ok(!(await other.command('keys list')).stdout.includes(id));
  assert.deepEqual(await other.problems(1), ['access']);
  assert.match((await other.command('restore theirs.db')).stderr, /of the replaced database\n/, 'it is that one now');
});

test('tables of an earlier release are brought up to date: of the backup, and of what it replaces', async () => {
  await using kept = await restored({ version: '0.2.0', engine: 'sqlite' });
  const options = { cwd: kept.folder, env: { DATABASE_URL: `sqlite:${kept.file}` } };
  copyFileSync(kept.file, join(kept.folder, 'before.db'));
  let revoked: unknown;
  {
    using database = new DatabaseSync(kept.file);
    revoked = database.prepare('select id from api_keys where revoked_at is null').get()?.id;
    database.prepare('update api_keys set revoked_at = 1, checksum = null where id = ?').run(`${revoked}`);
  }
  // The second time what is replaced is of this release.
  for (let round = 0; round < 2; round += 1) {
    const { code, stderr } = await run(['restore', 'before.db'], options);
    assert.deepEqual([code, /of the replaced database$/m.test(stderr)], [0, true], stderr);
    const { stdout } = await run(['keys', 'show', `${revoked}`], options);
    assert.match(stdout, /"revokedAt": "1970-01-01T00:00:01Z"/);
  }
});
