import assert from 'node:assert/strict';
import { mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { DatabaseNotOpened } from '../engine.ts';
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
