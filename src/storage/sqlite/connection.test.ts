import assert from 'node:assert/strict';
import {
  copyFileSync,
  mkdtempDisposableSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { CommitLost, LogNotSynced, SqliteConnection, WritesSuspended } from './connection.ts';
import { openToWrite } from './open-to-write.ts';

/** SQLITE_IOERR_FSYNC and SQLITE_IOERR_WRITE (sqlite.org/rescode.html). */
const [FSYNC, WRITE] = [1_034, 778];

/** A connection to a new file with the table `t`. */
function openPlace() {
  const folder = mkdtempDisposableSync(join(tmpdir(), 'pet-catalog-'));
  const file = join(folder.path, 'x.db');
  const connection = new SqliteConnection(file, openToWrite(file, 'create'));
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

function failSync(t: TestContext, connection: SqliteConnection): void {
  const text = 'INSERT INTO t VALUES (0)';
  const fault = failNext(t, text, { errcode: FSYNC });
  assert.throws(
    () => connection.prepare(text).run([]),
    (error: Error) => {
      assert.ok(error instanceof LogNotSynced);
      assert.deepEqual(
        [error.message, error.cause],
        ['The log of the database could not be synced to the disk', fault],
      );
      return true;
    },
  );
  t.mock.restoreAll();
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

test('a statement is prepared once while it is used often', () => {
  using place = openPlace();
  const { connection } = place;
  const first = connection.prepare('SELECT 0');
  assert.equal(connection.prepare('SELECT 0'), first);
  assert.equal(connection.prepare('INSERT INTO t VALUES (1), (2)').run([]), 2);
  // With those of the table and of the insert there are a hundred.
  const others = Array.from({ length: 97 }, (_, index) => connection.prepare(`SELECT ${index + 1}`));
  assert.equal(connection.prepare('SELECT 0'), first);
  connection.prepare('SELECT 98');
  assert.equal(connection.prepare('SELECT 0'), first, 'the oldest was another');
  connection.prepare('SELECT 99');
  assert.notEqual(connection.prepare('SELECT 0'), first);
  assert.equal(connection.prepare('SELECT 97'), others[96]);
});

test('after a failed sync nothing is written until the log is in the file and that was checked', (t) => {
  using place = openPlace();
  const { file, connection, values, pragma } = place;
  connection.waitNoMore();
  connection.prepare('INSERT INTO t VALUES (1)').run([]);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const suspended = () =>
    assert.throws(() => connection.assertWritable(), {
      constructor: WritesSuspended,
      message: 'Nothing is written until the log can be synced again',
    });
  connection.assertWritable();
  failSync(t, connection);
  suspended();
  assert.deepEqual(values(), [1], 'reads go on');
  {
    using reader = new DatabaseSync(file);
    reader.exec('BEGIN; SELECT * FROM t');
    const rows = reader.prepare('SELECT * FROM t').iterate();
    rows.next();
    connection.prepare('INSERT INTO t VALUES (2)').run([]);
    t.mock.timers.tick(1_000);
    suspended();
    assert.equal(connection.opened, 1);
    rows.return?.();
  }
  t.mock.timers.tick(999);
  suspended();
  const kept = connection.prepare('SELECT x FROM t');
  t.mock.timers.tick(1);
  connection.assertWritable();
  assert.equal(connection.opened, 2);
  assert.equal(statSync(`${file}-wal`).size, 0, 'the log was moved into the file');
  assert.notEqual(connection.prepare('SELECT x FROM t'), kept);
  assert.deepEqual([values(), pragma('busy_timeout'), pragma('synchronous')], [[1, 2], 0, 2]);

  failSync(t, connection);
  t.mock.timers.tick(500);
  failSync(t, connection);
  t.mock.timers.tick(999);
  suspended();
  t.mock.timers.tick(1);
  connection.assertWritable();
});

test('a file that is damaged after a failed sync is not written again', (t) => {
  using place = openPlace();
  const { file, connection } = place;
  t.mock.timers.enable({ apis: ['setTimeout'] });
  connection.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all([]);
  const bytes = readFileSync(file);
  failSync(t, connection);
  const damaged = Buffer.from(bytes);
  damaged.fill(0xff, 4_096);
  writeFileSync(file, damaged);
  t.mock.timers.tick(1_000);
  assert.throws(() => connection.assertWritable(), WritesSuspended);
  writeFileSync(file, bytes);
  t.mock.timers.tick(1_000);
  connection.assertWritable();
});

test('any other error is that of SQLite, and suspends nothing', (t) => {
  using place = openPlace();
  const { connection } = place;
  for (const method of ['run', 'all'] as const) {
    const text = `INSERT INTO t VALUES ('${method}')`;
    const fault = failNext(t, text, { errcode: WRITE });
    assert.throws(() => connection.prepare(text)[method]([]), fault);
    t.mock.restoreAll();
    connection.assertWritable();
  }
  const text = 'SELECT x FROM t WHERE x = 9';
  failNext(t, text, { errcode: FSYNC });
  assert.throws(() => connection.prepare(text).all([]), LogNotSynced);
  t.mock.restoreAll();
});

test('a file or a log that was removed or replaced takes no commit, until it is back', () => {
  using place = openPlace();
  const { file, folder, connection, values } = place;
  const message = `The file ${file} or its log was removed or replaced while the service runs: stop the service, then put the file back or restore a backup`;
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
  for (const part of ['', '-wal']) {
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
