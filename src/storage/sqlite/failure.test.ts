import assert from 'node:assert/strict';
import fs, { mkdtempDisposableSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { DatabaseDamaged, failureOf, findObstacle, findOtherOwner, findReadOnlyMount, notOpened } from './failure.ts';

const FILE = join(tmpdir(), 'x.db');
const FULL_DISK = 'its disk is full; make room';

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
    assert.equal(failureOf(FILE, error(fields)) === FULL_DISK, isFull, JSON.stringify(fields));
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
    assert.equal(failureOf(FILE, error(fields)) === FULL_DISK, isFull, JSON.stringify(fields));
  }
});

test('a failure names the full disk, or says what the system says without the files of the service', (t) => {
  roomLeft(t, 65_536);
  assert.equal(failureOf(FILE, error({ errcode: 13 })), FULL_DISK);
  assert.equal(failureOf(FILE, error({ errcode: 10 })), 'disk I/O error');
  for (const said of [
    "EACCES: permission denied, open '/x/y.db.lock'",
    "EACCES: permission denied, copyfile '/a' -> '/b'",
  ])
    assert.equal(failureOf(FILE, error({ code: 'EACCES' }, said)), 'EACCES: permission denied');
});

test('a file whose content is wrong is damaged, and anything else is a reason why it is not opened', () => {
  // CORRUPT, CORRUPT_VTAB, NOTADB, IOERR_SHORT_READ, IOERR_READ, CANTOPEN: sqlite.org/rescode.html.
  for (const [errcode, isDamaged] of [
    [11, true],
    [267, true],
    [26, true],
    [522, true],
    [266, false],
    [14, false],
  ] as const) {
    const cause = error({ errcode }, 'said');
    const found = notOpened(FILE, cause, 'named');
    assert.equal(found instanceof DatabaseDamaged, isDamaged, `${errcode}`);
    if (isDamaged)
      assert.match(
        found.message,
        /^The database named is damaged: said; put a backup in its place with `pet-catalog restore BACKUP`$/,
      );
    else assert.deepEqual([found.message, found.cause], ['Cannot open the database named: said', cause]);
    assert.equal(notOpened(FILE, found), found);
  }
});

test('too many open files, and files that this user may not read, are named as what is in the way', (t) => {
  let [code, denied] = ['EMFILE', ''];
  const failing = () => Object.assign(new Error(code), { code });
  const { openSync } = fs;
  t.mock.method(fs, 'openSync', (path: string, ...rest: [string]) => {
    if (denied === '') throw failing();
    return openSync(path, ...rest);
  });
  t.mock.method(fs, 'accessSync', (path: string, mode: number) => {
    assert.equal(mode, fs.constants.R_OK | fs.constants.W_OK);
    if (path === denied) throw failing();
  });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  for (code of ['EMFILE', 'ENFILE']) assert.equal(findObstacle(FILE)?.finding, 'too many files are open');
  for (code of ['EACCES', 'EPERM']) {
    for (denied of [tmpdir(), FILE, `${FILE}-wal`, `${FILE}-shm`, `${FILE}.lock`])
      assert.match(findObstacle(FILE)?.finding ?? '', new RegExp(`^uid \\d+ has no permission for ${denied}(,|$)`));
  }
  code = 'ENOENT';
  assert.equal(findObstacle(FILE), undefined);
});

test('a file system that is mounted read-only is named, and no other reason is taken for it', (t) => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'pet-catalog-'));
  const file = join(folder.path, 'new/x.db');
  let code: string | undefined;
  t.mock.method(fs, 'accessSync', (path: string, mode: number) => {
    assert.deepEqual([path, mode], [folder.path, fs.constants.W_OK]);
    if (code) throw Object.assign(new Error(code), { code });
  });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  for (const each of [undefined, 'EACCES']) {
    code = each;
    assert.equal(findReadOnlyMount(file), undefined);
  }
  code = 'EROFS';
  const finding = `The file system of the database ${file} is mounted read-only`;
  const advice = "find the reason in the system's log (dmesg), and mount it for writing again";
  assert.deepEqual(findReadOnlyMount(file), { finding, advice });
});

test('a file beside a database that its owner could not write to is named, with the command that mends it', {
  skip: process.getuid?.() !== 0 && 'only root may give files away: none had another owner',
}, () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'pet-catalog-'));
  const file = join(folder.path, 'x.db');
  for (const part of ['', '-wal', '-shm']) fs.writeFileSync(file + part, '', { mode: 0o600 });
  assert.equal(findOtherOwner(file), undefined);
  for (const part of ['', '-wal', '-shm']) fs.chownSync(file + part, 998, 998);
  assert.equal(findOtherOwner(file), undefined);
  fs.chownSync(`${file}-shm`, 0, 0);
  assert.deepEqual(findOtherOwner(file), {
    finding: `The owner of the database ${file} (uid 998) may not write to ${file}-shm (uid 0, mode 600)`,
    advice: `run \`chown 998 ${file}-shm && chmod u+rw ${file}-shm\``,
  });
  fs.chownSync(`${file}-shm`, 998, 998);
  fs.chmodSync(file, 0o400);
  assert.match(findOtherOwner(file)?.finding ?? '', /may not write to .*x\.db \(uid 998, mode 400\)$/);
});
