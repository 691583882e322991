import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { untilTrue } from '../kit/clock.ts';
import { issueKey } from '../kit/faults/kills.ts';
import { noPostgresPrograms, startPostgres } from '../kit/postgres-server.ts';
import { run, serveProcess } from '../kit/process.ts';
import { temporaryFolder } from '../kit/service.ts';

test('`console login` opens a session while the disk of PostgreSQL is full', {
  skip: noPostgresPrograms,
}, async (t) => {
  using folder = temporaryFolder();
  await using postgres = await startPostgres();
  chmodSync(folder.path, 0o755);
  const small = join(folder.path, 'small');
  mkdirSync(small);
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=20m,mode=777', 'tmpfs', small], { encoding: 'utf8' });
  if (mounted.status !== 0) {
    t.skip(`a small file system cannot be mounted here: ${mounted.stderr}`);
    return;
  }
  const filler = join(small, 'filler');
  try {
    const [server] = await postgres.query(`select current_setting('data_directory') as folder`);
    const { uid, gid } = statSync(String(server?.folder));
    chownSync(small, uid, gid);
    await postgres.query(`create tablespace small location '${small}'`);
    await postgres.query('create database pets tablespace small');
    const env = { DATABASE_URL: postgres.url.replace(/postgres$/, 'pets') };
    const options = { cwd: folder.path, env };
    await issueKey(folder.path, env);
    await using service = await serveProcess(['--operator-port', '0'], options);
    const note = readdirSync(folder.path).filter((name) => /^postgres-\w{16}\.operator$/.test(name));
    assert.equal(note.length, 1);
    assert.equal(statSync(join(folder.path, note[0] ?? '')).mode & 0o777, 0o600);

    spawnSync('sh', ['-c', `cat /dev/zero > '${filler}'`]);
    let login = { stdout: '', stderr: '' };
    // What has room in its last page still takes some rows.
    await untilTrue(async () => {
      login = await run(['console', 'login', '--role', 'keys'], options);
      return login.stderr !== '';
    });
    assert.match(login.stderr, /^pet-catalog: .*disk is full.*; the running service keeps the session.*\n$/);
    const asJson = await run(['console', 'login', '--json'], options);
    assert.match(JSON.parse(asJson.stdout).url, /^http:\/\/127\.0\.0\.1:\d+\/console\/login\?token=./);
    const opened = await fetch(new URL('/console/login', login.stdout), {
      method: 'POST',
      body: new URLSearchParams({ token: new URL(login.stdout).searchParams.get('token') ?? '' }),
      redirect: 'manual',
    });
    const [cookie = ''] = opened.headers.get('set-cookie')?.split(';') ?? [];
    const page = await (await fetch(new URL('/console', login.stdout), { headers: { cookie } })).text();
    assert.match(page, /Signed in as.*<span class="badge" title="Your role">keys</s);

    rmSync(filler);
    await service.end('SIGTERM');
    assert.deepEqual(
      readdirSync(folder.path).filter((name) => name.endsWith('.operator')),
      [],
    );
  } finally {
    await postgres.stop('SIGQUIT');
    spawnSync('umount', ['-l', small]);
  }
});
