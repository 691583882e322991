import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempDisposableSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { DatabaseNotOpened } from '../engine.ts';
import { claimFile, isClaimed } from './claim.ts';
import { claimEphemeral } from './ephemeral.ts';

/** Has the system's temporary folder be a new one. */
function ownTemporaryFolder(t: TestContext): string {
  const folder = mkdtempDisposableSync(join(tmpdir(), 'pet-catalog-'));
  const usual = process.env.TMPDIR;
  process.env.TMPDIR = folder.path;
  t.after(() => {
    if (usual === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = usual;
    folder[Symbol.dispose]();
  });
  return folder.path;
}

test('a temporary database has a private folder of its own, which goes with its claim', async (t) => {
  const folder = ownTemporaryFolder(t);
  const files: string[] = [];
  {
    await using one = claimEphemeral();
    await using other = claimEphemeral();
    for (const { database } of [one, other]) {
      assert.equal(database.engine, 'sqlite');
      assert.match(database.file.slice(folder.length), /^\/pet-catalog-ephemeral-\w+\/pet-catalog\.db$/);
      assert.equal(statSync(dirname(database.file)).mode & 0o777, 0o700);
      assert.equal(isClaimed(database.file), true);
      files.push(dirname(database.file));
    }
    assert.equal(new Set(files).size, 2);
  }
  assert.deepEqual(readdirSync(folder), []);
});

test('a start removes what killed services left, and nothing else', async (t) => {
  const folder = ownTemporaryFolder(t);
  for (const name of ['pet-catalog-ephemeral-left', 'other-pet-catalog-ephemeral-', 'pet-catalog-ephemeral-used'])
    mkdirSync(join(folder, name));
  writeFileSync(join(folder, 'pet-catalog-ephemeral-left', 'pet-catalog.db'), 'x');
  writeFileSync(join(folder, 'pet-catalog-ephemeral-file'), 'x');
  using _used = claimFile(join(folder, 'pet-catalog-ephemeral-used', 'pet-catalog.db'));
  {
    await using _claim = claimEphemeral();
    assert.ok(!existsSync(join(folder, 'pet-catalog-ephemeral-left')));
  }
  assert.deepEqual(readdirSync(folder).sort(), [
    'other-pet-catalog-ephemeral-',
    'pet-catalog-ephemeral-file',
    'pet-catalog-ephemeral-used',
  ]);
});

test('the folder of another user stays', async (t) => {
  const folder = ownTemporaryFolder(t);
  mkdirSync(join(folder, 'pet-catalog-ephemeral-theirs'));
  const { uid } = statSync(folder);
  t.mock.method(process as { getuid: () => number }, 'getuid', () => uid + 1);
  await using _claim = claimEphemeral();
  assert.ok(existsSync(join(folder, 'pet-catalog-ephemeral-theirs')));
});

test('a temporary folder of the system that is not there is named', (t) => {
  const folder = ownTemporaryFolder(t);
  process.env.TMPDIR = join(folder, 'none');
  assert.throws(claimEphemeral, (error: unknown) => {
    assert.ok(error instanceof DatabaseNotOpened);
    assert.match(error.message, /^Cannot make a folder in \S+none: ENOENT.*; set TMPDIR to a writable place$/);
    assert.equal((error.cause as NodeJS.ErrnoException).code, 'ENOENT');
    return true;
  });
});
