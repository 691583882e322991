import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs, {
  copyFileSync,
  existsSync,
  linkSync,
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
import { StatementSync } from 'node:sqlite';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { temporaryFolder } from '../../../test/kit/service.ts';
import { contentsOf, databasePlace, flip, leaveKilled, says } from '../../../test/kit/storage/files.ts';
import { DatabaseNotOpened } from '../engine.ts';
import { DatabaseDamaged, notOpened } from './failure.ts';
import { createPrivately } from './files.ts';
import { movedAside, openToWrite } from './open-to-write.ts';

test('a file with several names is not written to, and one that is missing is made only on purpose', async () => {
  using place = await databasePlace();
  const { file } = place;
  linkSync(file, place.in('backup.db'));
  const before = contentsOf(place.folder);
  for (const each of [file, place.in('backup.db')]) {
    const refusal = `The file of the database ${each} has 2 names (hard links), so it is not written to: stop what uses it, and make it a file of its own: \`cp ${each} ${each}.own && mv ${each}.own ${each}\``;
    assert.throws(() => openToWrite(each, 'change'), says(refusal));
    assert.throws(() => openToWrite(each, 'serve'), says(refusal));
  }
  assert.deepEqual(contentsOf(place.folder), before);
  const missing = place.in('new/y.db');
  assert.throws(() => openToWrite(missing, 'change'), says(/^There is no database .*y\.db; run this in the folder/));
  assert.ok(!existsSync(place.in('new')));
  openToWrite(missing, 'create').close();
  assert.equal(statSync(missing).mode & 0o777, 0o600);
});

test('what is damaged is not opened, and a log is not deleted for want of its file', async () => {
  using place = await databasePlace();
  const killed = place.in('killed.db');
  leaveKilled(place.file, killed, ['', '-wal']);
  flip(`${killed}-wal`, 32 + 24 + 100);
  const alone = place.in('alone.db');
  copyFileSync(`${killed}-wal`, `${alone}-wal`);
  const logAlone = place.in('log-alone.db');
  leaveKilled(place.file, logAlone, ['-wal']);
  const before = contentsOf(place.folder);
  for (const each of [killed, alone, logAlone]) {
    assert.throws(
      () => openToWrite(each, 'serve'),
      (error) => error instanceof DatabaseDamaged && error.message.startsWith(`The database ${each} is damaged: `),
    );
  }
  assert.deepEqual(contentsOf(place.folder), before);
});

test('a new file and its folders are private whatever the umask, and one that is there keeps its mode', () => {
  using temporary = temporaryFolder();
  const folder = temporary.path;
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
  using temporary = temporaryFolder();
  const folder = temporary.path;
  const file = join(folder, 'text.db');
  writeFileSync(file, 'no database at all, but as long as the header of one'.repeat(50));
  const refused = (text: RegExp | string) => (error: unknown) => {
    assert.ok(error instanceof DatabaseNotOpened);
    if (typeof text === 'string') assert.equal(error.message, text);
    else assert.match(error.message, text);
    return true;
  };
  assert.throws(
    () => openToWrite(file, 'create'),
    refused(/^The database .*text\.db is damaged: file is not a database; see what /),
  );
  const cause = new Error('a reason');
  const said = notOpened(file, cause);
  assert.equal(said.cause, cause);
  assert.equal(notOpened(file, said), said, 'what is said already is not wrapped');
  openToWrite(':memory:', 'create').close();
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
    assert.throws(() => openToWrite(file, 'create'), {
      constructor: DatabaseNotOpened,
      message: `Cannot open the database ${file}: ${why}`,
    });
  for (const version of ['3.51.2', '3.50.9', '2.99.99', '3.51']) {
    found.set('SELECT sqlite_version() AS version', { version });
    refused(`SQLite is ${version}; 3.51.3 or later is needed`);
  }
  for (const version of ['3.51.3', '3.51.10', '3.52.0', '4.0.0']) {
    found.set('SELECT sqlite_version() AS version', { version });
    openToWrite(file, 'create').close();
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

test('what restores replaced is told by number, the newest first', () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'x.db');
  assert.deepEqual(movedAside(join(folder.path, 'none/x.db')), []);
  for (const name of ['replaced-9', 'replaced-10', 'replaced-2', 'replaced-9-wal', 'replaced-', 'other']) {
    writeFileSync(`${file}.${name}`, '');
  }
  assert.deepEqual(
    movedAside(file),
    [10, 9, 2].map((number) => `${file}.replaced-${number}`),
  );
});

const CREATORS = 6;
const ROUNDS = 40;
/** Opens one new file after the other, each when all creators have come to it, and posts the errors. */
const CREATE_AT_ONCE = `
const { parentPort, workerData: { ready, write, folder, creators } } = require('node:worker_threads');
import(write).then(({ openToWrite }) => {
  const failed = [];
  for (let round = 0; round < ready.length; round += 1) {
    Atomics.add(ready, round, 1);
    Atomics.notify(ready, round);
    for (let here; (here = Atomics.load(ready, round)) < creators; ) Atomics.wait(ready, round, here);
    try {
      openToWrite(folder + '/' + round + '.db', 'serve').close();
    } catch (error) {
      failed.push(error.message);
    }
  }
  parentPort.postMessage(failed);
});`;

test('a file that several create at once is opened by each of them', async () => {
  using folder = temporaryFolder();
  const ready = new Int32Array(new SharedArrayBuffer(4 * ROUNDS));
  const data = { ready, write: new URL('open-to-write.ts', import.meta.url).href, folder: folder.path };
  const failures = await Promise.all(
    Array.from({ length: CREATORS }, async () => {
      const worker = new Worker(CREATE_AT_ONCE, { eval: true, workerData: { ...data, creators: CREATORS } });
      const [failed] = await once(worker, 'message');
      await worker.terminate();
      return failed;
    }),
  );
  assert.deepEqual(failures.flat(), []);
});
