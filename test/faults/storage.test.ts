import assert from 'node:assert/strict';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { untilEqual, untilTrue } from '../kit/clock.ts';
import { send } from '../kit/faults/creating.ts';
import { issueKey } from '../kit/faults/kills.ts';
import { serveHere } from '../kit/faults/serve-here.ts';
import { run, serveProcess } from '../kit/process.ts';
import { temporaryFolder, testService } from '../kit/service.ts';
import { smallDisk } from './small-disk.ts';

test('while another process holds the lock, creates wait and are then refused, and reads are served', async () => {
  await using service = await testService();
  const { secret } = await service.issue({ plan: 'enterprise', limits: { minute: 1_000_000, day: 1_000_000 } });
  const { database } = service.config;
  assert.ok(database.engine === 'sqlite');
  const { file } = database;
  const agent = new Agent({ keepAlive: true });
  const create = () => send(agent, `${service.url}/categories`, secret, { name: 'Dog' });
  const list = () => send(agent, `${service.url}/categories`, secret);

  using other = new DatabaseSync(file, { timeout: 10_000 });
  other.exec('BEGIN IMMEDIATE');
  let isRefused = false;
  const refusing = create().finally(() => {
    isRefused = true;
  });
  let reads = 0;
  await untilTrue(async () => {
    assert.equal((await list()).status, 200);
    if (!isRefused) reads += 1;
    return isRefused;
  });
  const refused = await refusing;
  assert.deepEqual([refused.status, JSON.parse(refused.body).code], [503, 'unavailable']);
  assert.equal(refused.headers['retry-after'], '1');
  assert.ok(reads >= 3, `only ${reads} reads were served meanwhile: the wait held up the event loop`);

  other.exec('ROLLBACK');
  assert.equal((await create()).status, 201);
  assert.deepEqual(JSON.parse((await list()).body), [{ id: 1, name: 'Dog' }], 'what was refused is not there');
  agent.destroy();
});

test('a full disk refuses creates and serves reads, and creates resume when there is space', async (t) => {
  using folder = temporaryFolder();
  using disk = smallDisk(t, folder.path);
  if (!disk) return;
  const options = { cwd: folder.path };
  const secret = await issueKey(folder.path);
  await using service = await serveProcess([], options);
  const agent = new Agent({ keepAlive: true });
  const create = (name: string) =>
    send(agent, `${service.url}/categories`, secret, { name, description: 'x'.repeat(2_000) });
  assert.equal((await create('first')).status, 201);

  const filler = join(disk.path, 'filler');
  fill(filler);
  const acknowledged = ['first'];
  let refused = await create('0');
  for (let i = 1; refused.status === 201 && i < 500; i += 1) {
    acknowledged.push(`${i - 1}`);
    refused = await create(`${i}`);
  }
  assert.deepEqual([refused.status, JSON.parse(refused.body).code], [503, 'unavailable']);
  assert.match(JSON.parse(refused.body).message, /disk is full/);
  for (let i = 0; i < 20; i += 1) assert.equal((await send(agent, `${service.url}/categories`, secret)).status, 200);
  // The counts cannot be saved either; that is tried twice a second, and must not turn reads into errors.
  const operatorUrl = await service.operatorUrl();
  const operator = async (path: string) => (await fetch(operatorUrl + path)).text();
  const failedSaves = async () =>
    Number(/^pet_catalog_count_save_failures_total (\d+)$/m.exec(await operator('/metrics'))?.[1]);
  await untilTrue(async () => (await failedSaves()) >= 3);
  assert.equal((await send(agent, `${service.url}/categories`, secret)).status, 200);
  const { outages, ...ready } = JSON.parse(await operator('/readyz'));
  assert.deepEqual(ready, { status: 'ready', database: 'ok', writes: 'failing' });
  const [cannotWrite = ''] = /^cannot write the database since \S+Z: the disk is full/.exec(outages[0]) ?? [];
  assert.notEqual(cannotWrite, '', `${outages}`);
  assert.match(await operator('/metrics'), /^pet_catalog_storage_failing\{work="write"\} 1$/m);
  const doctor = await run(['doctor'], options);
  assert.equal(doctor.code, 1);
  assert.match(doctor.stdout, /PROBLEM writing: 0 MiB are free beside \.\/data\/pet-catalog\.db\n +→ make room/);
  const cannot = `PROBLEM service: The service at ${operatorUrl} ${cannotWrite}`;
  assert.ok(doctor.stdout.includes(cannot), doctor.stdout);
  const command = await run(['keys', 'create', '--name', 'late'], options);
  assert.deepEqual([command.code, command.stdout], [1, '']);
  assert.match(command.stderr, /^pet-catalog: .*disk is full.*\n$/);
  const asked = await run(['requests', '--status', '503', '--json'], options);
  const [{ requestId = '' } = {}] = JSON.parse(asked.stdout);
  assert.deepEqual([asked.code, refused.headers['x-request-id']], [0, requestId]);
  assert.match((await run(['why', requestId], options)).stdout, /^503 unavailable: /);
  const login = await run(['console', 'login', '--role', 'viewer'], options);
  const open = () =>
    fetch(new URL('/console/login', login.stdout), {
      method: 'POST',
      body: new URLSearchParams({ token: new URL(login.stdout).searchParams.get('token') ?? '' }),
      redirect: 'manual',
    });
  const unopened = await open();
  assert.equal(unopened.status, 503);
  assert.match(await unopened.text(), /disk is full.*the log, `pet-catalog requests` and `pet-catalog why` work/s);

  rmSync(filler);
  assert.equal((await create('last')).status, 201);
  const opened = await open();
  assert.deepEqual([opened.status, (await open()).status], [303, 403], 'the link was not used up, and works once');
  const [cookie = ''] = opened.headers.get('set-cookie')?.split(';') ?? [];
  const page = await (await fetch(new URL('/console', login.stdout), { headers: { cookie } })).text();
  assert.match(page, /Signed in as.*<span class="badge" title="Your role">viewer</s);
  await untilEqual(() => operator('/readyz'), '{"status":"ready","database":"ok"}');
  await untilTrue(() => service.output.stderr.includes('storage_recovered'));
  const problems = service.output.stderr.split('\n').filter((line) => /"level":[45]0/.test(line));
  assert.deepEqual(
    problems.map((line) => JSON.parse(line).event),
    ['storage_failing', 'request_failed', 'request_failed', 'storage_recovered'],
  );
  assert.match(problems[0] ?? '', /"database":"\.\/data\/pet-catalog\.db","reason":"the disk is full; make room"\}$/);
  agent.destroy();
  assert.equal(await service.end('SIGTERM'), 0);
  await using restarted = await serveHere({ DATABASE_URL: `sqlite:${join(disk.path, 'pet-catalog.db')}` });
  const { body } = await send(new Agent(), `${restarted.url}/categories`, secret);
  const names = JSON.parse(body).map(({ name }: { name: string }) => name);
  assert.deepEqual(names, [...acknowledged, 'last']);
});

test('on a full disk, where no service runs, every command names the disk in one line', async (t) => {
  using folder = temporaryFolder();
  using disk = smallDisk(t, folder.path);
  if (!disk) return;
  await issueKey(folder.path);
  fill(join(disk.path, 'filler'));
  const serving = serveHere({ DATABASE_URL: `sqlite:${join(disk.path, 'pet-catalog.db')}` });
  await assert.rejects(serving, /\.db: its disk is full; make room/);
  for (const command of [
    ['keys', 'create', '--name', 'late'],
    ['backup', 'data/copy.db'],
    ['keys', 'list'],
  ]) {
    const { code, stdout, stderr } = await run(command, { cwd: folder.path });
    assert.deepEqual([code, stdout], [1, ''], stderr);
    assert.match(stderr, /^pet-catalog: .*\.db: its disk is full; make room.*\n$/);
  }
  assert.match(
    (await run(['doctor'], { cwd: folder.path })).stdout,
    /PROBLEM writing: 0 MiB are free .*\n +→ make room/,
  );
});

/** Writes until there is no room left. */
function fill(file: string): void {
  for (let bytes = 2 * 1024 * 1024; bytes >= 512; bytes /= 2) {
    for (let tries = 0; tries < 4; tries += 1) {
      try {
        writeFileSync(file, Buffer.alloc(bytes), { flag: 'a' });
      } catch {
        break;
      }
    }
  }
  assert.ok(existsSync(file));
}
