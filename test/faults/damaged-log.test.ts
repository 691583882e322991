import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { send } from '../kit/faults/creating.ts';
import { issueKey } from '../kit/faults/kills.ts';
import { run, serveProcess } from '../kit/process.ts';
import { temporaryFolder } from '../kit/service.ts';
import { contentsOf, flip } from '../kit/storage/files.ts';

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
  ['migrate'],
  ['backup', 'copy.db'],
  ['doctor'],
  ['transfer', '--from', 'sqlite:data/pet-catalog.db', '--to', 'sqlite:other.db'],
];

test('no command opens a database with a damaged log, and its files stay as they are', async () => {
  using folder = temporaryFolder();
  const options = { cwd: folder.path };
  const data = join(folder.path, 'data');
  const log = join(data, 'pet-catalog.db-wal');
  const secret = await issueKey(folder.path);
  {
    await using service = await serveProcess([], options);
    const agent = new Agent({ keepAlive: true });
    for (let i = 0; i < CREATES; i += 1)
      assert.equal((await send(agent, `${service.url}/categories`, secret, { name: `${i}` })).status, 201);
    agent.destroy();
    await service.end('SIGKILL');
  }
  rmSync(join(data, 'pet-catalog.db-shm'));
  const frameBytes = 24 + readFileSync(log).readUInt32BE(8);
  // Of the acknowledged creates each has a frame at least: commits follow this one.
  flip(log, WAL_HEADER_BYTES + (CREATES / 2) * frameBytes + 24 + 100);
  const before = contentsOf(data);
  for (const command of COMMANDS) {
    const { code, stdout, stderr } = await run(command, options);
    const name = command.join(' ');
    assert.equal(code, 1, name);
    assert.match(stdout + stderr, /is damaged: its log is damaged at byte \d+/, name);
    assert.deepEqual(contentsOf(data), before, name);
  }
  assert.ok(!existsSync(join(folder.path, 'copy.db')));
});
