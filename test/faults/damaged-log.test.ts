import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { createWithoutPause, send } from '../kit/faults/creating.ts';
import { issueKey } from '../kit/faults/kills.ts';
import { run, serveProcess } from '../kit/process.ts';
import { temporaryFolder } from '../kit/service.ts';
import { contentsOf } from '../kit/storage/files.ts';

const WAL_HEADER_BYTES = 32;
const CREATES = 30;
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

/** A database that a crash left with acknowledged creates in its log, and the commits there. */
async function crashed(folder: string) {
  const options = { cwd: folder };
  const file = join(folder, 'data', 'pet-catalog.db');
  const secret = await issueKey(folder);
  await using service = await serveProcess([], options);
  const agent = new Agent({ keepAlive: true });
  for (let i = 0; i < CREATES; i += 1)
    assert.equal((await send(agent, `${service.url}/categories`, secret, { name: `${i}` })).status, 201);
  await service.end('SIGKILL');
  agent.destroy();
  rmSync(`${file}-shm`);
  const log = readFileSync(`${file}-wal`);
  const frameBytes = 24 + log.readUInt32BE(8);
  const commits: number[] = [];
  for (let at = WAL_HEADER_BYTES; at + frameBytes <= log.length; at += frameBytes) {
    if (log.readUInt32BE(at + 4) !== 0) commits.push(at);
  }
  return { options, file, log, commits };
}

test('no command opens a database with a damaged log, and its files stay as they are', async () => {
  using folder = temporaryFolder();
  const { options, file, log, commits } = await crashed(folder.path);
  // A page in the middle.
  const at = (commits[commits.length >> 1] ?? 0) + 24 + 100;
  const damaged = Buffer.from(log);
  damaged[at] = (damaged[at] ?? 0) ^ 1;
  writeFileSync(`${file}-wal`, damaged);
  const before = contentsOf(join(folder.path, 'data'));
  for (const command of COMMANDS) {
    const { code, stdout, stderr } = await run(command, options);
    const name = command.join(' ');
    assert.equal(code, 1, name);
    assert.match(stdout + stderr, /is damaged: its log is damaged at byte \d+/, name);
    assert.deepEqual(contentsOf(join(folder.path, 'data')), before, name);
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
