import assert from 'node:assert/strict';
import fs, {
  existsSync,
  mkdirSync,
  mkdtempDisposableSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { DatabaseNotOpened } from '../engine.ts';
import { createPrivately, LogNotSynced, notOpened, SqliteConnection, WritesSuspended } from './connection.ts';

/** SQLITE_IOERR_FSYNC and SQLITE_IOERR_WRITE (sqlite.org/rescode.html). */
const [FSYNC, WRITE] = [1_034, 778];

/** A connection to a new file with the table `t`. */
function openPlace() {
  const folder = mkdtempDisposableSync(join(tmpdir(), 'pet-catalog-'));
  const file = join(folder.path, 'x.db');
  const connection = new SqliteConnection(file);
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
  assert.deepEqual(settings(), ['wal', 2, 1, 5_000]);
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

test('a new file and its folders are private whatever the umask, and one that is there keeps its mode', () => {
  using place = openPlace();
  const { folder } = place;
  const umask = process.umask(0);
  try {
    createPrivately(join(folder, 'a/b/y.db'));
    mkdirSync(join(folder, 'open'));
    writeFileSync(join(folder, 'open/z.db'), 'z', { mode: 0o640 });
    createPrivately(join(folder, 'open/z.db'));
  } finally {
    process.umask(umask);
  }
  const modeOf = (name: string) => statSync(join(folder, name)).mode & 0o777;
  assert.deepEqual(['a', 'a/b', 'a/b/y.db', 'open/z.db'].map(modeOf), [0o700, 0o700, 0o600, 0o640]);
  assert.equal(readFileSync(join(folder, 'open/z.db'), 'utf8'), 'z');
  process.umask(0o777);
  try {
    createPrivately(join(folder, 'w.db'));
  } finally {
    process.umask(umask);
  }
  assert.equal(modeOf('w.db'), 0o600);
});

test('a file that cannot be opened is named, with the reason', () => {
  using place = openPlace();
  const { folder } = place;
  const file = join(folder, 'text.db');
  writeFileSync(file, 'no database at all, but as long as the header of one'.repeat(50));
  const refused = (text: RegExp | string) => (error: unknown) => {
    assert.ok(error instanceof DatabaseNotOpened);
    if (typeof text === 'string') assert.equal(error.message, text);
    else assert.match(error.message, text);
    return true;
  };
  assert.throws(() => new SqliteConnection(file), refused(`Cannot open the database ${file}: file is not a database`));
  const cause = new Error('a reason');
  const said = notOpened(file, cause);
  assert.equal(said.cause, cause);
  assert.equal(notOpened(file, said), said, 'what is said already is not wrapped');
  new SqliteConnection(':memory:').close();
  const isFile = existsSync(':memory:');
  rmSync(':memory:', { force: true });
  assert.ok(!isFile);
});

test('an earlier SQLite, a setting that is not taken and a read-only file system are named', (t) => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'pet-catalog-'));
  const file = join(folder.path, 'x.db');
  const { get } = StatementSync.prototype;
  const found = new Map<string, object>();
  t.mock.method(StatementSync.prototype, 'get', function (this: StatementSync) {
    return found.get(this.sourceSQL) ?? get.call(this, {});
  });
  const refused = (why: string) =>
    assert.throws(() => new SqliteConnection(file), {
      constructor: DatabaseNotOpened,
      message: `Cannot open the database ${file}: ${why}`,
    });
  for (const version of ['3.51.2', '3.50.9', '2.99.99', '3.51']) {
    found.set('SELECT sqlite_version() AS version', { version });
    refused(`SQLite is ${version}; 3.51.3 or later is needed`);
  }
  for (const version of ['3.51.3', '3.51.10', '3.52.0', '4.0.0']) {
    found.set('SELECT sqlite_version() AS version', { version });
    new SqliteConnection(file).close();
  }
  found.set('PRAGMA synchronous', { synchronous: 1 });
  refused('PRAGMA synchronous is 1, not 2');
  t.mock.method(fs, 'accessSync', () => {
    throw Object.assign(new Error('EROFS'), { code: 'EROFS' });
  });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  const { message } = notOpened(file, new Error('attempt to write a readonly database'));
  assert.equal(
    message,
    `The file system of the database ${file} is mounted read-only: find the reason in the system's log (dmesg), and mount it for writing again`,
  );
});
