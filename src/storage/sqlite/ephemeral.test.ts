import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseNotOpened } from '../engine.ts';
import { claimEphemeral } from './ephemeral.ts';

test('a temporary folder of the system that is not there is named', (t) => {
  const { TMPDIR } = process.env;
  t.after(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
  });
  process.env.TMPDIR = '/nowhere/none';
  assert.throws(claimEphemeral, (error: unknown) => {
    assert.ok(error instanceof DatabaseNotOpened);
    assert.match(error.message, /^Cannot make a folder in \S+none: ENOENT.*; set TMPDIR to a writable place$/);
    assert.equal((error.cause as NodeJS.ErrnoException).code, 'ENOENT');
    return true;
  });
});
