import assert from 'node:assert/strict';
import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from './kit/folder.ts';
import { run, runProcess, serveProcess } from './kit/process.ts';

/** What other users of the machine can read, or have executed. */

test('compiled code is cached in a folder private to the user, never in a shared one', async () => {
  using folder = temporaryFolder();
  const place = (name: string, mode = 0o700) => {
    const path = join(folder.path, name);
    mkdirSync(path);
    chmodSync(path, mode);
    return path;
  };
  const temporary = place('tmp', 0o1777);
  const keeps = async (caches: string) => {
    const env = { XDG_CACHE_HOME: caches, TMPDIR: temporary };
    const { code, stderr } = await runProcess(['version'], { cwd: folder.path, env });
    assert.deepEqual([code, stderr], [0, '']);
    const own = join(caches, 'pet-catalog');
    return existsSync(own) && readdirSync(own).length > 0;
  };

  const good = join(folder.path, 'caches');
  assert.equal(await keeps(good), true);
  assert.deepEqual([modeOf(good), modeOf(join(good, 'pet-catalog'))], [0o700, 0o700]);

  const others = place('others');
  mkdirSync(join(others, 'pet-catalog'));
  chmodSync(join(others, 'pet-catalog'), 0o777);
  assert.equal(await keeps(others), false, 'a folder that others may write to');

  const linked = place('linked');
  symlinkSync(place('target'), join(linked, 'pet-catalog'));
  assert.equal(await keeps(linked), false, 'a link');

  const below = join(place('open', 0o777), 'caches');
  mkdirSync(below, { mode: 0o700 });
  assert.equal(await keeps(below), false, 'a folder that others may replace');

  if (process.getuid?.() === 0) {
    const foreign = place('foreign');
    mkdirSync(join(foreign, 'pet-catalog'), { mode: 0o700 });
    chownSync(join(foreign, 'pet-catalog'), 65_534, 65_534);
    assert.equal(await keeps(foreign), false, 'a folder of another user');
  }
  assert.deepEqual(readdirSync(temporary), [], 'nothing is kept where everybody may write');
});

test('data files are readable by their owner only, under any umask and in any folder', async () => {
  const before = process.umask(0);
  try {
    using folder = temporaryFolder();
    const path = (...names: string[]) => join(folder.path, ...names);
    chmodSync(folder.path, 0o755);
    {
      await using _service = await serveProcess([], { cwd: folder.path, env: { DATABASE_URL: 'sqlite:pets.db' } });
      for (const ending of ['', '-wal', '-shm', '.lock']) assert.equal(modeOf(path(`pets.db${ending}`)), 0o600, ending);
    }
    const made = { cwd: folder.path, env: { DATABASE_URL: 'sqlite:one/two/pets.db' } };
    assert.equal((await run(['migrate'], made)).code, 0);
    assert.deepEqual([path('one'), path('one', 'two')].map(modeOf), [0o700, 0o700]);
    assert.equal(modeOf(path('one', 'two', 'pets.db')), 0o600);
  } finally {
    process.umask(before);
  }
});

function modeOf(path: string): number {
  return lstatSync(path).mode & 0o777;
}
