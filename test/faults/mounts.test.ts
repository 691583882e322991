import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { send } from '../kit/faults/creating.ts';
import { issueKey } from '../kit/faults/kills.ts';
import { run, serveProcess } from '../kit/process.ts';
import { temporaryFolder } from '../kit/service.ts';
import { contentsOf, namesIn } from '../kit/storage/files.ts';

/** Runs in a process of its own, because a folder that is gone must not be that of the other tests. */
const OPEN_IN_DELETED_FOLDER = `
  import { rmdirSync } from 'node:fs';
  import { createPrivately } from '${new URL('../../src/storage/sqlite/files.ts', import.meta.url)}';
  rmdirSync(process.cwd());
  createPrivately('./data/pet-catalog.db');
`;

test('a database below a deleted working folder is refused, not awaited for ever', () => {
  using folder = temporaryFolder();
  mkdirSync(join(folder.path, 'gone'));
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', OPEN_IN_DELETED_FOLDER], {
    cwd: join(folder.path, 'gone'),
    encoding: 'utf8',
    timeout: 10_000,
    killSignal: 'SIGKILL',
  });
  assert.equal(status, 1);
  assert.match(stderr, /ENOENT/);
});

test('a read-only file system is read, and reported as such to what would write', async (t) => {
  using folder = temporaryFolder();
  using disk = mountedDisk(t, folder.path);
  if (!disk) return;
  const options = { cwd: folder.path };
  const secret = await issueKey(folder.path);
  assert.equal((await run(['backup', 'good.db'], options)).code, 0);
  const isTold = async (command: readonly string[]) => {
    const { code, stdout, stderr } = await run(command, options);
    const told = stdout + stderr;
    const name = command.join(' ');
    assert.equal(code, 1, name);
    assert.match(told, /The file system of the database \.\/data\/pet-catalog\.db is mounted read-only/, name);
    assert.match(told, /dmesg/, name);
    assert.doesNotMatch(told, /damaged|restore|backup/, name);
  };
  const isRead = async (command: readonly string[], expected: RegExp) => {
    const { code, stdout, stderr } = await run(command, options);
    assert.deepEqual([code, expected.test(stdout + stderr)], [0, true], stdout + stderr);
  };
  disk.remount('ro');
  await isTold(['serve', '--port', '0']);
  await isTold(['restore', 'good.db']);
  await isTold(['doctor']);
  await isTold(['keys', 'create', '--name', 'late']);
  await isRead(['keys', 'list'], /load/);
  await isRead(['backup', 'late.db'], /complete and verified/);

  disk.remount('rw');
  {
    await using service = await serveProcess([], options);
    assert.equal((await send(new Agent(), `${service.url}/categories`, secret, { name: 'Dog' })).status, 201);
    await service.end('SIGKILL');
  }
  for (const isWithIndex of [true, false]) {
    if (!isWithIndex) rmSync(join(folder.path, 'data', 'pet-catalog.db-shm'));
    const before = contentsOf(join(folder.path, 'data'));
    disk.remount('ro');
    await isTold(['serve', '--port', '0']);
    // The commit is in the log alone.
    await isRead(['categories', 'list'], /Dog/);
    await isRead(['backup', 'late.db', '--force'], /complete and verified/);
    assert.deepEqual(namesIn(join(folder.path, 'late.db')), ['Dog']);
    disk.remount('rw');
    assert.deepEqual(contentsOf(join(folder.path, 'data')), before);
  }
});

/** A file system of its own in the data folder, or undefined, said aloud, where none can be mounted. */
function mountedDisk(t: TestContext, folder: string): (Disposable & { remount(how: 'ro' | 'rw'): void }) | null {
  const path = join(folder, 'data');
  mkdirSync(path);
  const mount = (...args: string[]) => spawnSync('mount', [...args, path], { encoding: 'utf8' });
  const { status, stderr } = mount('-t', 'tmpfs', '-o', 'size=8m', 'tmpfs');
  if (status !== 0) {
    t.skip(`a file system cannot be mounted here: ${stderr}`);
    return null;
  }
  return {
    remount: (how) => assert.equal(mount('-o', `remount,${how}`).status, 0),
    [Symbol.dispose]: () => spawnSync('umount', ['-l', path]),
  };
}
