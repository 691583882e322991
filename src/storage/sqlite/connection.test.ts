import assert from 'node:assert/strict';
import { copyFileSync, mkdtempDisposableSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import sql from 'sql-template-tag';
import { untilTrue } from '../../../test/kit/clock.ts';
import { CommitLost, LogNotSynced, SqliteConnection, SqliteDatabase, WritesSuspended } from './connection.ts';
import { openToWrite } from './database-file.ts';
import { DatabaseDamaged } from './failure.ts';

/** SQLITE_IOERR_FSYNC, SQLITE_IOERR_WRITE and SQLITE_CORRUPT (sqlite.org/rescode.html). */
const [FSYNC, _WRITE, CORRUPT] = [1_034, 778, 11];

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
    values: () => (connection.prepare('SELECT x FROM t').all([]) as { x: number }[]).map(({ x }) => x),
    pragma: (name: string) => Object.values((connection.prepare(`PRAGMA ${name}`).all([])[0] ?? {}) as object)[0],
    [Symbol.dispose]() {
      connection.close();
      folder[Symbol.dispose]();
    },
  };
}

/** Fails the next statement of this text. */
function failNext(t: TestContext, text: string, fields: object): Error {
  const fault = Object.assign(new Error('disk I/O error'), fields);
  for (const method of ['run', 'all'] as const) {
    const original = StatementSync.prototype[method] as (...values: never[]) => unknown;
    const failing = t.mock.method(StatementSync.prototype, method, function (this: StatementSync, ...values: never[]) {
      if (this.sourceSQL !== text) return original.apply(this, values);
      failing.mock.restore();
      throw fault;
    });
  }
  return fault;
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

test('after a failed sync nothing is written, and the process is told to end', async (t) => {
  using place = openPlace();
  const { file, connection, values } = place;
  connection.prepare('INSERT INTO t VALUES (1)').run([]);
  const text = 'INSERT INTO t VALUES (2)';
  const fault = failNext(t, text, { errcode: FSYNC });
  const message = `The log of the database ${file} could not be synced to the disk: the last writes may or may not be stored; see dmesg, and move the database to another disk`;
  const failed = { constructor: LogNotSynced, message, cause: fault };
  assert.throws(() => connection.prepare(text).run([]), failed);
  t.mock.restoreAll();
  assert.throws(() => connection.assertWritable(), { constructor: WritesSuspended, message });
  assert.deepEqual(values(), [1], 'reads go on');
  await assert.rejects(async () => {
    throw await connection.failed;
  }, failed);
});

test('damage that a statement meets stops every write of a service, and ends a command', (t) => {
  for (const isService of [false, true]) {
    using place = openPlace({ isService });
    const { file, connection } = place;
    failNext(t, 'SELECT x FROM t WHERE x = 1', { errcode: CORRUPT });
    const message = `The database ${file} is damaged: disk I/O error; put a backup in its place with \`pet-catalog restore BACKUP\``;
    assert.throws(() => connection.prepare('SELECT x FROM t WHERE x = 1').all([]), {
      constructor: isService ? WritesSuspended : DatabaseDamaged,
      message,
    });
    t.mock.restoreAll();
    for (const assertion of ['assertWritable', 'assertInPlace'] as const)
      assert.throws(() => connection[assertion](), { constructor: WritesSuspended, message });
  }
});

test('damage that a read beside an import meets stops every write of a service', async (t) => {
  using place = openPlace({ isService: true });
  const { file, connection } = place;
  const db = new SqliteDatabase(connection, { file, isWritable: true });
  await db.transaction(async () => {
    db.startLarge();
    failNext(t, 'SELECT x FROM t', { errcode: CORRUPT });
    await assert.rejects(async () => db.reader?.all(sql`SELECT x FROM t`), WritesSuspended);
  });
  assert.throws(() => connection.assertInPlace(), WritesSuspended);
  await assert.rejects(
    db.transaction(async () => {}),
    WritesSuspended,
  );
});

test('without its file, log or lock nothing is committed, until it is back', () => {
  using place = openPlace({ isService: true });
  const { file, folder, connection, values } = place;
  const message = `The database ${file}, its log or its lock was removed or replaced while the service runs: stop the service, then put the file back or restore a backup`;
  const gone = () => {
    assert.throws(() => connection.assertWritable(), { constructor: WritesSuspended, message });
    assert.throws(() => connection.assertInPlace(), { constructor: WritesSuspended, message });
    assert.throws(() => connection.assertKept(), { constructor: CommitLost, message });
  };
  const inPlace = () => {
    connection.assertWritable();
    connection.assertInPlace();
    connection.assertKept();
  };
  inPlace();
  const aside = join(folder, 'aside');
  for (const part of ['', '-wal', '.lock']) {
    renameSync(file + part, aside);
    gone();
    copyFileSync(aside, file + part);
    gone();
    renameSync(aside, file + part);
    inPlace();
  }
  assert.deepEqual(values(), [], 'what is there can be read');
});

test('a connection that only reads, and one to memory, have no file to lose', () => {
  using place = openPlace();
  const { file } = place;
  const reader = new SqliteConnection(file, new DatabaseSync(file), { isWritable: false });
  const memory = new SqliteConnection(':memory:', new DatabaseSync(':memory:'));
  rmSync(file);
  for (const connection of [reader, memory]) {
    connection.assertWritable();
    connection.assertKept();
    connection.close();
  }
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
