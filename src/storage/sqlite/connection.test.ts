import assert from 'node:assert/strict';
import { mkdtempDisposableSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StatementSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { untilTrue } from '../../../test/kit/clock.ts';
import { CommitLost, SqliteConnection, SqliteDatabase, WritesSuspended } from './connection.ts';
import { openToWrite } from './database-file.ts';
import { DatabaseDamaged } from './failure.ts';

/** SQLITE_CORRUPT (sqlite.org/rescode.html). */
const CORRUPT = 11;

/** A connection to a new file with the table `t`. */
function openPlace({ isService = false } = {}) {
  const folder = mkdtempDisposableSync(join(tmpdir(), 'pet-catalog-'));
  const file = join(folder.path, 'x.db');
  if (isService) writeFileSync(`${file}.lock`, '');
  const connection = new SqliteConnection(file, openToWrite(file, 'create'), { isService });
  connection.prepare('CREATE TABLE t (x)').run([]);
  return {
    folder: folder.path,
    file,
    connection,
    pragma: (name: string) => Object.values((connection.prepare(`PRAGMA ${name}`).all([])[0] ?? {}) as object)[0],
    [Symbol.dispose]() {
      connection.close();
      folder[Symbol.dispose]();
    },
  };
}

/** Fails the next statement of this text as damage does. */
function failNext(t: TestContext, text: string): void {
  const fault = Object.assign(new Error('disk I/O error'), { errcode: CORRUPT });
  for (const method of ['run', 'all'] as const) {
    const original = StatementSync.prototype[method] as (...values: never[]) => unknown;
    const failing = t.mock.method(StatementSync.prototype, method, function (this: StatementSync, ...values: never[]) {
      if (this.sourceSQL !== text) return original.apply(this, values);
      failing.mock.restore();
      throw fault;
    });
  }
}

test('a database is opened with a log, full syncs and foreign keys, and waits for others until told not to', () => {
  using place = openPlace();
  const { connection, pragma } = place;
  const settings = () => ['journal_mode', 'synchronous', 'foreign_keys', 'busy_timeout'].map(pragma);
  assert.deepEqual([...settings(), pragma('journal_size_limit')], ['wal', 2, 1, 5_000, 64 * 1024 * 1024]);
  connection.waitNoMore();
  assert.deepEqual(settings(), ['wal', 2, 1, 0]);
  assert.equal(connection.isTransaction, false);
  connection.prepare('begin').run([]);
  assert.equal(connection.isTransaction, true);
});

test('damage that a statement meets stops every write of a service, and ends a command', (t) => {
  for (const isService of [false, true]) {
    using place = openPlace({ isService });
    const { file, connection } = place;
    failNext(t, 'SELECT x FROM t WHERE x = 1');
    const message = `The database ${file} is damaged: disk I/O error; put a backup in its place with \`pet-catalog restore BACKUP\``;
    assert.throws(() => connection.prepare('SELECT x FROM t WHERE x = 1').all([]), {
      constructor: isService ? WritesSuspended : DatabaseDamaged,
      message,
    });
    t.mock.restoreAll();
    for (const byEach of [false, true])
      assert.throws(() => connection.assertWritable(byEach), { constructor: WritesSuspended, message });
  }
});

test('after a commit that is not synced by itself, or failed to be made, the next ones are synced', async () => {
  using place = openPlace();
  const { connection, pragma } = place;
  const db = new SqliteDatabase(connection);
  assert.equal(await db.transaction(async () => pragma('synchronous'), 'unsynced'), 1);
  assert.equal(await db.transaction(async () => pragma('synchronous')), 2);
  await assert.rejects(db.transaction(() => Promise.reject(new Error('no')), 'unsynced'));
  assert.equal(await db.transaction(async () => pragma('synchronous')), 2);
});

test('a change of names in the folder is noticed at once, also long after the one before', async (t) => {
  using place = openPlace();
  const { file, folder, connection } = place;
  // The folder's own time shows each change, once it is another than that of the change before.
  await untilTrue(() => Date.now() > statSync(folder).ctimeMs + 50);
  const now = Date.now();
  t.mock.method(Date, 'now', () => now + 60_000);
  connection.assertKept();
  renameSync(file, join(folder, 'aside'));
  assert.throws(() => connection.assertKept(), CommitLost);
  renameSync(join(folder, 'aside'), file);
  connection.assertKept();
  rmSync(folder, { recursive: true });
  assert.throws(() => connection.assertWritable(), WritesSuspended);
});
