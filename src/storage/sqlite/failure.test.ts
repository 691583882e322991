import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { failureOf, isDiskFull } from './failure.ts';

const FILE = join(tmpdir(), 'x.db');

/** The room that is left on the disk, as the system tells it. */
function roomLeft(t: TestContext, bytes: number): void {
  const { statfsSync } = fs;
  t.mock.method(fs, 'statfsSync', (folder: string) => {
    assert.equal(folder, tmpdir());
    return { ...statfsSync(folder), bavail: bytes / 4_096, bsize: 4_096 };
  });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
}

const error = (fields: object, message = 'disk I/O error') => Object.assign(new Error(message), fields);

test('a full disk is recognised by its code, and by an I/O error where there is no room', (t) => {
  roomLeft(t, 65_536);
  // FULL, IOERR, IOERR_SHMSIZE, CORRUPT: sqlite.org/rescode.html.
  for (const [fields, isFull] of [
    [{ errcode: 13 }, true],
    [{ errcode: 13 + 256 }, true],
    [{ code: 'ENOSPC' }, true],
    [{ code: 'EACCES' }, false],
    [{ errcode: 10 }, false],
    [{ errcode: 4_874 }, false],
    [{}, false],
  ] as const) {
    assert.equal(isDiskFull(FILE, error(fields)), isFull, JSON.stringify(fields));
  }
});

test('on a disk without room for the index of the log, every I/O error is one of a full disk', (t) => {
  roomLeft(t, 65_536 - 4_096);
  for (const [fields, isFull] of [
    [{ errcode: 10 }, true],
    [{ errcode: 4_874 }, true],
    [{ errcode: 11 }, false],
    [{ code: 'EACCES' }, false],
  ] as const) {
    assert.equal(isDiskFull(FILE, error(fields)), isFull, JSON.stringify(fields));
  }
});

test('a failure names the full disk, or says what the system says without the files of the service', (t) => {
  roomLeft(t, 65_536);
  assert.equal(failureOf(FILE, error({ errcode: 13 })), 'its disk is full; make room');
  assert.equal(failureOf(FILE, error({ errcode: 10 })), 'disk I/O error');
  for (const said of [
    "EACCES: permission denied, open '/x/y.db.lock'",
    "EACCES: permission denied, copyfile '/a' -> '/b'",
  ])
    assert.equal(failureOf(FILE, error({ code: 'EACCES' }, said)), 'EACCES: permission denied');
});
