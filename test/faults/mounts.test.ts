import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { issueKey } from '../kit/faults/kills.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { run } from '../kit/process.ts';
import { contentsOf } from '../kit/storage/files.ts';
import { smallDisk } from './small-disk.ts';

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

test('a read-only file system is reported as such, and not as damage', async (t) => {
  using folder = temporaryFolder();
  using disk = smallDisk(t, folder.path, { mebibytes: 8 });
  if (!disk) return;
  const options = { cwd: folder.path };
  await issueKey(folder.path);
  assert.equal((await run(['backup', 'good.db'], options)).code, 0);
  const before = contentsOf(disk.path);
  disk.remount('ro');
  for (const command of ['serve --port 0', 'restore good.db', 'doctor', 'keys create --name late']) {
    const { code, stdout, stderr } = await run(command.split(' '), options);
    const told = stdout + stderr;
    assert.equal(code, 1, command);
    assert.match(told, /The file system of the database \.\/data\/pet-catalog\.db is mounted read-only/, command);
    assert.match(told, /dmesg/, command);
    assert.doesNotMatch(told.replace(/backups: .*\n.*/, ''), /damaged|restore|backup/, command);
  }
  disk.remount('rw');
  assert.deepEqual(contentsOf(disk.path), before);
  assert.match((await run(['keys', 'list'], options)).stdout, /load/);
});

test('a backup is read and restored from a read-only file system', async (t) => {
  using folder = temporaryFolder();
  using disk = smallDisk(t, folder.path, { mebibytes: 8 });
  if (!disk) return;
  const env = { DATABASE_URL: 'sqlite:other/x.db' };
  const options = { cwd: folder.path, env };
  await run(['keys', 'create', '--name', 'kept'], options);
  assert.equal((await run(['backup', 'data/good.db'], options)).code, 0);
  disk.remount('ro');
  const read = await run(['keys', 'list', '--database-url', 'sqlite:data/good.db'], { cwd: folder.path });
  assert.match(read.stdout, /kept/);
  assert.equal((await run(['restore', 'data/good.db'], options)).code, 0);
});

test('a database file that is itself a mount point is refused, naming its folder, before anything is made', async (t) => {
  using folder = temporaryFolder();
  const [host, inside] = [join(folder.path, 'pets.db'), join(folder.path, 'data dir', 'pets.db')];
  mkdirSync(join(folder.path, 'data dir'));
  assert.equal((await run(['migrate', '--database-url', `sqlite:${host}`], { cwd: folder.path })).code, 0);
  writeFileSync(inside, '');
  const { status, stderr: why } = spawnSync('mount', ['--bind', host, inside], { encoding: 'utf8' });
  if (status !== 0) return t.skip(`a file cannot be mounted here: ${why}`);
  try {
    for (const command of [
      'serve --port 0',
      'keys create --name a',
      'keys list',
      'doctor',
      'backup b.db',
      'restore x',
    ]) {
      if (command.startsWith('restore')) copyFileSync(host, join(folder.path, 'x'));
      const env = { DATABASE_URL: `sqlite:${inside}` };
      const { code, stdout, stderr } = await run(command.split(' '), { cwd: folder.path, env });
      const told = `The file of the database ${inside} is itself a mount point, so that its log would be lost beside it: mount its folder ${join(folder.path, 'data dir')} instead`;
      assert.equal(code, 1, command);
      assert.ok((stdout + stderr).includes(told), `${command}: ${stdout}${stderr}`);
    }
    assert.deepEqual(readdirSync(join(folder.path, 'data dir')), ['pets.db']);
  } finally {
    spawnSync('umount', ['-l', inside]);
  }
});
