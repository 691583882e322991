import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempDisposableSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { DatabaseNotOpened } from '../engine.ts';
import { claimFile } from './claim.ts';
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

test('what a killed service left is removed by the next, and no folder of a running one', async (t) => {
  const folder = ownTemporaryFolder(t);
  const left = (name: string) => {
    mkdirSync(join(folder, `pet-catalog-ephemeral-${name}`));
    return join(folder, `pet-catalog-ephemeral-${name}`, 'pet-catalog.db');
  };
  claimFile(left('killed'))[Symbol.dispose]();
  left('killed-before-its-claim');
  writeFileSync(join(folder, 'pet-catalog-ephemeral-file'), 'not a folder');
  // A plain service on what is left keeps it.
  const kept = left('kept');
  using _plain = claimFile(kept);
  await using running = claimEphemeral();
  {
    await using next = claimEphemeral();
    const names = readdirSync(folder).map((name) => join(folder, name, 'pet-catalog.db'));
    const file = join(folder, 'pet-catalog-ephemeral-file', 'pet-catalog.db');
    assert.deepEqual(names.sort(), [file, kept, running.database.file, next.database.file].sort());
    assert.equal(statSync(join(next.database.file, '..')).mode & 0o777, 0o700);
  }
  assert.equal(readdirSync(folder).length, 3, 'its own is removed at the end');
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
