import assert from 'node:assert/strict';
import fs, { mkdtempDisposableSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { DatabaseDamaged, findObstacle, findOtherOwner, notOpened } from './failure.ts';

const FILE = join(tmpdir(), 'x.db');

const error = (fields: object, message = 'disk I/O error') => Object.assign(new Error(message), fields);

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

test('too many open files are named as what is in the way', (t) => {
  for (const code of ['EMFILE', 'ENFILE']) {
    const opening = t.mock.method(fs, 'openSync', () => {
      throw Object.assign(new Error(code), { code });
    });
    syncBuiltinESMExports();
    assert.equal(findObstacle(FILE)?.finding, 'too many files are open');
    opening.mock.restore();
    syncBuiltinESMExports();
  }
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
