import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { createWithoutPause, send } from '../kit/faults/creating.ts';
import { issueKey } from '../kit/faults/kills.ts';
import { run, serveProcess } from '../kit/process.ts';
import { temporaryFolder } from '../kit/service.ts';

const WAL_HEADER_BYTES = 32;
const CREATES = 40;
/** Every command that opens the database. */
const COMMANDS = [
  ['serve', '--port', '0'],
  ['keys', 'list'],
  ['keys', 'create', '--name', 'late'],
  ['usage'],
  ['audit'],
  ['categories', 'list'],
  ['categories', 'export'],
  ['console', 'login'],
  ['migrate'],
  ['backup', 'copy.db'],
  ['doctor'],
  ['transfer', '--from', 'sqlite:data/pet-catalog.db', '--to', 'sqlite:other.db'],
];

/** A database that a crash left with 40 acknowledged creates, the last 30 of them in its log, and the commits there. */
async function crashed(folder: string) {
  const options = { cwd: folder };
  const file = join(folder, 'data', 'pet-catalog.db');
  const secret = await issueKey(folder);
  await using service = await serveProcess([], options);
  const agent = new Agent({ keepAlive: true });
  const create = async (from: number, to: number) => {
    for (let i = from; i < to; i += 1) {
      assert.equal((await send(agent, `${service.url}/categories`, secret, { name: `${i}` })).status, 201);
    }
  };
  await create(0, 10);
  assert.equal((await run(['backup', 'good.db'], options)).code, 0);
  await create(10, CREATES);
  await service.end('SIGKILL');
  agent.destroy();
  rmSync(`${file}-shm`);
  const log = readFileSync(`${file}-wal`);
  const frameBytes = 24 + log.readUInt32BE(8);
  const commits: number[] = [];
  for (let at = WAL_HEADER_BYTES; at + frameBytes <= log.length; at += frameBytes) {
    if (log.readUInt32BE(at + 4) !== 0) commits.push(at);
  }
  return { options, file, secret, log, commits };
}

test('no command opens a database with a damaged log, and its files stay as they are', async () => {
  using folder = temporaryFolder();
  const { options, file, log, commits } = await crashed(folder.path);
  const middle = commits[commits.length >> 1] ?? 0;
  const last = commits.at(-2) ?? 0;
  for (const [what, at] of [
    ['a page in the middle', middle + 24 + 100],
    ['the salt of the last frame but one', last + 9],
  ] as const) {
    const damaged = Buffer.from(log);
    damaged[at] = (damaged[at] ?? 0) ^ 1;
    writeFileSync(`${file}-wal`, damaged);
    const before = contentsOf(join(folder.path, 'data'));
    for (const command of COMMANDS) {
      const { code, stdout, stderr } = await run(command, options);
      const name = `${command.join(' ')}, ${what}`;
      assert.equal(code, 1, name);
      assert.match(stdout + stderr, /is damaged: its log is damaged at byte \d+/, name);
      assert.deepEqual(contentsOf(join(folder.path, 'data')), before, name);
    }
  }
  assert.ok(!existsSync(join(folder.path, 'copy.db')));
});

test('beside a running service no command mistakes a write in progress for damage', async () => {
  using folder = temporaryFolder();
  const options = { cwd: folder.path };
  const secret = await issueKey(folder.path);
  await using service = await serveProcess([], options);
  const creating = createWithoutPause(service.url, secret, 8);
  for (let round = 0; round < 3; round += 1) {
    for (const command of [['keys', 'list'], ['backup', `${round}.db`], ['doctor']]) {
      const { code, stdout, stderr } = await run(command, options);
      assert.equal(code, 0, stdout + stderr);
    }
  }
  await creating.stop();
  assert.ok(creating.acknowledged.length > 0);
});

test('the repair shows what is recoverable and what a backup has, and writes a new file only on request', async () => {
  using folder = temporaryFolder();
  const { options, file, secret, log, commits } = await crashed(folder.path);
  const damaged = Buffer.from(log);
  // More before it than after it.
  const sound = Math.floor((commits.length * 2) / 3);
  const at = (commits[sound] ?? 0) + 24 + 100;
  damaged[at] = (damaged[at] ?? 0) ^ 1;
  writeFileSync(`${file}-wal`, damaged);
  const before = contentsOf(join(folder.path, 'data'));
  const files = readdirSync(folder.path);

  const shown = await run(['doctor', '--repair', '--backup', 'good.db', '--json'], options);
  assert.equal(shown.code, 1);
  const found = JSON.parse(shown.stdout);
  assert.match(found.logDamage, /damaged at byte/);
  assert.deepEqual([found.commits, found.behind], [sound, commits.length - sound]);
  const kept = found.intact.rows.categories;
  assert.ok(kept > 10 && kept < CREATES, `${kept}`);
  assert.equal(found.intact.lastCategory, kept);
  assert.deepEqual([found.backup.rows.categories, found.backup.lastCategory], [10, 10]);
  const text = await run(['doctor', '--repair', '--backup', 'good.db'], options);
  const after = `${found.commits} commits before the damage are intact; ${found.behind} after it are partly left`;
  assert.ok(text.stdout.includes(after), text.stdout);
  assert.match(
    text.stdout,
    new RegExp(`\\nINTACT .*${kept} +${kept} +0 +0 +1 +none\\nBACKUP OF .* 10 +10 +0 +0 +1 +none`),
  );
  assert.deepEqual(readdirSync(folder.path), files, 'nothing was written');

  assert.equal((await run(['doctor', '--repair', '--to', 'good.db'], options)).code, 1, 'a file that is there stays');
  const written = await run(['doctor', '--repair', '--to', 'intact.db'], options);
  assert.equal(written.code, 0, written.stderr);
  assert.deepEqual(contentsOf(join(folder.path, 'data')), before);
  {
    using database = new DatabaseSync(join(folder.path, 'intact.db'));
    const names = database.prepare('SELECT name FROM categories ORDER BY id').all();
    assert.deepEqual(
      names.map(({ name }) => name),
      Array.from({ length: kept }, (_, index) => `${index}`),
    );
  }
  assert.equal((await run(['restore', 'intact.db'], options)).code, 0);
  await using service = await serveProcess([], options);
  const listed = await send(new Agent(), `${service.url}/categories`, secret);
  assert.equal(JSON.parse(listed.body).length, kept);
  const beside = await run(['doctor', '--repair'], options);
  assert.match(beside.stderr, /Another service runs on the database/);
});

/** The files of the database and their bytes; the lock beside it is no part of it. */
function contentsOf(folder: string): Record<string, string> {
  const names = readdirSync(folder).filter((name) => !name.includes('.lock'));
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name)).toString('latin1')]));
}
